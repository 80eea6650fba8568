# Budgets: in some part of each period a program is recorded, in the rest it runs bare. Output, exit status and signals are as natively, whatever the format; what there is
# of it in the recording is right, reference by reference; what was left out is told, with the reason.
. "$(dirname "$0")/../lib.sh"
cc_program busy -O1 -pthread <<'END'
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
static volatile int ticks;
static int never[2];
static void tick(int s) { ticks += s; }
static int by_value(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
static unsigned work(unsigned seed)
{
	static __thread int a[2000];
	unsigned sum = 0;
	for (int turn = 0; turn < 5; turn++) {
		char text[100];
		for (int i = 0; i < 2000; i++)
			a[i] = (int)((seed = seed * 1103515245 + 12345) >> 8);
		qsort(a, 2000, sizeof *a, by_value);
		for (int i = 0; i < 2000; i++)
			sum += (unsigned)(a[i] * i);
		sum += (unsigned)snprintf(text, sizeof text, "%d %f", a[3], a[4] / 3.0);
	}
	return sum;
}
/* A call that waits, and is not to be broken off. */
static void *in_thread(void *p)
{
	unsigned sum = 0;
	for (int i = 0; i < 4; i++) {
		struct pollfd f = {never[0], POLLIN, 0};
		sum += work((unsigned)(long)p + (unsigned)i);
		if (poll(&f, 1, 2))
			write(2, "poll was broken off\n", 20);
	}
	return (void *)(long)sum;
}
int main(void)
{
	pthread_t t[3];
	unsigned sum = 0;
	struct itimerval each = {{0, 3000}, {0, 3000}}, none = {{0, 0}, {0, 0}};
	sigset_t alarm;
	pipe(never);
	signal(SIGALRM, tick);
	sigemptyset(&alarm);
	sigaddset(&alarm, SIGALRM);
	pthread_sigmask(SIG_BLOCK, &alarm, NULL);
	for (int i = 0; i < 3; i++)
		pthread_create(&t[i], NULL, in_thread, (void *)(long)(i * 7));
	pthread_sigmask(SIG_UNBLOCK, &alarm, NULL);
	setitimer(ITIMER_REAL, &each, NULL);
	for (unsigned k = 0; k < 3; k++) {
		int status;
		pid_t child = fork();
		if (!child)
			_exit((int)(work(k) % 100));
		while (waitpid(child, &status, 0) < 0)
			;
		sum += (unsigned)WEXITSTATUS(status) + work(k + 100);
	}
	for (int i = 0; i < 3; i++) {
		void *r;
		pthread_join(t[i], &r);
		sum += (unsigned)(long)r;
	}
	setitimer(ITIMER_REAL, &none, NULL);
	printf("%u\n", sum);
	return (int)(sum % 50);
}
END
budget_value() { # budget_value KEY...
	"$TW" info --json recording.tw | python3 -c '
import json, sys
d = json.load(sys.stdin)["budget"]
for k in sys.argv[1:]:
    d = d[k]
print(d)' "$@" || fail "info --json has no budget $*"
}

for options in "-f dep" "-f dep --budget-per=thread" "-f dep06" "-f cf_bit" "-f bb_pc --budget-per=thread"; do
	read -ra RECORD_OPTIONS <<<"$options --budget=20% --period=10ms"
	for _ in 1 2 3 4 5; do # where the first period cost much more than it may the program ends before there is time for another
		same_as_native ./busy
		check_good
		[ "$(budget_value opened)" -ge 2 ] && break
	done
	[ "$(budget_value asked) $(budget_value period_ns)" = "20% 10000000" ] || fail "$options: info does not tell what was asked for"
	[ "$(budget_value opened)" -ge 2 ] || fail "$options: recording was begun $(budget_value opened) times"
	"$TW" dump --raw recording.tw >raw
	grep -q 'event window 100000000' raw || fail "$options: the stream does not tell what was left out, and why"
	grep -q 'event window .*1' raw || fail "$options: the stream does not tell where recording goes on"
done

# What is there is what the program did.
for options in "-f dep --budget=20%" "-f dep --budget=2ms --budget-per=thread" "-f dep06 --budget=20%"; do
	read -ra RECORD_OPTIONS <<<"$options --period=10ms"
	verify_clean ./busy
done

# All that reads recordings reads this one.
RECORD_OPTIONS=(--budget=20% --period=10ms)
recorded ./busy
"$TW" info recording.tw >info.out
grep -q '^budget  *20% in each period of 10ms$' info.out || fail "info: $(grep ^budget info.out)"
grep -q '^recorded .*(budget)$' info.out || fail "info does not say what was left out"
"$TW" report recording.tw >report.out || fail "report"
grep -q '^budget 20% in 10ms: ' report.out || fail "report does not say for how much it stands"
"$TW" dump --order recording.tw | grep -q 'window-closed budget' || fail "dump --order does not tell what was left out"
for reader in "blocks" "analyze mix" "analyze cct" "analyze branches" "dump --refs" "dump --syscalls"; do
	# shellcheck disable=SC2086
	"$TW" $reader recording.tw >/dev/null || fail "$reader"
done
[ "$("$TW" sql recording.tw 'select count(*) > 1 and min(budget) from windows' 2>/dev/null | tail -n 1 | tr -d ' ')" = 1 ] || fail "sql: windows"

# A program that ends in the middle of a period has had that part of the share only, and a fifth of a second of it ahead of time. It says how much of its last period had gone by at most; where that is most of it, nothing shows.
cc_program until -O1 <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
static unsigned a[1 << 12];
static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}
int main(int argc, char **argv)
{
	const double end = argc > 1 ? atof(argv[1]) : 0;
	while (now() < end)
		for (unsigned i = 0; i < 1 << 16; i++)
			a[i * i & 4095] += i;
	printf("%f\n", now());
	return 0;
}
END
for _ in 1 2 3 4; do
	begun=$(./until)
	"$TW" record -q --budget=10% --period=1s -o part.tw ./until "$(awk -v b="$begun" 'BEGIN { printf "%f", b + 1.25 }')" >ended || fail "until: status $?"
	shares=$("$TW" info --json part.tw | python3 -c '
import json, sys
passed = (float(open("ended").read()) - float(sys.argv[1])) % 1
periods = json.load(sys.stdin)["budget"]["periods"]
used, cpu = [p["used_ns"] / 1e9 for p in periods], [p["cpu_ns"] / 1e9 for p in periods]
print(0 if len(used) < 2 or passed > .6 or used[-1] < .1 / 1.1 * cpu[-2] * (passed + .2) + .005 else 1, *used, *cpu, passed)' "$begun")
	[ "${shares%% *}" = 0 ] && break
done
[ "${shares%% *}" = 0 ] || fail "used in each period, and how much of the last had gone by: ${shares#* }"

# A budget that is never spent leaves nothing out.
cc_program short -O1 <<'END'
#include <stdio.h>
int main(void) { return printf("short\n") != 6; }
END
RECORD_OPTIONS=(--budget=1000% --period=1000s)
same_as_native ./short
"$TW" dump --raw recording.tw | grep -q 'event window' && fail "something was left out of a short program with a large budget"

refused() { # refused SENTENCE OPTION...
	local sentence=$1 status=0
	shift
	"$TW" record -o refused.tw "$@" true >refused.out 2>refused.err || status=$?
	[ $status = 125 ] || fail "record $*: exit status $status"
	grep -qF -- "$sentence" refused.err || fail "record $*: $(cat refused.err)"
}
refused "--budget wants a share from 0.1% to 1000% or a time from 100us, not '10'" --budget=10
refused "--budget wants" --budget=0%
refused "--budget wants" --budget=fast
refused "--period wants a time from 1ms to 1000s, such as 500ms, not '10%'" --budget=10% --period=10%
refused "the period is shorter than --budget '2s'" --budget=2s --period=1s
refused "--budget is required for '--period'" --period=1s
refused "--budget is required for '--budget-per'" --budget-per=thread
refused "--budget-per wants program or thread, not 'process'" --budget=10% --budget-per=process
refused "--budget cannot be combined with '--start'" --budget=10% --start=main
refused "--budget has no effect in format 'none'" --budget=10% -f none
