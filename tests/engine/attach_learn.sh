# record --pid with --learn: a process that runs already tells what it comes by, is let go, and is learned of again. What it did before it was taken is not learned, it goes on unharmed.
. "$(dirname "$0")/../lib.sh"
need_ptrace
need_command python3

cc_program steps -pthread <<'EOF'
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
__attribute__((noipa)) int before(int n) { return n * 3; }
__attribute__((noipa)) int one(int n) { return n + 5; }
__attribute__((noipa)) int two(int n) { return n ^ 7; }
__attribute__((noipa)) int in_thread(int n) { return n - 1; }
static int is_there(const char *name) { return !access(name, F_OK); }
static void *run(void *p)
{
	int sum = 0;
	while (!is_there("stop"))
		sum = in_thread(sum);
	return p;
}
int main(void)
{
	pthread_t other;
	int sum = before(1);
	pthread_create(&other, NULL, run, NULL);
	fclose(fopen("ready", "w"));
	while (!is_there("stop"))
		sum = is_there("second") ? two(sum) : one(sum);
	pthread_join(other, NULL);
	puts("done");
	return 9;
}
EOF
./steps >steps.out &
PID=$!
until [ -f ready ]; do sleep 0.02; done
# learned_functions: names of the program's own functions that were learned
learned_functions() {
	"$TW" learn --functions --json learned | python3 -c '
import json, sys
print(*sorted(r["function"] for r in json.load(sys.stdin)["functions"] if r["function"] in ("before", "one", "two", "in_thread")))'
}
take() { # take FUNCTION...: learns until these are known
	local recorder tries=0
	while :; do
		"$TW" record -q --learn=learned --budget=50% --pid=$PID 2>record.err &
		recorder=$!
		until "$TW" stop $PID >stop.out 2>stop.err; do
			kill -0 $recorder 2>/dev/null || fail "record --pid --learn: $(cat record.err stop.err)"
			sleep 0.05
		done
		wait $recorder || fail "record --pid --learn: status $?: $(cat record.err)"
		[ "$(learned_functions)" = "$*" ] && return
		[ $((tries += 1)) -lt 20 ] || fail "learned: $(learned_functions), not $*"
	done
}
take in_thread one
touch second
take in_thread one two
kill -0 $PID || fail "the process has died"
touch stop
wait $PID
[ $? = 9 ] || fail "the process ended with another status"
[ "$(cat steps.out)" = "done" ] || fail "the process wrote something else"
"$TW" record --learn=learned --runs=2 --pid=$$ 2>refused.err
[ $? = 125 ] && grep -qF -- "--runs cannot be combined with '--pid'" refused.err || fail "--runs with --pid: $(cat refused.err)"
