# record --calls: calls of malloc, realloc, free, of mutexes and of a function named by option are told with the arguments and results that the program itself
# prints, each once, in loops that become superblocks, in two threads, through the PLT, by pointers and by tail calls, with signals coming in; and the program runs as natively.
. "$(dirname "$0")/../lib.sh"
need_command python3
cc_program calls -O1 -pthread <<'END_OF_C'
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
enum { N = 3000 };
static struct line { const char *what; uint64_t a, b, result; } lines[2][4 * N + 8];
static int n[2];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile sig_atomic_t ticks;
static void tick(int s) { ticks += s != 0; }
uint64_t __attribute__((noipa)) my_function(uint64_t a, uint64_t b) { return a * 3 + b; }
static void *(*volatile by_pointer)(size_t) = malloc;
static void *__attribute__((noipa)) by_tail(void *p, size_t bytes) { return realloc(p, bytes); }
static void note(int me, const char *what, uint64_t a, uint64_t b, uint64_t result)
{
	lines[me][n[me]++] = (struct line){what, a, b, result};
}
static void *run(void *arg)
{
	const int me = (int)(intptr_t)arg;
	for (int i = 0; i < N; i++) {
		const size_t bytes = (size_t)(i % 700) + 1;
		void *p = i % 3 ? malloc(bytes) : by_pointer(bytes);
		note(me, "malloc", bytes, 0, (uint64_t)p);
		if (i % 5 == 0) {
			void *q = by_tail(p, 2 * bytes);
			note(me, "realloc", (uint64_t)(uintptr_t)p, 2 * bytes, (uint64_t)q);
			p = q;
		}
		pthread_mutex_lock(&lock);
		const uint64_t r = my_function((uint64_t)i, 7);
		pthread_mutex_unlock(&lock);
		note(me, "my_function", (uint64_t)i, 7, r);
		note(me, "free", (uint64_t)(uintptr_t)p, 0, 0);
		free(p);
	}
	return NULL;
}
int main(int argc, char **argv)
{
	pthread_t t;
	struct itimerval often = {{0, 2000}, {0, 2000}};
	(void)argv;
	signal(SIGALRM, tick);
	setitimer(ITIMER_REAL, &often, NULL);
	pthread_create(&t, NULL, run, (void *)1);
	run(0);
	pthread_join(t, NULL);
	memset(&often, 0, sizeof often);
	setitimer(ITIMER_REAL, &often, NULL);
	if (argc > 1)
		for (int me = 0; me < 2; me++)
			for (int i = 0; i < n[me]; i++)
				printf("%d %s %lx %lx %lx\n", me, lines[me][i].what, lines[me][i].a, lines[me][i].b, lines[me][i].result);
	printf("%d\n", n[0] + n[1]);
	return 0;
}
END_OF_C
cat >compare.py <<'END_OF_PYTHON'
import sys
from collections import defaultdict
arguments = {"malloc": 1, "realloc": 2, "my_function": 2, "free": 1}
expected = defaultdict(list)
for line in open("truth"):
    f = line.split()
    if len(f) == 5:
        expected[f[0]].append((f[1], *f[2:2 + arguments[f[1]]], f[4] if f[1] != "free" else "-"))
told, calls, locks = defaultdict(list), defaultdict(list), 0
for line in open("dump"):
    f = line.split()
    if len(f) > 4 and f[3] == "call":
        locks += f[4] == "pthread_mutex_lock"
        if f[4] in arguments:
            entry = [f[4], *f[5:5 + arguments[f[4]]], None]
            if calls[f[1]] and calls[f[1]][-1] == entry: # a signal came before its first instruction: it is told again
                continue
            told[f[1]].append(entry)
            calls[f[1]].append(entry)
        else:
            calls[f[1]].append(["other", None])
    elif len(f) > 4 and f[3] == "return" and calls[f[1]]:
        entry = calls[f[1]].pop()
        entry[-1] = "-" if entry[0] == "free" else f[4]
for me in ("0", "1"):
    mine, want = [tuple(e) for e in told[me]], expected[me]
    # What libc allocates for itself stands around what the program does.
    starts = [i for i in range(len(mine)) if mine[i] == want[0] and mine[i:i + len(want)] == want]
    assert starts, (me, len(mine), len(want), next((a, b) for a, b in zip(mine, want) if a != b))
assert locks >= 6000, locks
END_OF_PYTHON
for format in dep "dep --verify" dep06; do
	# shellcheck disable=SC2086 # options
	run truth err "$TW" record -q --calls=my_function -f $format -o calls.tw ./calls print || fail "record, $format: $(cat err)"
	"$TW" check calls.tw >/dev/null || fail "check, $format"
	"$TW" dump --order calls.tw >dump || fail "dump, $format"
	python3 compare.py || fail "calls are told wrongly, $format"
done
RECORD_OPTIONS+=(--calls=my_function)
same_as_native ./calls
"$TW" info calls.tw | grep -q 'calls *known+++,my_function' || fail "info does not tell of calls"
one_sentence "$TW" record --calls -f cf_bit true

# Begun with the translations of the run before, and places behind the calls that it made: the same is told. With other functions others are taken, none here.
sleep 4.2 # so old that they have an identity
for took in 0 1 1; do
	run truth err "$TW" record --calls=my_function --order -f dep --verify -o calls.tw ./calls print || fail "record, kept: $(cat err)"
	grep -q "all equal" err || fail "kept: $(cat err)"
	[ "$(sed -n 's/.*; \([0-9]*\) of [0-9]* programs and .*/\1/p' err)" = "$(echo $took | sed 's/^0$//')" ] || fail "kept, $took: $(cat err)"
	"$TW" check calls.tw >/dev/null || fail "check, kept"
	"$TW" dump --order calls.tw >dump || fail "dump, kept"
	python3 compare.py || fail "calls are told wrongly, kept"
done
run truth err "$TW" record --calls=run --order -f dep --verify -o calls.tw ./calls print || fail "record, other functions: $(cat err)"
grep -q 'began with translations' err && fail "translations for other functions are taken: $(cat err)"
"$TW" dump --order calls.tw | grep -q ' call run' || fail "a function is not told"
