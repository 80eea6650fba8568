# The vDSO, and the vsyscall page of old programs: time goes on, and at the right speed.
. "$(dirname "$0")/../lib.sh"
cc_program clocks -D_GNU_SOURCE <<'END'
#include <sched.h>
#include <stdio.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
int main(void)
{
	struct timespec last = {0, 0}, t, r;
	struct timeval v;
	int backwards = 0;
	for (int i = 0; i < 2000; i++) {
		clock_gettime(CLOCK_MONOTONIC, &t);
		backwards += t.tv_sec < last.tv_sec || (t.tv_sec == last.tv_sec && t.tv_nsec < last.tv_nsec);
		last = t;
	}
	usleep(100000);
	clock_gettime(CLOCK_MONOTONIC, &t);
	long ms = (t.tv_sec - last.tv_sec) * 1000 + (t.tv_nsec - last.tv_nsec) / 1000000;
	time_t first = time(NULL); /* of the last tick: up to a second back where one has just begun */
	clock_gettime(CLOCK_REALTIME, &r);
	gettimeofday(&v, NULL);
	time_t end = time(NULL) + 1;
	printf("%d %d %d %d %d\n", backwards, ms >= 99, r.tv_sec >= first && r.tv_sec <= end, v.tv_sec >= r.tv_sec && v.tv_sec <= end, sched_getcpu() >= 0);
	return 0;
}
END
whole ./clocks

grep -q 'xp .*vsyscall' /proc/self/maps || exit 0
cc_program old -O2 <<'END'
#include <stdio.h>
#include <sys/time.h>
#include <time.h>
static long (*volatile old_time)(long *) = (long (*)(long *))0xffffffffff600400;
static int (*volatile old_gettimeofday)(struct timeval *, void *) = (int (*)(struct timeval *, void *))0xffffffffff600000;
static int (*volatile old_getcpu)(unsigned *, unsigned *, void *) = (int (*)(unsigned *, unsigned *, void *))0xffffffffff600800;
int main(void)
{
	long bad = 0, t = 0;
	for (int k = 0; k < 3000; k++) {
		struct timeval v = {0, 0};
		unsigned cpu = 9999;
		long now = time(NULL), r = old_time(&t);
		bad += r != t || t < now || old_gettimeofday(&v, NULL) || v.tv_sec < now || v.tv_usec > 999999;
		now = time(NULL);
		bad += t > now || v.tv_sec > now + 1;
		bad += old_getcpu(&cpu, NULL, NULL) || cpu > 4096;
	}
	printf("%ld\n", bad);
	return (int)bad;
}
END
whole ./old
for format in dep-c dep06 cf_bit bb_pc+mem_addr; do
	"$TW" record -q -f $format -o r.tw ./old >out || fail "$format: status $?"
	"$TW" check -q r.tw || fail "check of $format"
done

# What is no entry, and arguments that cannot be written to: SIGSEGV, as the kernel forces it.
cc_program wrong <<'END'
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>
static sigjmp_buf back;
static void handler(int signo, siginfo_t *info, void *context)
{
	(void)context;
	printf("signal %d, code %d\n", signo, info->si_code);
	siglongjmp(back, 1);
}
int main(void)
{
	int (*volatile old_gettimeofday)(struct timeval *, void *) = (int (*)(struct timeval *, void *))0xffffffffff600000;
	void (*volatile nothing)(void) = (void (*)(void))0xffffffffff600100;
	struct sigaction a = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
	sigaction(SIGSEGV, &a, NULL);
	if (!sigsetjmp(back, 1))
		printf("%d\n", old_gettimeofday((struct timeval *)8, NULL));
	if (!sigsetjmp(back, 1))
		nothing();
	return 4;
}
END
whole ./wrong
