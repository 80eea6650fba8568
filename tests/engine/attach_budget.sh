# record --pid with --budget: a process is taken within a budget and let go, again and again, while its timers run. It goes on as if nothing had been, and what was recorded is whole.
. "$(dirname "$0")/../lib.sh"
need_ptrace
need_command python3

cc_program sums -pthread <<'EOF'
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
static volatile int stop;
static unsigned turn(unsigned seed)
{
	unsigned a[64], sum = 0;
	for (unsigned i = 0; i < 64; i++)
		a[i] = seed = seed * 1103515245 + 12345;
	for (unsigned i = 0; i < 64; i++)
		sum += a[i] >> (a[63 - i] & 15);
	return sum;
}
/* Each turn has one result. */
static void *in_thread(void *wrong)
{
	while (!stop)
		for (unsigned i = 0; i < 2000; i++)
			*(long *)wrong += turn(7) != turn(7);
	return wrong;
}
int main(void)
{
	long wrong[2] = {0, 0};
	pthread_t other;
	pthread_create(&other, NULL, in_thread, &wrong[0]);
	while (access("stop", F_OK))
		wrong[1] += turn(7) != turn(7);
	stop = 1;
	pthread_join(other, NULL);
	printf("%ld wrong\n", wrong[0] + wrong[1]);
	return 9;
}
EOF
./sums >sums.out 2>sums.err &
PID=$!
for round in 1 2 3 4; do
	"$TW" record -q --names=later -f dep -o "$round.tw" --pid=$PID --budget=60% --period=20ms >record.out 2>record.err &
	recorder=$!
	until "$TW" stop $PID >stop.out 2>stop.err; do
		kill -0 $PID 2>/dev/null || fail "round $round: the process has died"
		kill -0 $recorder 2>/dev/null || fail "round $round: $(cat record.err stop.err)"
		sleep 0.1
	done
	wait $recorder || fail "round $round: record: status $?, $(cat record.err)"
	"$TW" check -q "$round.tw" || fail "round $round: check"
	[ "$("$TW" info --json "$round.tw" | python3 -c 'import json, sys; print(json.load(sys.stdin)["budget"]["asked"])')" = 60% ] || fail "round $round: info does not tell of the budget"
	rm -rf "$round.tw"
done
touch stop
wait $PID
[ $? = 9 ] || fail "the process ended with another status"
[ "$(cat sums.out)" = "0 wrong" ] || fail "the process computed something else: $(cat sums.out)"
