# Signals all the time while a program makes system calls: each call is made once, whatever it was about to do when a signal came.
. "$(dirname "$0")/../lib.sh"
cc_program calls <<'END'
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>
static volatile sig_atomic_t ticks;
static void tick(int s) { (void)s; ticks++; }
int main(void)
{
	struct sigaction a = {.sa_handler = tick};
	struct itimerval t = {{0, 100}, {0, 100}};
	long parent = getppid(), lost = 0;
	sigaction(SIGALRM, &a, NULL);
	setitimer(ITIMER_REAL, &t, NULL);
	while (ticks < 3000) {
		long r = SYS_getppid;
		__asm__ volatile("jmp 1f\n1: syscall" : "+a"(r) : : "rcx", "r11", "memory");
		lost += r != parent;
	}
	printf("%ld calls lost\n", lost);
	return 0;
}
END
whole ./calls
RECORD_OPTIONS=(-f none)
same_as_native ./calls
