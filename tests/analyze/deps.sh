# deps: stores and the loads that depend on them, byte by byte, as python3 finds them in the dump; loops of which it is known what they carry; a store of another thread.
. "$(dirname "$0")/../lib.sh"
need_command python3 addr2line
cc_program work -O1 -g -static -fno-tree-loop-distribute-patterns <<'END'
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>
enum { N = 1000 };
long a[N], b[N], c[N];
volatile long total;
char bytes[64];
static void __attribute__((noipa)) carries_three(void)
{
	for (int i = 3; i < N; i++)
		a[i] = a[i - 3] + 1;
}
static void __attribute__((noipa)) carries_none(void)
{
	for (int i = 0; i < N; i++)
		b[i] = c[i] * 2;
}
static void __attribute__((noipa)) add(long n)
{
	total += n;
}
static void __attribute__((noipa)) carries_by_call(void)
{
	for (int i = 0; i < 50; i++)
		add(i);
}
static long __attribute__((noipa)) outer_only(void)
{
	long sum = 0;
	for (int k = 1; k < 20; k++)
		for (int i = 0; i < 10; i++)
			b[10 * k + i] = b[10 * (k - 1) + i] + 1;
	return sum;
}
static int __attribute__((noipa)) parts(void)
{
	*(volatile int *)bytes = 1;
	*(volatile char *)(bytes + 2) = 2;
	*(volatile short *)(bytes + 6) = 3;
	return *(volatile long *)bytes != 0;
}
static long __attribute__((noipa)) depth(int n)
{
	volatile long here = n;
	for (int i = 0; i < 3 && n; i++)
		here += depth(n - 1);
	return here;
}
int main(void)
{
	int to[2];
	char word[8], piece[9];
	carries_three();
	carries_none();
	carries_by_call();
	outer_only();
	struct iovec v[] = {{piece, 3}, {piece + 4, 5}};
	if (pipe(to) || write(to[1], "1234567812345678", 16) != 16 || read(to[0], word, 8) != 8 || readv(to[0], v, 2) != 8)
		return 1;
	return parts() + (int)depth(3) + *(volatile char *)(word + 3) + *(volatile char *)(piece + 8) < 0;
}
END
same_as_native ./work
"$TW" analyze deps --json recording.tw >found.json || fail "analyze deps"
"$TW" dump --refs recording.tw >refs
awk '{ print $2 }' refs | sort -u >pcs
addr2line -f -e work <pcs | paste - - | paste pcs - >lines
python3 - <<'END' || fail "deps differs from what python3 finds"
import json
from collections import Counter
found = json.load(open("found.json"))
line_of = {}
for row in open("lines"):
    pc, function, place = row.split()[:3]
    name = place.split("/")[-1]
    line_of[pc] = function + " " + name if name.startswith("work.c:") else None
last, expected, loads, unwritten = {}, Counter(), 0, 0
for row in open("refs"):
    _, pc, kind, addr, size = row.split()
    addr, size = int(addr, 16), int(size)
    if kind in "RM":
        writers = {last.get(a) for a in range(addr, addr + size)}
        loads += 1
        unwritten += None in writers
        for w in writers - {None}:
            expected[line_of[w], line_of[pc]] += 1
    if kind in "WM":
        for a in range(addr, addr + size):
            last[a] = pc
ours = lambda s: " work.c:" in s
got = Counter()
for d in found["dependences"]:
    if ours(d["store"]) and ours(d["load"]):
        got[d["store"], d["load"]] += d["times"]
        assert d["across"] == 0
want = Counter({k: n for k, n in expected.items() if k[0] and k[1]})
want = Counter({k: n for k, n in want.items()})
assert got == want, (got - want, want - got)
assert found["loads"] == loads
def loop(function):
    return sorted((l for l in found["loops"] if l["loop"].split()[0] == function), key=lambda l: -l["instructions"])
three, none, call = loop("carries_three")[0], loop("carries_none")[0], loop("carries_by_call")[0]
assert (three["entries"], three["iterations"], three["carried"], three["nearest"]) == (1, 997, 994, 3), three
assert (none["iterations"], none["carried"]) == (1000, 0), none
assert call["iterations"] == 50 and call["nearest"] == 1 and call["carried"] >= 49, call
outer, inner = loop("outer_only")[:2]
assert (outer["iterations"], outer["carried"], outer["nearest"]) == (19, 180, 1), outer
assert (inner["entries"], inner["iterations"], inner["carried"]) == (19, 190, 0), inner
in_depth = loop("depth")
assert in_depth and sum(l["iterations"] for l in in_depth) >= 3 * 13 - 3, in_depth
carried = [c for c in found["carried"] if c["loop"] == three["number"] and ours(c["load"])]
assert len(carried) == 1 and carried[0]["times"] == 994 and carried[0]["nearest"] == carried[0]["farthest"] == 3, carried
# What read(2) stored is not taken for what the program did not write.
stores = {d["store"].split()[0].split("+")[0].strip("_") for d in found["dependences"] if d["load"].startswith("main work.c:")}
assert "readv" in stores and stores & {"read", "GI___libc_read", "libc_read"}, stores
END
# A store of a thread that is joined, and had ended before that: no call waits for it. Threads are joined one by one, and in a loop.
cc_program across -O1 -g -pthread <<'END'
#include <pthread.h>
static long asked, handed[3];
static void *work(void *arg)
{
	*(long *)arg = asked + 1;
	return arg;
}
int main(void)
{
	pthread_t t[3];
	asked = 4;
	for (int i = 0; i < 3; i++)
		if (pthread_create(&t[i], NULL, work, &handed[i])) return 1;
	for (int i = 0; i < 5000; i++) __asm__ volatile(".rept 100; pause; .endr"); /* longer than a thread takes, and so few blocks that they come without a time */
	if (pthread_join(t[2], NULL)) return 1;
	if (handed[2] != 5) return 2;
	for (int i = 0; i < 2; i++) {
		pthread_join(t[i], NULL);
		if (handed[i] != 5) return 3;
	}
	return 0;
}
END
recorded ./across
"$TW" analyze deps --json recording.tw | python3 -c '
import json, sys
found = json.load(sys.stdin)
def times(store, load):
    return sum(d["across"] for d in found["dependences"] if d["store"] == store and d["load"] == load)
assert times("main across.c:11", "work across.c:5") == 3, found["dependences"]
assert times("work across.c:5", "main across.c:16") == 1, found["dependences"]
assert times("work across.c:5", "main across.c:19") == 2, found["dependences"]' || fail "a store of another thread is not found"
exit 0
