# Data on the heap is named by where it was allocated, in sharing and cache, of recordings with --calls: two small blocks on one line, blocks of lines of their own, what is freed, and what takes its place.
. "$(dirname "$0")/../lib.sh"
need_command python3
cc_program blocks -O1 -g -pthread <<'END'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
enum { TURNS = 100, WORDS = 1 << 15 };
static volatile long *left, *right, *apart[2];
static pthread_barrier_t turn;
static void *work(void *a)
{
	long me = (long)a;
	for (int i = 0; i < TURNS; i++) {
		if (i % 2 == me) {
			++*(me ? right : left);
			++*apart[me];
		}
		pthread_barrier_wait(&turn);
	}
	return a;
}
static void __attribute__((noinline)) sweep(volatile long *words)
{
	for (int k = 0; k < 2; k++)
		for (int i = 0; i < WORDS; i += 8)
			words[i]++;
}
int main(void)
{
	pthread_t t;
	char *line = aligned_alloc(64, 4096);
	pthread_barrier_init(&turn, NULL, 2);
	apart[0] = aligned_alloc(128, 128);
	apart[1] = aligned_alloc(128, 128);
	do {
		left = right;
		right = malloc(24);
	} while (((unsigned long)left ^ (unsigned long)right) >= 64);
	*left = *right = *apart[0] = *apart[1] = 0;
	pthread_create(&t, NULL, work, (void *)1);
	work(NULL);
	pthread_join(t, NULL);
	volatile long *first = malloc(WORDS * sizeof(long));
	sweep(first);
	free((void *)first);
	volatile long *second = malloc(WORDS * sizeof(long));
	sweep(second);
	return printf("%d %d\n", line != NULL, first == second) < 0;
}
END
line_of() { grep -n "$1" "$ROOT/tests/analyze/blocks_named.sh" | head -n 1 | cut -d: -f 1; }
first=$(grep -n '^#include <pthread.h>' "$ROOT/tests/analyze/blocks_named.sh" | head -n 1 | cut -d: -f 1)
at() { echo $(($(line_of "$1") - first + 1)); }
"$TW" record -q --calls -o r.tw ./blocks >said || fail "record"
"$TW" analyze sharing --json r.tw >sharing.json || fail "analyze sharing"
"$TW" analyze cache --json r.tw >cache.json || fail "analyze cache"
python3 - "$(at 'right = malloc')" "$(at 'apart.0. = ')" "$(at 'first = malloc')" "$(at 'second = malloc')" <<'END' || fail "blocks are not named"
import json, sys
small, apart, first, second = (int(a) for a in sys.argv[1:])
sharing, cache = (json.load(open(f)) for f in ("sharing.json", "cache.json"))
def at(line):
    return "main blocks.c:%d" % line
lines = {r["object"]: r for r in sharing["lines"]}
pair = lines[at(small) + ", " + at(small)]
assert pair["false"] >= 98 and pair["true"] <= 2, pair
objects = {(r["object"], r["module"]): r for r in sharing["objects"]}
assert (at(apart), "[heap]") not in objects or objects[at(apart), "[heap]"]["false"] == 0, objects
assert sum(r["false"] for (o, m), r in objects.items() if m == "[heap]") >= 98, objects
missed = {r["object"]: r for r in cache["objects"] if r["module"] == "[heap]"}
for line in first, second: # 4,096 lines twice, in a cache of 512
    assert sum(v for k, v in missed[at(line)].items() if "miss" in k.lower() or k.startswith(("l1", "L1"))) >= 8000, (line, missed)
END
"$TW" record -q -o plain.tw ./blocks >said || fail "record without --calls"
"$TW" analyze sharing --json plain.tw >sharing.json || fail "analyze sharing without --calls"
grep -q '"module": "\[heap\]"' sharing.json && fail "without --calls blocks have places"
exit 0
