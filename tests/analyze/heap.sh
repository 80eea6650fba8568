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

# What functions of the C library and the kernel read counts as read; what they do wrong on the program's behalf is told with the calls to them.
cc_program through -O0 -w -fno-builtin <<'END_OF_C'
#include <fcntl.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
volatile int sink;
static char *filled(int n) { char *p = malloc(n); memset(p, 'a', n - 1); p[n - 1] = 0; return p; }
static char *freed(int n) { char *p = filled(n); free(p); return p; }
static void right(int out)
{
	char *a = filled(100), *b = filled(200), *c = filled(300), *copy = malloc(200), *more;
	sink = strlen(a);
	memcpy(copy, b, 200);
	write(out, c, 300);
	more = malloc(20);
	memset(more, 1, malloc_usable_size(more)); /* as far as it may */
	for (int i = 1; i < 200; i++) {
		char *s = filled(i), *t = strdup(s);
		sink += strcmp(s, t) + strlen(t) + (strchr(s, 'b') != NULL) + (strrchr(t, 'b') != NULL) + (memchr(s, 'c', i) != NULL);
		free(s);
		free(t);
	}
}
int main(int argc, char **argv)
{
	int out = open("/dev/null", O_WRONLY), in = open("/dev/zero", O_RDONLY);
	char *to = malloc(64);
	right(out);
	if (argc == 1)
		return 0;
	strcpy(malloc(20), "0123456789012345678901");
	memset(malloc(20), 0, 22);
	memcpy(to, filled(20), 24);
	sink = strlen(freed(64));
	write(out, freed(700), 700);
	write(out, filled(52), 56);
	read(in, malloc(100), 102);
	snprintf(malloc(9), 20, "%s-%d", "12345", 12345);
	return 0;
}
END_OF_C
"$TW" record -q --calls -o right.tw ./through && "$TW" record -q --calls -o wrong.tw ./through wrong || fail "record ./through"
"$TW" analyze heap --json right.tw >right.json && "$TW" analyze heap --json wrong.tw >found.json || fail "analyze heap of ./through"
cat >through.py <<'END_OF_PYTHON'
import json, sys
right, found = json.load(open("right.json")), json.load(open("found.json"))
lines = open("through.c").read().split("\n")
assert right["wrong_places"] == 0, right["errors"]
by_bytes = {s["bytes"]: s for s in right["sites"] if s["path"].startswith(("right ", "filled ")) and s["blocks"] == 1}
assert by_bytes[100]["never_read"] == by_bytes[300]["never_read"] == 0, by_bytes
def at(text):
    return "main through.c:%d" % (1 + next(i for i, l in enumerate(lines) if l.strip().startswith(text)))
def told(what, text, needs_names):
    e = [e for e in found["errors"] if e["times"] and e["what"] == what and at(text) in e["path"]]
    assert len(e) == 1 or (needs_names and not named), (what, text, found["errors"])
    return e[0] if e else {"path": ""}
named = sys.argv[1] == "named"
told("beyond", "strcpy(", True), told("beyond", "memset(malloc", True), told("beyond", "memcpy(to, filled", True), told("beyond", "snprintf(", True)
told("after-free", "sink = strlen(freed", True)
assert told("after-free", "write(out, freed", False)["path"].startswith("write < main ")
assert told("beyond", "write(out, filled", False)["path"].startswith("write < main ")
assert told("beyond", "read(in", False)["path"].startswith("read < main ")
assert not named or len({e["error"] for e in found["errors"]}) == 8, found["errors"]
END_OF_PYTHON
named=unnamed
"$TW" report --csv -n 0 wrong.tw 2>/dev/null | grep -q '__strcpy_\|__memset_' && named=named || untested "functions of a C library without its debug file"
python3 through.py $named || fail "what goes through the C library and the kernel"

# Functions that look for the end of a string, or for a byte, in a block that has none, and so read on behind it; where the end is the last byte, or it is found there, they may read as they like.
cc_program endless -O0 -w -fno-builtin <<'END_OF_C'
#include <stdlib.h>
#include <string.h>
volatile long sink;
static char *filled(int n, int with_end) { char *p = aligned_alloc(64, n); memset(p, 'a', n); p[n - 1] = with_end ? 0 : 'a'; return p; }
static void look(int with_end)
{
	char *same = filled(400, 1);
	sink = strlen(filled(64, with_end));
	sink += strchr(filled(64, with_end), 'b') != NULL;
	sink += memchr(filled(128, with_end), with_end ? 0 : 'b', 300) != NULL;
	sink += strcmp(filled(64, with_end), same);
	sink += strcmp(same, filled(64, with_end));
}
static char *at_end(int n, int in) { char *p = aligned_alloc(64, n + in); memset(p, 'a', n + in); p[n + in - 1] = 0; return p + in; }
int main(int argc, char **argv)
{
	for (int n = 1; n < 300; n += n < 70 ? 3 : 19)
		for (int in = 0; in < 64; in += 9) {
			char *a = at_end(n, in), *b = at_end(n, in * 5 % 64), *c = malloc(2 * n);
			sink += strlen(a) + strnlen(b, n - 1) + (strchr(a, 'x') != NULL) + (strrchr(a, 'x') != NULL) + (memchr(b, 'x', n) != NULL);
			sink += strcmp(a, b) + strncmp(a, b, n) + strncmp(a, b, n - 1) + memcmp(a, b, n) + strspn(a, "a") + strcspn(b, "x");
			strcpy(c, a), strcat(c, b), c[n - 1] = 0, strncat(c, a, n - 1), strncpy(c, b, n);
			sink += (strstr(a, "ab") != NULL) + (strstr(a, b) != NULL) + (strpbrk(a, "xy") != NULL);
		}
	look(1);
	if (argc > 1)
		look(0);
	return 0;
}
END_OF_C
"$TW" record -q --calls -o ended.tw ./endless && "$TW" record -q --calls -o endless.tw ./endless wrong || fail "record ./endless"
"$TW" analyze heap --json ended.tw >right.json && "$TW" analyze heap --json endless.tw >found.json || fail "analyze heap of ./endless"
[ $named = unnamed ] || python3 -c '
import json
right, found = json.load(open("right.json")), json.load(open("found.json"))
assert not right["errors"], right["errors"]
errors = [e for e in found["errors"] if e["what"] == "beyond"]
assert all(e["offset"] == e["block"] and e["times"] == 1 for e in errors), errors
by_line = sorted(int(e["path"].split("look endless.c:")[1].split()[0]) for e in errors)
compares = 2 if any("strcmp_" + kind in e["path"] for e in errors for kind in ("avx2", "evex")) else 0
assert by_line == [8, 9, 10, 11, 12][:3 + compares], found["errors"]' || fail "what looks for an end behind a block"

# Memory that is mapped where a block was is not that block's; what a forked process finds is not beside blocks.
cc_program anew -O0 -w <<'END_OF_C'
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
int main(void)
{
	char *old[50], *block = malloc(1 << 20), *mine;
	free(block);
	volatile char *p = mmap((void *)((unsigned long)block & ~4095ul), 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	p[5000]++;
	for (int i = 0; i < 50; i++)
		old[i] = malloc(24);
	free(old[20]);
	if (!fork()) {
		mine = malloc(24);
		for (int i = 0; i < 50; i++)
			if (i != 20)
				old[i][0]++, free(old[i]);
		_exit(mine[0]);
	}
	wait(NULL);
	return 0;
}
END_OF_C
"$TW" record -q --calls -o anew.tw ./anew || fail "record ./anew"
"$TW" analyze heap --json anew.tw >found.json || fail "analyze heap of ./anew"
python3 -c 'import json; d = json.load(open("found.json")); assert not d["errors"], d["errors"]' || fail "accesses that are right are told"

# However long the names of what was inlined are (templates of C++), the program's own function is in the path, with its place; so is the place in tables of other analyzers.
cat >label.cc <<'END_OF_CC'
#include <map>
#include <string>
#include <vector>
typedef std::map<std::string, std::vector<std::pair<std::string, std::string>>> Deep;
__attribute__((noinline)) std::string label(int i) { return "a fairly long label with number " + std::to_string(i); }
__attribute__((noinline)) size_t fill(std::map<std::string, Deep> &m, int i) { return m[label(i)][label(i + 1)].size(); }
int main()
{
	std::map<std::string, Deep> m;
	size_t n = 0;
	for (int i = 0; i < 100; i++)
		n += fill(m, i);
	return n != 0;
}
END_OF_CC
g++ -O1 -g -o label label.cc || fail "label.cc does not compile"
"$TW" record -q --calls -o label.tw ./label || fail "record ./label"
"$TW" analyze heap label.tw >label.out || fail "analyze heap of ./label"
grep -q 'label\[abi:cxx11\](int) label.cc:5 <' label.out || fail "label() is in no path: $(cat label.out)"
"$TW" analyze cache --csv=lines --module label label.tw >lines.csv || fail "analyze cache of ./label"
! grep std:: lines.csv | grep -v @plt | grep -vE ':[0-9]+"?$' || fail "lines without a line"
