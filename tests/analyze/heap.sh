# heap: allocations, frees, bytes, the peak and what is left are what the program itself counts; paths, bytes that are never read, lifetimes; use after free, accesses beyond a block, double
# free; blocks that go from thread to thread; an allocator of the program's own, by option.
. "$(dirname "$0")/../lib.sh"
need_command python3
cc_program blocks -O1 -w -pthread <<'END_OF_C'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static unsigned long allocations, frees, bytes, live, peak;
static void *note(void *p, size_t n)
{
	allocations++;
	bytes += n;
	live += n;
	peak = live > peak ? live : peak;
	return p;
}
static void drop(void *p, size_t n)
{
	frees++;
	live -= n;
	free(p);
}
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static char *handed;
static void *taker(void *arg)
{
	for (int i = 0; i < 20; i++) {
		pthread_mutex_lock(&lock);
		while (!handed)
			pthread_cond_wait(&cond, &lock);
		handed[3]++;
		drop(handed, 48);
		handed = NULL;
		pthread_cond_signal(&cond);
		pthread_mutex_unlock(&lock);
	}
	return arg;
}
static char *__attribute__((noipa)) make_half_read(void)
{
	volatile char *p = note(malloc(1000), 1000);
	int sum = 0;
	memset((char *)p, 1, 1000);
	for (int i = 0; i < 500; i++)
		sum += p[i];
	return sum ? (char *)p : NULL;
}
int main(int argc, char **argv)
{
	static char buffer[4096];
	pthread_t t;
	setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
	char *half = make_half_read();
	char *zeros = note(calloc(30, 10), 300);
	char *table[100];
	for (int i = 0; i < 100; i++)
		table[i] = note(malloc(i + 1), i + 1);
	for (int i = 0; i < 100; i += 2)
		drop(table[i], i + 1);
	half = realloc(half, 3000);
	frees++;
	live -= 1000;
	note(half, 3000);
	void *aligned;
	posix_memalign(&aligned, 64, 256);
	note(aligned, 256);
	pthread_create(&t, NULL, taker, NULL);
	for (int i = 0; i < 20; i++) {
		pthread_mutex_lock(&lock);
		while (handed)
			pthread_cond_wait(&cond, &lock);
		handed = note(malloc(48), 48);
		pthread_cond_signal(&cond);
		pthread_mutex_unlock(&lock);
	}
	pthread_join(t, NULL);
	if (argc > 1) {
		volatile char *p = malloc(40);
		p[40] = 1;                 /* beyond */
		free((char *)p);
		p[8] = 1;                  /* after free */
	}
	printf("%lu %lu %lu %lu %lu\n", allocations, frees, bytes, peak, live);
	fflush(stdout);
	return zeros == NULL;
}
END_OF_C
run truth err "$TW" record -q --calls -o plain.tw ./blocks || fail "blocks: $(cat err)"
"$TW" check plain.tw >/dev/null || fail "check"
"$TW" analyze heap --json --depth 3 plain.tw >found.json || fail "analyze heap"
cat >compare.py <<'END_OF_PYTHON'
import json
found = json.load(open("found.json"))
allocations, frees, size, peak, live = map(int, open("truth").read().split())
own = [s for s in found["sites"] if "blocks.c:" in s["path"].split(" < ")[0]]
# All but what libc allocates for itself: the new thread's tables.
assert sum(s["blocks"] for s in own) == allocations, own
assert sum(s["bytes"] for s in own) == size and sum(s["left_bytes"] for s in own) == live
assert sum(s["blocks"] - s["left"] for s in own) == frees
assert peak <= found["peak_bytes"] <= peak + 4096, (peak, found["peak_bytes"])
half = [s for s in own if s["path"].startswith("make_half_read ")]
assert len(half) == 1 and half[0]["never_read"] in (0, 500) and half[0]["bytes"] == 1000, half
table = [s for s in own if s["blocks"] == 100]
assert len(table) == 1 and table[0]["left"] == 50 and table[0]["never_read"] == table[0]["bytes"] == 5050, table
assert sum(l["blocks"] for l in found["lifetimes"]) == found["frees"]
assert found["wrong_places"] == 0 and not found["errors"], found["errors"]
assert found["timeline"][-1]["live"] == found["left_bytes"] and max(p["most"] for p in found["timeline"]) == found["peak_bytes"]
END_OF_PYTHON
python3 compare.py || fail "heap differs from what the program counts"
run truth err "$TW" record -q --calls -o wrong.tw ./blocks wrong || fail "blocks: $(cat err)"
"$TW" analyze heap --json wrong.tw >found.json || fail "analyze heap"
cat >wrong.py <<'END_OF_PYTHON'
import json
from collections import defaultdict
errors = defaultdict(dict)
for row in json.load(open("found.json"))["errors"]:
    errors[row["error"]][row["what"]] = row
beyond, after = errors[1], errors[2]
assert set(beyond) == {"beyond", "allocated"} and set(after) == {"after-free", "allocated", "freed"} and len(errors) == 2, errors
assert beyond["beyond"]["offset"] == 40 and beyond["beyond"]["block"] == 40 and beyond["beyond"]["path"].startswith("main blocks.c:")
assert after["after-free"]["offset"] == 8 and "main blocks.c:" in after["freed"]["path"] and "main blocks.c:" in after["allocated"]["path"]
END_OF_PYTHON
python3 wrong.py || fail "wrong accesses"

cc_program pool <<'END_OF_C'
#include <stdlib.h>
static char memory[65536];
static size_t used;
void *__attribute__((noipa)) take(size_t n) { void *p = memory + used; used += (n + 15) & ~15ul; return p; }
void __attribute__((noipa)) give(void *p) { (void)p; }
int main(void)
{
	char *a = take(100), *b = take(50);
	volatile char *late = b;
	a[0] = 1;
	give(b);
	late[3] = 2;
	give(b);
	return 0;
}
END_OF_C
run out err "$TW" record -q --calls=take,give -o pool.tw ./pool || fail "pool"
"$TW" analyze heap --alloc take --free give --json pool.tw >found.json || fail "--alloc"
python3 -c '
import json
d = json.load(open("found.json"))
assert d["allocations"] == 2 and d["frees"] == 1 and d["left_bytes"] == 100, d
assert {e["what"] for e in d["errors"] if e["times"]} == {"after-free", "double-free"}, d["errors"]' || fail "an allocator of its own"
one_sentence "$TW" analyze heap --alloc other pool.tw
says 'record with --calls=other'

# What a program allocates after execve is not where the one before had it, though process and addresses are the same.
cc_program again -O1 <<'END_OF_C'
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	for (int i = 0; i < 1000; i++)
		*(volatile char *)malloc(100) = 1;
	if (argc > 1)
		execv(argv[0], (char *[]){argv[0], NULL});
	return 0;
}
END_OF_C
"$TW" record -q --calls -o again.tw ./again more || fail "record ./again"
"$TW" analyze heap --json again.tw >found.json || fail "analyze heap of two programs"
python3 -c '
import json
d = json.load(open("found.json"))
assert d["left_blocks"] >= 2000 and d["left_bytes"] >= 200000, d["left_blocks"]' || fail "blocks of two programs are mixed up"

# A path that does not fit beside an error stands below it, whole, with what was inlined.
cc_program freed -O2 -g -w <<'END_OF_C'
#include <stdlib.h>
static inline __attribute__((always_inline)) int use(volatile int *p) { return p[3]; }
__attribute__((noipa)) int function_that_uses_what_was_freed(void)
{
	int *p = malloc(40);
	volatile int *q = p;
	free(p);
	return use(q);
}
__attribute__((noipa)) int function_that_calls_the_one_that_uses(void) { return function_that_uses_what_was_freed() + 1; }
int main(void) { return function_that_calls_the_one_that_uses() & 0; }
END_OF_C
"$TW" record -q --calls -o freed.tw ./freed || fail "record ./freed"
"$TW" analyze heap freed.tw >found || fail "analyze heap of ./freed"
tr -s ' \n' ' ' <found | grep -q 'after-free.* use freed.c:2 < function_that_uses_what_was_freed freed.c:8 < function_that_calls_the_one_that_uses freed.c:10 < main freed.c:11 <' ||
	fail "the path is not whole: $(cat found)"
