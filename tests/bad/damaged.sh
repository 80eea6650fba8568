# Recordings that are truncated, corrupted, empty, of another version, or none at all: one sentence, and what is whole is still read.
# timeout: 240
. "$(dirname "$0")/../lib.sh"
take() { # take BYTES: a recording of gzip compressing so much; with 60000, and without superblocks, it has several chunks
	make_data data "$1"
	"$TW" record -q --hot=0 -o good.tw -- gzip -9 -n -c data >/dev/null || fail "record"
	check_good good.tw
	"$TW" dump --refs good.tw | wc -l >good.refs
	thread=$(ls good.tw | grep thread | head -n 1)
	size=$(stat -c %s "good.tw/$thread")
}
take "$(full 120000 60000)"
[ "$(sed -n 's/^chunks: //p' good.tw/header)" -gt 2 ] || fail "too few chunks"

each() { # each DIR PATTERN: every command refuses it in one sentence
	local c
	for c in info report dump check; do
		one_sentence "$TW" $c "$1"
		says "$2"
	done
}
each no-such.tw 'no such recording'
: >file
each file 'not a Trackway recording|no such recording|not a directory'
mkdir empty
each empty 'empty'
mkdir other && echo hello >other/notes
each other 'not a Trackway recording'
cp -r good.tw version && sed -i '1s/[0-9][0-9]*$/99/' version/header
each version 'version'

# Several: each is checked, and the worst decides.
"$TW" check good.tw no-such.tw good.tw >out 2>err
[ $? = 2 ] && [ "$(grep -c '^good.tw: good;' out)" = 2 ] && grep -q 'no-such.tw: there is no such recording' err || fail "check of several recordings: $(cat out err)"

fresh() { rm -rf bad.tw && cp -r good.tw bad.tw; }
part() { # part WHAT LEAST%: check names the damage; dump fails and says so, but gives at least so much of the references
	run out err "$TW" check bad.tw && fail "check accepts $1"
	cat out err | grep -qiE "${3:-$thread|chunk}" || {
		cat out err
		fail "check does not name the damage: $1"
	}
	run out err "$TW" dump --refs bad.tw
	local status=$?
	[ $status -ne 0 ] || fail "dump of $1 succeeds"
	[ $status -lt 128 ] || fail "dump of $1 dies"
	grep -q "$OWN_LINE" err || fail "dump says nothing of $1"
	[ $(($(wc -l <out) * 100)) -ge $(($(cat good.refs) * $2)) ] || fail "dump of $1 gives only $(wc -l <out) of $(cat good.refs) references"
	for c in info report; do
		run out err "$TW" $c bad.tw
		[ $? -lt 128 ] || fail "$c of $1 dies"
	done
}
fresh
truncate -s $((size - 50)) "bad.tw/$thread"
part 'a recording without its end' 20
fresh
rm "bad.tw/$thread"
part 'a recording without its thread file' 0 'missing'
fresh
truncate -s $((size / 2)) "bad.tw/$thread"
part 'half a recording' 5 # its first chunk is of fewer buffers
fresh
flip() { # flip FILE OFFSET
	local byte
	byte=$(od -An -tu1 -j "$2" -N 1 "$1")
	printf "\\x$(printf %02x $((byte ^ 255)))" | dd of="$1" bs=1 seek="$2" conv=notrunc 2>/dev/null
}
flip "bad.tw/$thread" $((size / 2))
part 'a flipped byte in the middle' 20
# However many replay it, in whatever order, check says the same.
fresh
for i in 1 2 3 4; do flip "bad.tw/$thread" $((size * i / 5)); done
run one err "$TW" check -j 1 bad.tw && fail "check accepts flipped bytes"
[ "$(grep -c checksum one)" -ge 2 ] || fail "fewer than two chunks are damaged: $(cat one)"
for jobs in 2 3; do
	run out err "$TW" check -j $jobs bad.tw
	cmp one out || fail "check -j $jobs says something else than -j 1"
done
# Files that end early where a chunk does, or a block of the code.
fresh
truncate -s 48 "bad.tw/$thread"
part 'a thread without its chunks' 0 'chunks not there'
fresh
: >bad.tw/code
part 'empty code' 0 'fragments not in code'
run out err "$TW" dump --code bad.tw && fail "dump --code of empty code succeeds"
# What is no file is not waited for.
for f in header code "$thread"; do
	fresh
	rm "bad.tw/$f" && mkfifo "bad.tw/$f"
	for c in info report dump check; do
		one_sentence timeout 60 "$TW" $c bad.tw
		says 'not a Trackway recording'
	done
done
take 4000
fresh
flip "bad.tw/$thread" 0
part 'a damaged file header' 0
fresh
: >"bad.tw/$thread"
part 'an empty thread file' 0
fresh
rm "bad.tw/$thread"
run out err "$TW" check bad.tw && fail "check accepts a missing thread file"
fresh
flip bad.tw/code $(($(stat -c %s bad.tw/code) / 2))
part 'damaged code' 0 'code'
fresh
rm bad.tw/code
part 'missing code' 0 'code'
fresh
sed -i 's/^chunks: .*/chunks: 77777/' bad.tw/header
each bad.tw 'damaged|checksum'

# Damage anywhere: never a crash, never a hang, always noticed.
places=$(full 40 12)
for i in $(seq 1 "$places"); do
	fresh
	at=$((size * i / (places + 1)))
	flip "bad.tw/$thread" $at
	run out err timeout 60 "$TW" check bad.tw
	status=$?
	{ [ $status -gt 0 ] && [ $status -lt 124 ]; } || fail "check with byte $at flipped: status $status"
	run out err timeout 60 "$TW" dump --refs bad.tw
	status=$?
	[ $status -lt 124 ] || fail "dump with byte $at flipped: status $status"
done
