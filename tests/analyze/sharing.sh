# sharing: threads that take turns, by pipes, on lines whose use is known: the same bytes, other bytes of the same line, lines of their own, a line that all only read.
. "$(dirname "$0")/../lib.sh"
need_command python3
cc_program turns -O1 -g -pthread <<'END'
#include <pthread.h>
#include <unistd.h>
static int to[2][2];
struct line { _Alignas(64) volatile long n[8]; };
static struct line same, beside, own[2], constant = {{1, 2, 3, 4, 5, 6, 7, 8}}, late;
static _Thread_local struct line lent; /* the first thread's, to both */
static struct line *borrowed;
static volatile long sum[2][64];
extern volatile long near[4], behind[4]; /* on one line */
__asm__(".pushsection .data; .balign 64; near: .zero 32; behind: .zero 32; .type near, @object; .size near, 32; .type behind, @object; .size behind, 32; .popsection");
static void __attribute__((noinline)) turn(long me)
{
	same.n[0]++;
	beside.n[me * 4]++;
	own[me].n[0]++;
	sum[me][0] += constant.n[me];
	late.n[me * 4]++; /* false at first... */
	if (late.n[4 - me * 4] < 0) /* ...but this makes it true */
		sum[me][1]++;
	near[me]++; /* the same of two objects */
	sum[me][2] += behind[1 - me];
	behind[me]++;
	borrowed = borrowed ? borrowed : &lent;
	borrowed->n[0]++;
}
static void *work(void *arg)
{
	long me = (long)arg;
	char c = 0;
	for (int i = 0; i < 40; i++) {
		if (read(to[me][0], &c, 1) != 1)
			return NULL;
		turn(me);
		if (write(to[!me][1], &c, 1) != 1)
			return NULL;
	}
	return NULL;
}
int main(void)
{
	pthread_t t[2];
	if (pipe(to[0]) || pipe(to[1]))
		return 1;
	for (long i = 0; i < 2; i++)
		pthread_create(&t[i], NULL, work, (void *)i);
	if (write(to[0][1], "", 1) != 1)
		return 1;
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	return same.n[0] != 80;
}
END
same_as_native ./turns
"$TW" analyze sharing --json recording.tw >found.json || fail "analyze sharing"
python3 - <<'END' || fail "not what the program does"
import json
found = json.load(open("found.json"))
objects = {r["object"]: (r["true"], r["false"]) for r in found["objects"]}
lines = {r["object"].split(".")[0]: r for r in found["lines"]}
parts = {r["object"] for r in found["lines"]}
# Each of the 80 turns but each thread's first gets the line; the second thread's first may, too: the other one has written it by then.
assert objects["same"] == (80, 0), objects["same"] # and once to the main thread
assert lines["same"]["threads"] == 3
assert objects["beside"] == (0, 79), objects["beside"]
assert objects["late"] == (79, 0), objects["late"]
assert objects["lent"] == (80, 0) and lines["lent"]["overlap"], objects["lent"] # the thread that made the other's has cleared it
assert objects["behind"] == (79, 0) and objects.get("near", (0, 0)) == (0, 0), objects
for name in "own", "constant":
    assert name not in objects, (name, objects[name])
assert lines["same"]["sharing"] == "true" and lines["same"]["overlap"] == 8
assert lines["beside"]["sharing"] == "false" and lines["beside"]["overlap"] == 0
assert {"same.n[0]", "beside.n[0], beside.n[4]", "late.n[0], late.n[4]", "near, behind"} <= parts, parts
assert lines["lent"]["object"].startswith("lent.n[0]"), parts
assert "own" not in lines and "constant" not in lines
for table in "objects", "places":
    assert sum(r["true"] for r in found[table]) == found["true_transfers"], table
    assert sum(r["false"] for r in found[table]) == found["false_transfers"], table
assert any(r["place"].startswith("turn turns.c:") and r["false"] == 79 for r in found["places"]), found["places"]
END
# Threads that each have lines of their own only share what the library does for them.
cc_program alone -O1 -pthread <<'END'
#include <pthread.h>
static struct { _Alignas(64) volatile long n; } own[4];
static void *work(void *arg)
{
	for (int i = 0; i < 10000; i++)
		own[(long)arg].n++;
	return NULL;
}
int main(void)
{
	pthread_t t[4];
	for (long i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, work, (void *)i);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	return 0;
}
END
recorded ./alone
"$TW" analyze sharing --json recording.tw >found.json || fail "analyze sharing of threads that do not"
grep -q '"object": *"own' found.json && fail "says that threads share what each has for itself"

# Nor do programs that a process executes one after another, though their addresses are the same.
cc_program again -O1 <<'END'
#include <unistd.h>
int main(int argc, char **argv)
{
	if (argc > 1)
		execv(argv[0], (char *[]){argv[0], NULL});
	return 0;
}
END
recorded ./again more
"$TW" analyze sharing --json recording.tw >found.json || fail "analyze sharing of two programs"
grep -q '"lines_shared": *0,' found.json || fail "says that a program shares memory with the one before it: $(grep lines found.json)"
exit 0
