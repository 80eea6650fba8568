# blocks and import lackey: what may come in: pipes, compressed files, Valgrind's own lines, bad lines, streams that are cut off, nonsense.
. "$(dirname "$0")/../lib.sh"
need_command gzip xz zstd

cat >t <<'END'
==77== Lackey, an example Valgrind tool
==77== Command: ./program with arguments
==77== 
I  00001000,4
 L 1ffefffe38,8
I  00001004,4
 S 00002000,4
 M 7ffffffffffff000,16
I  00001000,4
I  00001004,4
--77-- a word of Valgrind's
**77** and another
I  ffffffffff600000,9
==77== 
END
"$TW" blocks -a -o want t 2>err || fail "a good trace"
[ ! -s err ] || fail "something is said of a good trace: $(cat err)"
[ "$(grep -vc '^#' want_SBB_profile.txt)" = 2 ] || fail "not two blocks"

# same INPUT [FILE]: INPUT, with standard input from FILE, gives the same profiles
same() {
	"$TW" blocks -a -o found "$1" <"${2:-/dev/null}" 2>err || fail "blocks $1 ${2:-}: $(cat err)"
	for kind in SBB DBB; do
		cmp -s <(tail -n +2 want_${kind}_profile.txt) <(tail -n +2 found_${kind}_profile.txt) || fail "$1 ${2:-}: another $kind profile"
	done
}

gzip -k t && xz -k t && zstd -qk t
for f in t t.gz t.xz t.zst; do
	same "$f"
	same - "$f"
	[ ! -s err ] || fail "$f: $(cat err)"
done
cat t.gz t.gz >twice.gz
"$TW" blocks --json twice.gz | python3 -c 'import json, sys; assert json.load(sys.stdin)["instructions"] == 10' || fail "two members of gzip"

# Bad lines are left out, counted, and the first are named.
awk '{ print } NR == 4 { print "hello"; print "I  1004,-4"; print "I  1004,99999999999"; print "I  11112222333344445,4"; print " S 123"
	print "I  0000100g,4"; print "X  1000,4"; print "I  ffffffffffffffff,4"; print "I  1000,0"; print " L 1000,2000000"; print "" }' t >bad
head -c 300000 /dev/zero | tr '\0' I >>bad
echo >>bad
printf 'I  0000\0001000,4\n' >>bad
same bad
[ "$(cat err)" = "trackway blocks: bad: left out 13 lines that are not Lackey's: lines 5, 6, 7, 8, 9, ..." ] || fail "bad lines: $(cat err)"
{ cat t; echo nonsense; } >bad
same bad
grep -q "left out 1 line that is not Lackey's: line 15\$" err || fail "one bad line: $(cat err)"

# Blanks, capitals and a carriage return do no harm; neither do short and long addresses, nor a missing newline at the end.
sed 's/^I  0*/I /; s/$/\r/; /^I/s/f/F/g' t >odd
same odd
[ ! -s err ] || fail "blanks and capitals: $(cat err)"
head -c -1 t >short
same short
sed '/^==77== $/d' t | head -c -1 >short
same short
[ ! -s err ] || fail "no newline at the end: $(cat err)"

# Cut off at every place: ends cleanly, with the lines before.
size=$(stat -c %s t)
for ((n = 150; n < size; n += 7)); do
	head -c "$n" t >cut
	"$TW" blocks -o found cut 2>err || fail "cut off after $n bytes: $(cat err)"
	[ "$(wc -l <err)" -le 1 ] || fail "cut off after $n bytes: $(cat err)"
done
printf 'I  00001000,4\nI  0000' | "$TW" blocks --json - 2>err | grep -q '"instructions": 1' || fail "cut off in a line"
grep -q 'in the middle of a line' err || fail "nobody says that the trace is cut off"
seq -f 'I  %08.0f,4' 1000 4 400000 | gzip >long.gz
head -c 100000 long.gz >cut.gz
"$TW" blocks -o found cut.gz 2>err || fail "a compressed trace cut off: $(cat err)"
grep -q 'compressed' err || fail "nobody says that the compressed trace is cut off"

# Memory grows with the code, not with the stream: 40 times as long a stream of the same loop takes as much.
python3 - "$TW" <<'END' || fail "memory grows with the stream"
import os, subprocess, sys
loop = "".join("I  %08x,4\n L %08x,8\n" % (0x1000 + 4 * i, 0x100000 + 64 * i) for i in range(2000)).encode()
def run(times):
    p = subprocess.Popen([sys.argv[1], "blocks", "-"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    for _ in range(times):
        p.stdin.write(loop)
    p.stdin.close()
    status, usage = os.wait4(p.pid, 0)[1:]
    assert status == 0
    return usage.ru_maxrss
short, long = run(15), run(600)
assert long < short + 1024, (short, long)
END

# What there is nothing to profile in, or to import
: >empty
printf 'hello\n' >words
printf ' L 00001000,4\n' >refs
{ head -c 5000 long.gz; head -c 2000 /dev/zero; tail -c +7001 long.gz; } >broken.gz
printf '\3757zXZ\0garbage that goes on for a while' >broken.xz
printf '\050\265\057\375garbage that goes on for a while' >broken.zst
for f in empty words refs broken.gz broken.xz broken.zst /nonexistent; do
	for command in blocks "import lackey -o i.tw"; do
		# shellcheck disable=SC2086
		one_sentence "$TW" $command $f
	done
	[ ! -e i.tw ] || [ $f = broken.gz ] || fail "a recording was made of $f"
	rm -rf i.tw i.tw.old
done
one_sentence "$TW" blocks words
says 'no instruction line'
one_sentence "$TW" blocks
one_sentence "$TW" blocks t t
one_sentence "$TW" blocks --threshold=-1 t
one_sentence "$TW" blocks --threshold=x t
one_sentence "$TW" blocks --threshold=101 t
one_sentence "$TW" blocks -n x t
one_sentence "$TW" blocks -j 0 t
one_sentence "$TW" blocks --nodes=x t
one_sentence "$TW" blocks --json --csv t
one_sentence "$TW" blocks --dot --function=main t
one_sentence "$TW" blocks --nothing t
one_sentence "$TW" blocks -o /nonexistent/p t
one_sentence bash -c '"$0" blocks --json t >/dev/full' "$TW"
one_sentence "$TW" import
one_sentence "$TW" import lackey
one_sentence "$TW" import other t
one_sentence "$TW" import lackey t t
one_sentence "$TW" import lackey -o /nonexistent/i.tw t

# An option that takes the input for its file is named.
one_sentence "$TW" blocks --callgrind some.tw
says "--callgrind has taken 'some.tw'"
exit 0
