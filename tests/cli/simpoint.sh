# blocks --simpoint: the vectors of each thread, against the blocks that `dump --blocks` lists.
. "$(dirname "$0")/../lib.sh"
need_command python3
cc_program threads -O1 -pthread <<'END'
#include <pthread.h>
#include <string.h>
volatile int sink;
static void *work(void *p)
{
	char text[3000];
	for (int i = 0; i < 200; i++) {
		memset(text, i, sizeof text);
		sink += text[i] % 7 ? i : -i;
	}
	return p;
}
int main(void)
{
	pthread_t t;
	pthread_create(&t, NULL, work, NULL);
	pthread_join(t, NULL);
	return work(NULL) != NULL;
}
END
same_as_native ./threads
"$TW" blocks --simpoint=out.bb --interval 1000 recording.tw || fail "blocks --simpoint"
"$TW" dump --blocks recording.tw >blocks || fail "dump --blocks"
python3 - <<'END' || fail "vectors"
import collections, re
ids, pcs = {}, {}
expected = collections.defaultdict(list)
filled = collections.Counter()
now = collections.defaultdict(collections.Counter)
for line in open("blocks"):
    thread, pc, n = line.split()[:3]
    number = ids.setdefault(pc, len(ids) + 1)
    now[thread][number] += int(n)
    filled[thread] += int(n)
    if filled[thread] >= 1000:
        filled[thread] %= 1000
        expected[thread].append(now.pop(thread))
for thread, rest in now.items():
    expected[thread].append(rest)
assert len(expected) == 2, expected.keys()
for thread, vectors in expected.items():
    found = []
    for line in open("out.bb" if thread == "0" else "out.bb." + thread):
        assert re.fullmatch(r"T(:\d+:\d+ )+\n", line), line
        found.append({int(k): int(n) for k, n in re.findall(r":(\d+):(\d+)", line)})
    assert found == vectors, (thread, len(found), len(vectors))
END

# All outputs of one command are those of a command each.
"$TW" blocks --callgrind=alone.calls --lcov=alone.lcov recording.tw 2>/dev/null || fail "without vectors"
"$TW" blocks --csv recording.tw >alone.csv || fail "--csv"
"$TW" blocks --simpoint=both.bb --interval 1000 --callgrind=both.calls --lcov=both.lcov --csv recording.tw >both.csv 2>/dev/null || fail "with vectors"
for file in calls lcov csv; do cmp alone.$file both.$file || fail "--simpoint changes $file"; done
"$TW" blocks -j4 --simpoint=more.bb --interval 1000 --lcov=more.lcov recording.tw 2>/dev/null || fail "with a profile"
cmp alone.lcov more.lcov || fail "--simpoint changes the profile"
for thread in "" .1; do
	cmp out.bb$thread both.bb$thread && cmp out.bb$thread more.bb$thread || fail "vectors are others beside other outputs"
done
# What cannot be written to its end is not there, and what was there before stays.
for out in --callgrind=old "-o prefix"; do
	echo before >old
	(
		ulimit -f 1
		trap '' XFSZ
		# shellcheck disable=SC2086 # two words
		exec "$TW" blocks $out recording.tw >/dev/null 2>err
	) && fail "blocks $out: a file that became too large: status 0"
	grep -q 'cannot write .*: File too large' err || fail "blocks $out: $(cat err)"
	[ "$(cat old)" = before ] || fail "blocks $out: the file that was there has been written over"
	ls prefix* old.* >/dev/null 2>&1 && fail "blocks $out: half a file is left: $(ls prefix* old.*)"
done
one_sentence "$TW" blocks --simpoint=/nowhere/x recording.tw
says '/nowhere/x: No such file'
one_sentence "$TW" blocks --simpoint=- recording.tw
says 'cannot go to standard output'
mkfifo pipe
one_sentence "$TW" blocks --simpoint=pipe recording.tw
says 'pipe is not a file'
one_sentence "$TW" blocks --simpoint=/dev/stdout recording.tw
says '/dev/stdout is not a file'
one_sentence "$TW" blocks --simpoint=x --interval 0 recording.tw
says 'interval'
one_sentence "$TW" blocks --simpoint=x --interval many recording.tw
# a recording of addresses only has vectors, but no code to tell of
printf 'I  04001000,3\n L 1ffe0000,8\nI  04001003,5\nI  04001000,3\n' >trace
"$TW" import lackey -o trace.tw trace >/dev/null 2>&1 || fail "import lackey"
"$TW" blocks --simpoint=trace.bb trace.tw || fail "vectors of an imported trace"
[ "$(grep -o ':[0-9]* ' trace.bb | tr -d ': ' | paste -sd+ | xargs -I{} bash -c 'echo $(({}))')" = 3 ] || fail "vectors of an imported trace: $(cat trace.bb)"
for option in callgrind lcov fdata autofdo; do
	one_sentence "$TW" blocks --$option=x trace.tw
	says 'addresses only'
	[ ! -e x ] || fail "--$option left a file"
done
