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
exit 0
