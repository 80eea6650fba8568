# dump: what it prints, parts of it, agreement with info; the same whatever -j; into pipes that close.
. "$(dirname "$0")/../lib.sh"
make_data data 40000
"$TW" record -q -o r.tw -- gzip -9 -n -c data >/dev/null || fail "record"
"$TW" dump r.tw >default || fail "dump"
"$TW" dump --refs r.tw >refs || fail "dump --refs"
cmp -s default refs || fail "--refs is not the default"
head -n 100000 refs | grep -qvE '^[0-9]+ [0-9a-f]+ [RWM] [0-9a-f]+ [0-9]+$' && fail "a line of --refs has another form"
[ "$(wc -l <refs)" = "$(info_value refs r.tw)" ] || fail "$(wc -l <refs) lines, info counts $(info_value refs r.tw) references"
reads=$(grep -c ' [RM] ' refs) writes=$(grep -c ' [WM] ' refs)
[ "$reads" = "$(info_value reads r.tw)" ] && [ "$writes" = "$(info_value writes r.tw)" ] || fail "reads and writes are not those of info"
"$TW" dump --blocks r.tw >blocks || fail "dump --blocks"
[ "$(wc -l <blocks)" = "$(info_value blocks r.tw)" ] || fail "$(wc -l <blocks) blocks, info counts $(info_value blocks r.tw)"
"$TW" dump --lackey r.tw >lackey || fail "dump --lackey"
head -n 100000 lackey | grep -qvE '^(I  [0-9a-f]{8,16}| [LSM] [0-9a-f]{8,16}),[0-9]+$' && fail "a line of --lackey has another form"
# a string instruction with a repeat prefix shows once per iteration and once more
[ "$(grep -c '^I ' lackey)" -ge "$(info_value instructions r.tw)" ] || fail "$(grep -c '^I ' lackey) instructions, info counts $(info_value instructions r.tw)"
# and a locked modification is a load and a store
[ "$(grep -c '^ [LSM]' lackey)" -ge "$(wc -l <refs)" ] || fail "--lackey has fewer references"

# parts
"$TW" dump --refs --from 1000 --count 50 r.tw >part || fail "--from --count"
sed -n 1001,1050p refs | cmp -s - part || fail "--from 1000 --count 50 gives other lines"
middle=$(($(wc -l <refs) / 2))
"$TW" dump --refs --from $middle --count 5000 r.tw >part
sed -n "$((middle + 1)),$((middle + 5000))p" refs | cmp -s - part || fail "--from $middle gives other lines"
"$TW" dump --refs --thread 0 r.tw | cmp -s - refs || fail "--thread 0 gives something else"
one_sentence "$TW" dump --thread 5 r.tw
"$TW" dump --refs --from 99999999999 r.tw >part && [ ! -s part ] || fail "--from behind the end"

# the rest
"$TW" dump --code r.tw >code && [ -s code ] || fail "dump --code"
"$TW" dump --raw r.tw >raw && [ -s raw ] || fail "dump --raw"
"$TW" dump --refs r.tw | head -n 3 | cmp -s - <(head -n 3 refs) || fail "into a pipe that closes"
"$TW" dump --refs r.tw >/dev/full 2>full.err && fail "a full device is not noticed"
[ -s full.err ] || fail "a full device is not told of"

# the same on one core and on two
for c in report check; do
	"$TW" $c -j 1 r.tw >one && "$TW" $c -j 2 r.tw >two || fail "$c -j"
	cmp -s one two || fail "$c: -j 1 and -j 2 differ"
done

# what is written does not go over the recording, by whatever name
cp -r r.tw part.tw
for f in part.tw/*; do
	one_sentence "$TW" dump --blocks -o "$f" part.tw
	says "is a part of the recording"
	one_sentence "$TW" blocks --callgrind="$PWD/$f" part.tw
	says "is a part of the recording"
done
ln -sf "$f" link
one_sentence "$TW" dump --blocks -o link part.tw
says "is a part of the recording"
diff -r r.tw part.tw || fail "the recording has changed"
"$TW" dump --blocks -o part.tw/blocks --count 1 part.tw || fail "another file beside it"
