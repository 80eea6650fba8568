# record --learn-what=cct: calling contexts are learned from what a budget lets be recorded, and none that was not there; threads, forks, handlers of signals and recursion have theirs. --learn-what=refs
# learns which instructions refer to memory, and keeps the recording; readers say for what part of the time it stands.
# timeout: 240
. "$(dirname "$0")/../lib.sh"
need_command python3
cc_program contexts -O1 -pthread <<'END'
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static volatile int kept, sum;
__attribute__((noipa)) static void leaf(int n) { for (int i = 0; i < n; i++) sum += i ^ n; }
__attribute__((noipa)) static void left(int n) { leaf(n); kept++; }
__attribute__((noipa)) static void right(int n) { leaf(n + 1); left(n); kept++; }
__attribute__((noipa)) static void deep(int n) { if (n) deep(n - 1); else right(50); kept++; }
__attribute__((noipa)) static void handler(int s) { leaf(s); kept++; }
static int by_value(const void *a, const void *b) { leaf(3); return *(const int *)a - *(const int *)b; }
static void *in_thread(void *p)
{
	for (int i = 0; i < 300; i++)
		right(20);
	return p;
}
int main(int argc, char **argv)
{
	pthread_t t;
	int turns = atoi(argv[argc - 1]), a[40];
	signal(SIGUSR1, handler);
	pthread_create(&t, NULL, in_thread, NULL);
	for (int i = 0; i < turns; i++) {
		for (int k = 0; k < 40; k++)
			a[k] = k * 7919 % 101;
		left(100);
		deep(i % 7);
		qsort(a, 40, sizeof *a, by_value);
		if (i % 100 == 0)
			raise(SIGUSR1);
	}
	pthread_join(t, NULL);
	if (!fork()) {
		for (int i = 0; i < 300; i++)
			right(30);
		_exit(0);
	}
	wait(NULL);
	return 5;
}
END
own() { # own FILE: contexts, context edges and references of the program's own functions that were learned, those of them that are in whole.tw, and those that it has
	"$TW" learn --functions --json "$1" >learn.json && "$TW" coverage --json --against whole.tw "$1" >coverage.json && python3 -c '
import json
learned, whole = ([r for r in json.load(open(f))["functions"] if r["module"].endswith("/contexts")] for f in ("learn.json", "coverage.json"))
for k in "contexts", "context_edges", "references":
    print(k, sum(r[k] for r in learned), sum(r[k + "_learned"] for r in whole), sum(r[k] for r in whole))'
}
"$TW" record -q -f dep -o whole.tw --learn=first --learn-what=cct ./contexts 100
[ $? = 5 ] || fail "record"
own first | grep '^context' >own.txt
awk '$2 < 10 || $2 != $3 || $3 != $4 { exit 1 }' own.txt || fail "a recording does not cover its own contexts: $(cat own.txt)"
"$TW" coverage --against whole.tw first | grep -q '^contexts .* 100.00$' || fail "coverage counts no contexts"
"$TW" learn first | grep -q ' contexts  context edges ' || fail "learn shows no contexts"

# In bursts from the middle of the program: nothing is learned that is not in the whole. (How much is learned depends on the time that is left for it.)
for run in 1 2 3; do
	"$TW" record -q --learn=bursts --learn-what=cct --budget=20% --period=10ms ./contexts 600
	[ $? = 5 ] || fail "record --learn-what=cct: exit status"
done
own bursts >own.txt
awk '/^context/ && ($2 != $3) { exit 1 }' own.txt || fail "learned, of these in the whole, in the whole: $(cat own.txt)"
"$TW" learn --json bursts | grep -q '"context_edges"' || fail "learn --json has no contexts"

# References: the recording stays.
"$TW" record -q --learn=refs --learn-what=refs --budget=50% ./contexts 100
[ $? = 5 ] || fail "record --learn-what=refs: exit status"
"$TW" info --json contexts.tw | python3 -c 'import json, sys; d = json.load(sys.stdin); assert d["format"] == "dep" and d["budget"]["period_ns"] == 10000000000' || fail "refs: format and period"
own refs | awk '/^references/ { n = 1; if ($2 < 10 || $2 != $3) exit 1 } END { exit !n }' || fail "references: $(own refs)"
"$TW" analyze mix contexts.tw >mix.out 2>mix.err || fail "analyze"
grep -q '^trackway analyze: this covers [0-9.]*% of the CPU time: the recording was made with a budget of 50% in 10s$' mix.err || fail "analyze does not say for what it stands: $(cat mix.err)"
record_refused "--learn-what=refs is not available in format 'dep-c'" -o refused.tw --learn=x --learn-what=refs -f dep-c
record_refused "--learn-what=cct is not available in format 'cf_bit'" -o refused.tw --learn=x --learn-what=cct -f cf_bit
record_refused "--learn-what wants blocks, branches, calls, all, cct or refs, not 'paths'" -o refused.tw --learn=x --learn-what=paths
