# The vDSO: time goes on, and at the right speed.
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
	clock_gettime(CLOCK_REALTIME, &r);
	gettimeofday(&v, NULL);
	printf("%d %d %d %d %d\n", backwards, ms >= 99 && ms < 5000, time(NULL) - r.tv_sec <= 1, v.tv_sec - r.tv_sec <= 1, sched_getcpu() >= 0);
	return 0;
}
END
whole ./clocks
