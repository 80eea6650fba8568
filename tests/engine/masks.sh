# sigsuspend, ppoll, pselect, epoll_pwait: the mask in force while a handler runs that ended the call, the mask it returns to, and what is pending after.
. "$(dirname "$0")/../lib.sh"
cc_program masks -D_GNU_SOURCE <<'END'
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

enum { USR1 = 1ull << (SIGUSR1 - 1), USR2 = 1ull << (SIGUSR2 - 1), ALRM = 1ull << (SIGALRM - 1), SEGV = 1ull << (SIGSEGV - 1), HUP = 1 };

static int epoll_fd, ready[2];
static sigjmp_buf back;
static int jump;

static uint64_t bits(const sigset_t *s)
{
	uint64_t v;
	memcpy(&v, s, 8);
	return v;
}

static uint64_t now(void)
{
	sigset_t s;
	sigprocmask(SIG_BLOCK, NULL, &s);
	return bits(&s);
}

static uint64_t pending(void)
{
	sigset_t s;
	sigpending(&s);
	return bits(&s);
}

static void handler(int signo, siginfo_t *info, void *context)
{
	(void)info;
	printf("  handler %d: mask %lx, returns to %lx, pending %lx\n", signo, now(), bits(&((ucontext_t *)context)->uc_sigmask), pending());
	if (jump)
		siglongjmp(back, 1);
}

static void handle(int signo, uint64_t mask, int flags)
{
	struct sigaction a = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | flags};
	memcpy(&a.sa_mask, &mask, 8);
	sigaction(signo, &a, NULL);
}

static long call(int which, uint64_t mask)
{
	static struct timespec no_time, long_time = {5, 0};
	struct { const void *set; size_t size; } both = {&mask, 8};
	struct pollfd p = {ready[0], POLLIN, 0};
	struct epoll_event e;
	fd_set r;
	FD_ZERO(&r);
	FD_SET(ready[0], &r);
	switch (which) {
	case 0:
		return syscall(SYS_rt_sigsuspend, &mask, 8);
	case 1:
		return syscall(SYS_ppoll, &p, 1, &long_time, &mask, 8);
	case 2:
		return syscall(SYS_pselect6, ready[0] + 1, &r, NULL, NULL, &long_time, &both);
	case 3:
		return syscall(SYS_epoll_pwait, epoll_fd, &e, 1, 5000, &mask, 8);
	case 4:
		return syscall(SYS_epoll_pwait2, epoll_fd, &e, 1, &long_time, &mask, 8);
	case 5:
		return syscall(SYS_ppoll, &p, 1, &no_time, &mask, 8);
	case 6:
		return syscall(SYS_ppoll, &p, 1, &no_time, &mask, 4);
	default:
		return syscall(SYS_ppoll, &p, 1, &no_time, (void *)8, 8);
	}
}

static void show(const char *what, int which, uint64_t mask)
{
	errno = 0;
	long r = call(which, mask);
	int e = errno;
	printf("%s %d: %ld %d, mask %lx, pending %lx\n", what, which, r, e, now(), pending());
}

static void set_mask(uint64_t mask)
{
	sigset_t s;
	sigemptyset(&s);
	memcpy(&s, &mask, 8);
	sigprocmask(SIG_SETMASK, &s, NULL);
}

int main(void)
{
	struct itimerval soon = {{0, 0}, {0, 30000}};
	if (pipe(ready))
		return 1;
	epoll_fd = epoll_create1(0);
	struct epoll_event e = {.events = EPOLLIN};
	epoll_ctl(epoll_fd, EPOLL_CTL_ADD, ready[0], &e);
	handle(SIGUSR1, HUP, 0);
	handle(SIGUSR2, 0, SA_NODEFER | SA_RESTART);
	handle(SIGALRM, USR2, SA_RESTART);
	handle(SIGSEGV, 0, 0);
	for (int which = 0; which < 5; which++) {
		set_mask(USR1 | USR2 | ALRM | SEGV);
		/* pending before, let in by the call */
		raise(SIGUSR1);
		show("one", which, USR2 | SEGV);
		/* two at once: the second is on top of the first's handler, or after it */
		raise(SIGUSR1);
		raise(SIGUSR2);
		show("two", which, ALRM);
		/* the first one's handler keeps the second out */
		raise(SIGUSR2);
		setitimer(ITIMER_REAL, &soon, NULL);
		usleep(60000);
		show("kept out", which, USR1 | USR2);
		show("then", which, USR1 | ALRM);
		/* comes while it waits */
		setitimer(ITIMER_REAL, &soon, NULL);
		show("while", which, USR1 | USR2);
		/* a child sends two, with the whole mask open */
		fflush(stdout);
		pid_t child = fork();
		if (!child) {
			usleep(30000);
			kill(getppid(), SIGUSR1);
			_exit(0);
		}
		show("child", which, HUP);
		waitpid(child, NULL, 0);
		/* the number of a fault */
		raise(SIGSEGV);
		show("number of a fault", which, USR1);
		/* away with siglongjmp */
		jump = 1;
		if (!sigsetjmp(back, 1)) {
			raise(SIGUSR1);
			call(which, 0);
		}
		jump = 0;
		printf("jumped %d: mask %lx, pending %lx\n", which, now(), pending());
		set_mask(0);
		printf("open %d: mask %lx\n", which, now());
	}
	/* nothing to wait for: the signal stays pending; and calls that fail */
	set_mask(USR1);
	raise(SIGUSR1);
	if (write(ready[1], "x", 1) != 1)
		return 1;
	for (int which = 1; which < 8; which++)
		show("ready", which, which < 6 ? USR1 : 0);
	/* unblocked in both */
	set_mask(0);
	show("open", 5, USR2);
	return 0;
}
END
whole ./masks
RECORD_OPTIONS=(-f none)
same_as_native ./masks
