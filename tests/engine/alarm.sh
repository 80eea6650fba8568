# SIGALRM from an interval timer, delivered in tight loops, in system calls, and with the registers of the loop whole.
. "$(dirname "$0")/../lib.sh"
cc_program ticks <<'END'
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
static volatile sig_atomic_t ticks;
static void tick(int s) { (void)s; ticks++; }
int main(void)
{
	struct sigaction a = {.sa_handler = tick};
	struct itimerval t = {{0, 5000}, {0, 5000}};
	sigaction(SIGALRM, &a, NULL);
	setitimer(ITIMER_REAL, &t, NULL);
	/* a loop of one block with nothing but registers and one load */
	uint64_t n = 0, check = 0;
	__asm__ volatile("1: add $1, %0\n\tadd %0, %1\n\tcmpl $20, %2\n\tjl 1b" : "+r"(n), "+r"(check) : "m"(ticks) : "cc");
	printf("%s\n", check == n * (n + 1) / 2 ? "registers whole" : "registers broken");
	/* system calls are interrupted, or restarted */
	int before = ticks;
	struct timespec s = {10, 0};
	printf("%d\n", nanosleep(&s, NULL) == -1 && errno == EINTR && ticks > before);
	int fd[2];
	char c;
	if (pipe(fd))
		return 1;
	printf("%d\n", read(fd[0], &c, 1) == -1 && errno == EINTR);
	a.sa_flags = SA_RESTART;
	sigaction(SIGALRM, &a, NULL);
	before = ticks;
	if (!fork()) {
		usleep(60000);
		_exit(write(fd[1], "x", 1) != 1);
	}
	int got = (int)read(fd[0], &c, 1);
	printf("%d %d\n", got, ticks > before);
	/* in libc, for a while */
	double sum = 0;
	char text[64];
	for (before = ticks; ticks < before + 10;)
		sum += snprintf(text, sizeof text, "%f", sum);
	t = (struct itimerval){{0, 0}, {0, 0}};
	setitimer(ITIMER_REAL, &t, NULL);
	sigset_t alarms, before_it;
	sigemptyset(&alarms);
	sigaddset(&alarms, SIGALRM);
	sigprocmask(SIG_BLOCK, &alarms, &before_it);
	alarm(1);
	sigsuspend(&before_it);
	puts("end");
	return 0;
}
END
whole ./ticks
