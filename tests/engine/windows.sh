# Windows: recording starts and stops at a function, an address, a time, a count; just what lies between is recorded, and the program is as natively.
. "$(dirname "$0")/../lib.sh"
cc_program places -no-pie <<'END'
#include <stdio.h>
#include <stdlib.h>
volatile int a[100];
__attribute__((noinline)) void work(int n)
{
	for (int i = 0; i < n; i++)
		a[i % 100] += i;
}
__attribute__((noinline)) void begin(void) { a[1]++; }
__attribute__((noinline)) void end(void) { a[2]++; }
int main(int argc, char **argv)
{
	int n = atoi(argv[argc - 1]);
	for (int k = 0; k < n; k++) {
		work(500);
		begin();
		work(70);
		end();
	}
	printf("%d\n", a[5]);
	return 3;
}
END
same_as_native ./places 20
all=$(info_value instructions)

# From a function to a function: each time what lies between, neither more nor less.
"$TW" dump --blocks recording.tw >all.blocks
begin=$(nm places | sed -n 's/^0*\([0-9a-f]*\) T begin$/\1/p') end=$(nm places | sed -n 's/^0*\([0-9a-f]*\) T end$/\1/p')
awk -v b="$begin" -v e="$end" '$2 == b { on = 1 } $2 == e { on = 0 } on' all.blocks >expected.blocks
[ "$(grep -c " $begin " expected.blocks)" = 20 ] || fail "the whole recording has not the 20 calls"
for window in "--start=begin --stop=end" "--start=places!begin --stop=0x$end" "--start=0x$begin --stop=places!end"; do
	read -ra RECORD_OPTIONS <<<"$window"
	whole ./places 20
	[ "$(info_value windows)" = 20 ] || fail "$window: opened $(info_value windows) times"
	"$TW" dump --blocks recording.tw >found.blocks
	cut -d ' ' -f 2- found.blocks | cmp -s - <(cut -d ' ' -f 2- expected.blocks) || {
		diff <(cut -d ' ' -f 2- expected.blocks) <(cut -d ' ' -f 2- found.blocks) | head
		fail "$window: not the blocks between"
	}
done
"$TW" dump --raw recording.tw | grep -c 'event window 1' | grep -qx 20 || fail "the stream does not tell where windows open"
"$TW" info recording.tw | grep -q "^window  *0x$begin to places!end, opened 20 times" || fail "info does not tell of the window"
"$TW" report recording.tw >report.out || fail "report"

# To a function, and from one to the end, add up to everything. The function of another module, of the loader's making.
RECORD_OPTIONS=(--stop=begin)
whole ./places 20
before=$(info_value instructions)
RECORD_OPTIONS=(--start=begin)
whole ./places 20
# (addresses of environment and stack differ a little from run to run, and what ld.so does with them)
difference=$((before + $(info_value instructions) - all))
[ ${difference#-} -lt 2000 ] || fail "$before to the function, $(info_value instructions) from there, but $all in all"
RECORD_OPTIONS=(--start=libc.so.6!printf)
whole ./places 20
[ "$(info_value windows)" = 1 ] || fail "printf of libc did not open the window"

# A count: just so many instructions are missing, up to the block's end.
RECORD_OPTIONS=(--start=50ki)
whole ./places 20
difference=$((all - $(info_value instructions) - 50000))
[ ${difference#-} -lt 2000 ] || fail "started $((all - $(info_value instructions))) instructions late instead of 50000"

# Superblocks, signals, threads that come and go, children; the window opens and closes under them all.
cc_program busy -pthread <<'END'
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
static volatile long sum[8];
static volatile int ticks;
static void tick(int s) { ticks += s; }
__attribute__((noinline)) void begin(void) { __asm__ volatile("" ::: "memory"); }
__attribute__((noinline)) void end(void) { __asm__ volatile("" ::: "memory"); }
static void *run(void *p)
{
	long k = (long)p;
	for (int i = 0; i < 200; i++) {
		if (k == 0)
			begin();
		for (int j = 0; j < 2000; j++)
			sum[k] += j ^ i;
		if (k == 0)
			end();
		for (int j = 0; j < 2000; j++)
			sum[k] += j | i;
		if (i % 50 == 20 && k == 1) {
			pid_t c = fork();
			if (!c) {
				begin();
				for (int j = 0; j < 300; j++)
					sum[7] += j;
				end();
				_exit(5);
			}
			int s;
			while (waitpid(c, &s, 0) != c)
				;
			sum[6] += s;
		}
	}
	return NULL;
}
int main(void)
{
	pthread_t t[3];
	struct sigaction a = {.sa_handler = tick, .sa_flags = SA_RESTART};
	struct itimerval v = {{0, 2000}, {0, 2000}};
	sigaction(SIGALRM, &a, NULL);
	setitimer(ITIMER_REAL, &v, NULL);
	for (long i = 0; i < 3; i++)
		pthread_create(&t[i], NULL, run, (void *)i);
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	printf("%ld %ld %ld %ld\n", sum[0], sum[1], sum[2], sum[6]);
	return 0;
}
END
RECORD_OPTIONS=(--start=begin --stop=end)
whole ./busy
[ "$(info_value windows)" -ge 200 ] || fail "the window was opened $(info_value windows) times"
RECORD_OPTIONS=(-f call --start=begin --stop=end)
whole ./busy

# Times, with threads that compute without a system call, and one that sleeps and must not be woken. It goes by what the window's events say.
cc_program spin -pthread <<'END'
#include <pthread.h>
#include <stdio.h>
#include <time.h>
static long now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}
static volatile int stop;
static void *spin(void *p)
{
	while (!stop)
		;
	return p;
}
int main(void)
{
	pthread_t t[2];
	struct timespec s = {1, 0};
	for (int i = 0; i < 2; i++)
		pthread_create(&t[i], NULL, spin, NULL);
	long begin = now();
	int failed = nanosleep(&s, NULL);
	long slept = now() - begin;
	stop = 1;
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	printf("slept %d %d\n", failed, slept >= 1000 && slept < 1500);
	return 0;
}
END
RECORD_OPTIONS=(--start=300ms --stop=0.6s)
same_as_native ./spin
check_good
[ "$(info_value windows)" = 1 ] || fail "the window of time did not open once"
for thread in 1 2; do # the two that compute
	"$TW" dump --raw --thread $thread recording.tw | awk '$2 == "window" { print $3 }' | tr '\n' ' ' | grep -qx '0 1 0 ' ||
		fail "thread $thread: $("$TW" dump --raw --thread $thread recording.tw | grep 'event window')"
done
[ "$("$TW" dump --raw --thread 0 recording.tw | grep -c 'event window 1')" = 0 ] || fail "the thread that slept was woken"
RECORD_OPTIONS=(--stop=1Mi)
same_as_native ./spin
check_good
stopped_at() { # stopped_at COUNT: so many instructions were recorded, or up to a superblock's more
	check_good
	[ "$(info_value instructions)" -ge "$1" ] || fail "${RECORD_OPTIONS[*]}: stopped before the count"
	[ "$(info_value instructions)" -le $(($1 + 240)) ] || fail "${RECORD_OPTIONS[*]}: $(info_value instructions) instructions, not stopped at the count"
}
stopped_at 1000000
"$TW" dump --raw --thread 1 recording.tw | grep -q 'event window 0' || fail "did not stop at the count"
# in every form of buffer, within the first one and within a later one
for RECORD_OPTIONS in "--stop=300000i" "-f dep06 --stop=300001i" "-f cf_bit --stop=300002i" "-f bb_pc+mem_addr --stop=2000000i" "--verify --stop=300003i" "--hot=1 --stop=3000000i" "-f dep-c --hot=1 --stop=3000001i"; do
	# shellcheck disable=SC2206 # options
	RECORD_OPTIONS=($RECORD_OPTIONS)
	same_as_native ./places 2000
	count=${RECORD_OPTIONS[-1]#--stop=}
	stopped_at "${count%i}"
	"$TW" dump --raw recording.tw | awk '$2 == "window" { if ($3 == 0) n++; else bad = 1 } END { exit bad || n != 1 }' ||
		fail "${RECORD_OPTIONS[*]}: the stream does not say once that it stops"
done

# What cannot be.
RECORD_OPTIONS=()
run out err "$TW" record -q -o never.tw --start=no_such_function ./places 1
[ $? = 3 ] || fail "the program's status is lost"
grep -qx 'trackway: nothing was recorded: no_such_function was not found' err || fail "$(cat err)"
run out err "$TW" record -q -o never.tw --start=0x123456 ./places 1
grep -qx 'trackway: nothing was recorded: 0x123456 was not reached' err || fail "$(cat err)"
run out err "$TW" record -q -o never.tw --start=2s --stop=2.2s sleep 3 # which has begun to sleep after two seconds, also on a busy machine
grep -qx 'trackway: nothing was recorded: no code of the program ran after 2s and before 2.2s' err || fail "$(cat err)"
run out err "$TW" record -q -o never.tw --stop=no_such_function ./places 1
grep -qx 'trackway: recording went on to the end: no_such_function was not found' err || fail "$(cat err)"
one_sentence "$TW" record --start=12 true
says 'function'
one_sentence "$TW" record --start=f --stop=f true
says 'both'
one_sentence "$TW" record -f none --start=f true
says 'none'
exit 0
