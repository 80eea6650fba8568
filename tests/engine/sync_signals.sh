# SIGSEGV, SIGILL, SIGTRAP, SIGBUS and SIGFPE when they are sent: SIG_IGN drops what is pending, another thread that waits, polls or reads a signalfd gets what the process was
# sent, a child's end is no fault, and another program finds what was ignored and pending.
# timeout: 300
. "$(dirname "$0")/../lib.sh"
ulimit -c 0
[ -r /proc/self/syscall ] || skip "no /proc/PID/syscall here"
cc_program sync -D_GNU_SOURCE -pthread <<'END'
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>
static const int all[] = {SIGILL, SIGTRAP, SIGBUS, SIGFPE, SIGSEGV};
enum { N = 5 };
static volatile int got, code, value;
static void handler(int s, siginfo_t *i, void *u)
{
	(void)u;
	got = s;
	code = i->si_code;
	value = i->si_code == SI_QUEUE ? i->si_value.sival_int : 0;
}
static sigset_t five(void)
{
	sigset_t set;
	sigemptyset(&set);
	for (int i = 0; i < N; i++)
		sigaddset(&set, all[i]);
	return set;
}
static void act(int s, void (*h)(int), int flags)
{
	struct sigaction a = {.sa_handler = h, .sa_flags = flags};
	sigaction(s, &a, NULL);
}
static void act_info(int s)
{
	struct sigaction a = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
	sigaction(s, &a, NULL);
}
static void queue(int s, int v)
{
	sigqueue(getpid(), s, (union sigval){.sival_int = v});
}
static void say_pending(const char *what)
{
	sigset_t p;
	sigpending(&p);
	printf("%s: ", what);
	for (int i = 0; i < N; i++)
		printf("%d", sigismember(&p, all[i]));
	printf("\n");
}
/* Waits until a thread stands in a call. */
static void await(pid_t tid, long nr)
{
	char path[64], text[64];
	do {
		snprintf(path, sizeof path, "/proc/self/task/%d/syscall", tid);
		FILE *f = fopen(path, "r");
		if (!f || !fgets(text, sizeof text, f))
			text[0] = 0;
		if (f)
			fclose(f);
	} while (!(text[0] >= '0' && text[0] <= '9' && atol(text) == nr));
}

/* SIG_IGN drops what is pending, and what comes later is not hidden by it. */
static void stale(void)
{
	sigset_t set = five();
	siginfo_t info;
	struct timespec now = {0, 0};
	sigprocmask(SIG_BLOCK, &set, NULL);
	for (int i = 0; i < N; i++) {
		act_info(all[i]);
		kill(getpid(), all[i]);
		raise(all[i]);
	}
	say_pending("sent");
	for (int i = 0; i < N; i++)
		act(all[i], SIG_IGN, 0);
	say_pending("ignored");
	for (int i = 0; i < N; i++) {
		act_info(all[i]);
		queue(all[i], 100 + i);
		queue(all[i], 200 + i); /* one is kept of each number */
	}
	say_pending("queued");
	int n = sigtimedwait(&set, &info, &now);
	printf("wait %d code %d value %d\n", n, info.si_code, info.si_value.sival_int);
	for (int i = 0; i < N; i++) {
		sigset_t one;
		sigemptyset(&one);
		sigaddset(&one, all[i]);
		got = code = value = 0;
		sigprocmask(SIG_UNBLOCK, &one, NULL);
		printf("%d code %d value %d\n", got, code, value);
	}
	/* Ignored and blocked: kept until it is unblocked. */
	sigprocmask(SIG_BLOCK, &set, NULL);
	for (int i = 0; i < N; i++) {
		act(all[i], SIG_IGN, 0);
		kill(getpid(), all[i]);
	}
	say_pending("ignored and blocked");
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	say_pending("let in");
}

/* One for the process and one for the thread: two. */
static void both(void)
{
	sigset_t set = five();
	siginfo_t info;
	struct timespec now = {0, 0};
	sigprocmask(SIG_BLOCK, &set, NULL);
	act_info(SIGFPE);
	queue(SIGFPE, 1);
	raise(SIGFPE);
	for (int i = 0; i < 3; i++) {
		int n = sigtimedwait(&set, &info, &now);
		printf("both: %d code %d\n", n, n > 0 ? info.si_code : 0);
	}
	sigprocmask(SIG_UNBLOCK, &set, NULL);
}

/* ---- another thread, which waits, gets what is sent to the process ---- */

enum waits { WAIT, TIMED, READ, READV, POLL, SELECT, EPOLL, SUSPEND, PPOLL, WAYS };
static const long calls[] = {SYS_rt_sigtimedwait, SYS_rt_sigtimedwait, SYS_read, SYS_readv, SYS_poll, SYS_pselect6, SYS_epoll_wait, SYS_rt_sigsuspend, SYS_ppoll};
static volatile pid_t tid;
static int sfd;
static void *waiter(void *arg)
{
	const enum waits way = (enum waits)(long)arg;
	sigset_t set = five(), none;
	siginfo_t info;
	struct timespec minute = {60, 0};
	struct signalfd_siginfo s[2];
	struct iovec v = {s, sizeof s};
	struct pollfd p = {sfd, POLLIN, 0};
	fd_set fds;
	struct epoll_event e = {.events = EPOLLIN};
	long r = 0;
	int ep = epoll_create1(0);
	memset(&info, 0, sizeof info);
	sigemptyset(&none);
	FD_ZERO(&fds);
	FD_SET(sfd, &fds);
	epoll_ctl(ep, EPOLL_CTL_ADD, sfd, &e);
	tid = (pid_t)syscall(SYS_gettid);
	switch (way) {
	case WAIT:
		r = sigwaitinfo(&set, &info);
		break;
	case TIMED:
		r = sigtimedwait(&set, &info, &minute);
		break;
	case READ:
		r = read(sfd, s, sizeof s);
		break;
	case READV:
		r = readv(sfd, &v, 1);
		break;
	case POLL:
		r = poll(&p, 1, -1);
		break;
	case SELECT:
		r = select(sfd + 1, &fds, NULL, NULL, NULL);
		break;
	case EPOLL:
		r = epoll_wait(ep, &e, 1, -1);
		break;
	case SUSPEND:
		r = sigsuspend(&none);
		break;
	default:
		r = ppoll(&p, 0, NULL, &none);
	}
	int error = r < 0 ? errno : 0;
	if (way == POLL || way == SELECT || way == EPOLL)
		r = r * 1000 + read(sfd, s, sizeof s);
	printf("way %d: %ld error %d", way, r, error);
	if (way <= TIMED)
		printf(", code %d value %d", info.si_code, info.si_value.sival_int);
	else if (way < SUSPEND)
		printf(", signal %d code %d value %d from here %d", s[0].ssi_signo, s[0].ssi_code, s[0].ssi_int, (pid_t)s[0].ssi_pid == getpid());
	else
		printf(", ran %d code %d", got, code);
	printf("\n");
	close(ep);
	return NULL;
}
static void taken_by_another(void)
{
	sigset_t set = five();
	sfd = signalfd(-1, &set, 0);
	sigprocmask(SIG_BLOCK, &set, NULL);
	for (int i = 0; i < N; i++)
		act_info(all[i]);
	for (int k = 0; k < 3 * WAYS; k++) {
		const enum waits way = k % WAYS;
		const int s = all[k % N];
		pthread_t t;
		tid = 0;
		got = code = 0;
		if (k >= 2 * WAYS && way < SUSPEND) /* it is there before */
			kill(getpid(), s);
		pthread_create(&t, NULL, waiter, (void *)(long)way);
		if (k < 2 * WAYS || way >= SUSPEND) {
			while (!tid)
				;
			await(tid, calls[way]);
			if (k < WAYS)
				kill(getpid(), s);
			else
				queue(s, k);
		}
		pthread_join(t, NULL);
		say_pending("left");
	}
	close(sfd);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
}

/* A signal of a child's end has codes that faults have, too; it finds the program computing. */
static void child_ends(int blocked)
{
	sigset_t set = five();
	sigprocmask(blocked ? SIG_BLOCK : SIG_UNBLOCK, &set, NULL);
	for (int i = 0; i < N; i++) {
		act_info(all[i]);
		got = code = 0;
		pid_t pid = (pid_t)syscall(SYS_clone, (long)all[i], NULL, NULL, NULL, NULL);
		if (!pid)
			_exit(3);
		sigset_t p;
		if (blocked)
			do
				sigpending(&p);
			while (!sigismember(&p, all[i]));
		else
			while (!got)
				;
		waitpid(pid, NULL, __WALL);
		sigprocmask(SIG_UNBLOCK, &set, NULL);
		printf("child: %d code %d\n", got, code);
		if (blocked)
			sigprocmask(SIG_BLOCK, &set, NULL);
	}
	sigprocmask(SIG_UNBLOCK, &set, NULL);
}

/* What another program finds: what is ignored, and what is pending, and whose. */
static void execs(char *self)
{
	sigset_t set = five();
	if (fork()) {
		wait(NULL);
		return;
	}
	act(SIGTRAP, SIG_IGN, 0);
	act(SIGSEGV, SIG_IGN, 0);
	act_info(SIGBUS);
	sigprocmask(SIG_BLOCK, &set, NULL);
	queue(SIGFPE, 7);
	raise(SIGILL);
	kill(getpid(), SIGSEGV);
	execl("/nonexistent", "x", (char *)NULL);
	say_pending("execve failed");
	execl(self, self, "found", (char *)NULL);
	_exit(1);
}
static int found(void)
{
	sigset_t set = five();
	siginfo_t info;
	struct timespec now = {0, 0};
	struct sigaction a;
	for (int i = 0; i < N; i++) {
		sigaction(all[i], NULL, &a);
		printf("found %d: %s\n", all[i], a.sa_handler == SIG_IGN ? "ignored" : "default");
	}
	say_pending("found");
	for (int n; (n = sigtimedwait(&set, &info, &now)) > 0;)
		printf("found %d code %d value %d\n", n, info.si_code, info.si_code == SI_QUEUE ? info.si_value.sival_int : 0);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	kill(getpid(), SIGTRAP);
	return 0;
}

int main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IONBF, 0);
	if (argc > 1)
		return found();
	alarm(150);
	stale();
	both();
	taken_by_another();
	child_ends(0);
	child_ends(1);
	execs(argv[0]);
	return 0;
}
END
whole ./sync
RECORD_OPTIONS=(-f none)
same_as_native ./sync

# The kernel wakes a thread that waits for what the process is sent; another that takes the signal first, as it comes out of a system call, does not break the wait off.
cc_program waits -pthread <<'END'
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
enum { ROUNDS = 2000, SECONDS = 2 }; /* whichever is first */
static volatile pid_t tid;
static volatile int got, last = ROUNDS;
static sigset_t set;
static void await(long nr)
{
	char path[64], text[64];
	snprintf(path, sizeof path, "/proc/self/task/%d/syscall", tid);
	do {
		sched_yield();
		FILE *f = fopen(path, "r");
		if (!f || !fgets(text, sizeof text, f))
			text[0] = 0;
		if (f)
			fclose(f);
	} while (!(text[0] >= '0' && text[0] <= '9' && atol(text) == nr));
}
static void *waiter(void *unused)
{
	int broken_off = 0, others = 0;
	siginfo_t info;
	tid = (pid_t)syscall(SYS_gettid);
	for (int k = 0; k < last; k++) {
		while (sigwaitinfo(&set, &info) < 0)
			broken_off++;
		others += info.si_value.sival_int != k;
		got = k + 1;
	}
	printf("broken off %d, others %d\n", broken_off, others);
	return unused;
}
int main(void)
{
	pthread_t t;
	sigemptyset(&set);
	sigaddset(&set, SIGSEGV);
	sigprocmask(SIG_BLOCK, &set, NULL);
	pthread_create(&t, NULL, waiter, NULL);
	while (!tid)
		;
	const time_t end = time(NULL) + SECONDS;
	for (int k = 0; k < last; k++) {
		while (got != k)
			sched_yield();
		await(SYS_rt_sigtimedwait);
		if (time(NULL) > end)
			last = k + 1;
		sigqueue(getpid(), SIGSEGV, (union sigval){.sival_int = k});
	}
	pthread_join(t, NULL);
	return 0;
}
END
for i in 1 2 3; do
	same_as_native ./waits
done
# What is ignored stays so in the next program, whoever executes it: a process with other threads, and one that shares another's memory.
cc_program keeps -D_GNU_SOURCE -pthread <<'END'
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>
#include <sys/wait.h>
static void *wait_here(void *unused)
{
	pause();
	return unused;
}
static void none(int signo)
{
	(void)signo;
}
static void say(void)
{
	for (int s = 1; s <= 64; s++) {
		struct sigaction a;
		if (!sigaction(s, NULL, &a) && (a.sa_handler != SIG_DFL || a.sa_flags))
			printf("%d %d %x\n", s, a.sa_handler == SIG_IGN, a.sa_flags);
	}
}
int main(int argc, char **argv)
{
	pthread_t t;
	if (argc > 1) {
		say();
		return 0;
	}
	struct sigaction a = {.sa_handler = SIG_IGN, .sa_flags = SA_RESTART};
	sigaction(SIGSEGV, &a, NULL);
	sigaction(SIGFPE, &a, NULL);
	sigaction(SIGCHLD, &a, NULL);
	sigaction(SIGTERM, &a, NULL);
	sigaction(SIGRTMAX, &a, NULL);
	signal(SIGUSR1, none);
	signal(SIGILL, none);
	if (!vfork()) {
		execl(argv[0], argv[0], "child", (char *)NULL);
		_exit(1);
	}
	wait(NULL);
	pthread_create(&t, NULL, wait_here, NULL);
	execl(argv[0], argv[0], "next", (char *)NULL);
	return 1;
}
END
same_as_native ./keeps
