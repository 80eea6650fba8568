# libtrackway.so exports what the headers in include/trackway declare, and nothing else; its name has a number; the tool exports the same for plug-ins.
. "$(dirname "$0")/../lib.sh"
need_command nm readelf
exported() { nm -D --defined-only "$1" | awk '$2 ~ /[TDBR]/ { sub("@.*", "", $3); print $3 }' | sort; }
# Declarations of functions begin at the beginning of a line; those with a body are the header's own.
cat "$ROOT"/include/trackway/*.h | grep -v '^static' | sed -n 's/^[A-Za-z].*[ *]\(tw_[a-z_0-9]*\)(.*/\1/p' | sort -u >declared
exported "$BUILD/libtrackway.so.1" | grep -v '^TRACKWAY_' >library
diff declared library || fail "libtrackway.so exports something else than the headers declare"
[ -s library ] || fail "libtrackway.so exports nothing"
readelf -d "$BUILD/libtrackway.so.1" | grep -q 'SONAME.*libtrackway\.so\.[0-9]' || fail "the library's name has no number"
exported "$TW" | grep '^tw_' >tool
comm -23 declared tool | grep . && fail "the tool does not export these for plug-ins"
# Libraries are in the tool, and those of which there are no archives are loaded when they are called: by SQL's functions, and where code is decoded.
needed=$(readelf -d "$TW" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
if ! grep -q libdw <<<"$needed"; then
	grep -E '^lib(Zydis|m)\.so' <<<"$needed" && fail "a library is loaded at each start"
fi
"$TW" record -q -o r.tw -- true || fail "not recorded"
[ "$("$TW" sql r.tw 'select cast(round(100 * (sin(1.5) + pow(2, 3) + atan2(1, 2))) as integer)' | awk 'END { print $1 }')" = 946 ] || fail "SQL's functions of libm"
"$TW" analyze mix r.tw | grep -q -w mov || fail "no code is decoded"
exit 0
