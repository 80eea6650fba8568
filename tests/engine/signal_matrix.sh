# Every signal x what is done with it x blocked or not x how it is sent x what it finds the program waiting in: what the program sees is what it sees natively. A part of the
# cells, the same each time, more of the synchronous signals; all of them with TW_FULL=1.
# timeout: 600
. "$(dirname "$0")/../lib.sh"
ulimit -c 0
[ -r /proc/self/syscall ] || skip "no /proc/PID/syscall here"
cc_program matrix -D_GNU_SOURCE -pthread <<'END'
/*
 * A cell: a child waits in a call; once it does (/proc/PID/syscall says so), it is sent a signal; what follows is printed. A call that goes on is ended by the signal
 * RELEASE. Nothing depends on time.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum act { HANDLER, RESTART, IGNORE, DEFAULT, ACTS };
enum how { KILL, QUEUE, TGKILL, TIMER, CHILD, HOWS };
enum call { READ, POLL, FUTEX, NANOSLEEP, SIGTIMEDWAIT, SIGNALFD, POLL_SIGNALFD, PPOLL, EPOLL_PWAIT, CALLS };
static const char *const act_name[] = {"handler", "restart", "ignored", "default"}, *const how_name[] = {"kill", "sigqueue", "tgkill", "timer", "child"},
                         *const call_name[] = {"read", "poll", "futex", "nanosleep", "sigtimedwait", "signalfd", "poll-signalfd", "ppoll", "epoll_pwait"};
static const int call_number[] = {SYS_read, SYS_poll, SYS_futex, SYS_nanosleep, SYS_rt_sigtimedwait, SYS_read, SYS_poll, SYS_ppoll, SYS_epoll_pwait};
struct cell {
	int s;
	enum act act;
	int blocked;
	enum how how;
	enum call call;
};

/* ---- signals, all 64 of them: the C library keeps two for itself ---- */

typedef unsigned long set_t;
struct action {
	void (*handler)(int, siginfo_t *, void *);
	unsigned long flags;
	void (*restorer)(void);
	set_t mask;
};
void restorer(void);
__asm__("restorer: mov $15, %eax; syscall");
static set_t bit(int s)
{
	return 1ul << (s - 1);
}
static void act_on(int s, void (*handler)(int, siginfo_t *, void *), unsigned long flags)
{
	struct action a = {handler, flags | SA_SIGINFO | 0x04000000, restorer, 0};
	syscall(SYS_rt_sigaction, s, &a, NULL, 8);
}
static void mask(int how, set_t set)
{
	syscall(SYS_rt_sigprocmask, how, &set, NULL, 8);
}

/* ---- the child ---- */

static int report, ran, last_code, last_value, from_parent;
static pid_t parent;
static struct cell cell;
static int release_signal(int s)
{
	return s == SIGUSR2 ? SIGUSR1 : SIGUSR2;
}
static void tell(const char *text)
{
	if (write(report, text, strlen(text)) < 0)
		_exit(90);
}
static int value_of(const siginfo_t *i)
{
	return i->si_code == SI_QUEUE || i->si_code == SI_TIMER ? i->si_value.sival_int : i->si_code > 0 ? i->si_status : 0;
}
static void handler(int s, siginfo_t *i, void *u)
{
	(void)s, (void)u;
	ran++;
	last_code = i->si_code;
	last_value = value_of(i);
	from_parent = i->si_pid == parent;
	tell("h");
}
static void released(int s, siginfo_t *i, void *u)
{
	(void)s, (void)i, (void)u;
}

/* Does the task whose file in /proc this is stand in this call, or in what the kernel goes on with it by? */
static int stands_in(const char *path, int nr)
{
	char text[256];
	int fd = open(path, O_RDONLY);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
	close(fd);
	return n > 0 && text[0] >= '0' && text[0] <= '9' && (atoi(text) == nr || atoi(text) == SYS_restart_syscall);
}
static void await_call(const char *path, int nr)
{
	while (!stands_in(path, nr))
		sched_yield();
}

static void end_with_parent(pid_t of)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != of)
		_exit(93);
}

static timer_t timer;
static void *start_timer(void *path)
{
	struct itimerspec soon = {.it_value = {0, 1}}, left;
	set_t pending;
	/* The C library lets its own two in. And what a thread blocks is not dropped, so what is to be dropped is not blocked here either. */
	mask(SIG_SETMASK, cell.act == IGNORE && !cell.blocked ? ~bit(cell.s) : ~0ul);
	await_call(path, call_number[cell.call]);
	timer_settime(timer, 0, &soon, NULL);
	do {
		timer_gettime(timer, &left); /* 0: the signal has been delivered */
		syscall(SYS_rt_sigpending, &pending, 8);
	} while (left.it_value.tv_nsec > !cell.blocked && !(pending & bit(cell.s)));
	tell("t");
	for (;;)
		pause();
	return NULL;
}
static void start_sender(void)
{
	static char path[64];
	if (cell.how == TIMER) {
		struct sigevent e = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = cell.s, .sigev_value.sival_int = 33};
		pthread_t t;
		if (syscall(SYS_timer_create, CLOCK_MONOTONIC, &e, &timer))
			_exit(91);
		snprintf(path, sizeof path, "/proc/self/task/%d/syscall", (int)syscall(SYS_gettid));
		pthread_create(&t, NULL, start_timer, path);
	} else if (cell.how == CHILD) {
		snprintf(path, sizeof path, "/proc/%d/syscall", getpid());
		pid_t waits = getpid(), pid = (pid_t)syscall(SYS_clone, (long)cell.s, NULL, NULL, NULL, NULL);
		if (!pid) {
			end_with_parent(waits);
			close(report);
			await_call(path, call_number[cell.call]);
			_exit(44);
		}
		char text[16];
		snprintf(text, sizeof text, "g%d;", pid);
		tell(text);
	}
}

static long make_call(enum call call, int s, int blocked, int fd, int sfd, int epoll, siginfo_t *info)
{
	static int word;
	struct timespec minute = {60, 0};
	struct pollfd p[2] = {{fd, POLLIN, 0}, {sfd, POLLIN, 0}};
	struct epoll_event e;
	struct signalfd_siginfo si;
	set_t set = bit(s), none = 0;
	char c;
	long r;
	switch (call) {
	case READ:
		return syscall(SYS_read, fd, &c, 1);
	case POLL:
		return syscall(SYS_poll, p, 1, 60000);
	case FUTEX:
		return syscall(SYS_futex, &word, FUTEX_WAIT, 0, s & 1 ? &minute : NULL, NULL, 0);
	case NANOSLEEP:
		return syscall(SYS_nanosleep, &minute, NULL);
	case SIGTIMEDWAIT:
		r = syscall(SYS_rt_sigtimedwait, &set, info, &minute, 8);
		if (r > 0)
			last_code = info->si_code, last_value = value_of(info), from_parent = info->si_pid == parent;
		return r;
	case SIGNALFD:
		r = syscall(SYS_read, sfd, &si, sizeof si);
		if (r > 0)
			last_code = si.ssi_code, last_value = si.ssi_code > 0 ? si.ssi_status : si.ssi_int, from_parent = (pid_t)si.ssi_pid == parent;
		return r;
	case POLL_SIGNALFD:
		return syscall(SYS_poll, p, 2, 60000);
	case PPOLL:
		return syscall(SYS_ppoll, p, 1, NULL, blocked ? &none : &set, 8);
	default:
		return syscall(SYS_epoll_pwait, epoll, &e, 1, 60000, NULL, 8);
	}
}

static void be_child(void)
{
	int ends[2];
	siginfo_t info;
	const int s = cell.s;
	set_t set = bit(s), pending = 0;
	memset(&info, 0, sizeof info);
	setpgid(0, 0);
	end_with_parent(parent);
	mask(SIG_SETMASK, cell.blocked ? set : 0);
	if (cell.act == HANDLER || cell.act == RESTART)
		act_on(s, handler, cell.act == RESTART ? SA_RESTART : 0);
	else
		act_on(s, cell.act == IGNORE ? (void *)SIG_IGN : (void *)SIG_DFL, 0);
	act_on(release_signal(s), released, 0);
	int sfd = (int)syscall(SYS_signalfd4, -1, &set, 8, 0), epoll = epoll_create1(0);
	if (pipe(ends) || sfd < 0)
		_exit(92);
	struct epoll_event e = {.events = EPOLLIN};
	epoll_ctl(epoll, EPOLL_CTL_ADD, ends[0], &e);
	if (cell.blocked)
		epoll_ctl(epoll, EPOLL_CTL_ADD, sfd, &e);
	start_sender();
	tell("w");
	errno = 0;
	long r = make_call(cell.call, s, cell.blocked, ends[0], sfd, epoll, &info);
	int error = r < 0 ? errno : 0;
	syscall(SYS_rt_sigpending, &pending, 8);
	char text[200];
	int n = snprintf(text, sizeof text, "R%ld %s, ran %d, pending %d, code %d value %d%s", r, r < 0 ? strerrorname_np(error) : "-", ran, (pending & set) != 0,
	                 last_code, last_value, from_parent ? ", by its parent" : "");
	/* What is left: it is there for who asks, or its handler runs now. */
	struct timespec now = {0, 0};
	if (pending & set && s % 2) {
		long w = syscall(SYS_rt_sigtimedwait, &set, &info, &now, 8);
		n += snprintf(text + n, sizeof text - n, "; waits %ld code %d value %d", w, info.si_code, value_of(&info));
	} else if (pending & set && (cell.act == HANDLER || cell.act == RESTART)) {
		mask(SIG_SETMASK, 0);
		n += snprintf(text + n, sizeof text - n, "; then ran %d code %d value %d", ran, last_code, last_value);
	} else if (pending & set) {
		act_on(s, (void *)SIG_IGN, 0);
		syscall(SYS_rt_sigpending, &pending, 8);
		n += snprintf(text + n, sizeof text - n, "; ignored: pending %d", (pending & set) != 0);
	}
	snprintf(text + n, sizeof text - n, ".");
	tell(text);
	_exit(0);
}

/* ---- the parent ---- */

static char got[512];
static unsigned n_got;
static int reading;
static void take(void)
{
	ssize_t n;
	while ((n = read(reading, got + n_got, sizeof got - 1 - n_got)) > 0)
		n_got += (unsigned)n;
	got[n_got] = 0;
}
static int child_status, ended, stopped;
static time_t begun;
static int hangs;
static void look(pid_t pid)
{
	int status;
	take();
	if (time(NULL) - begun > 50 && !hangs) { /* the calls' own limit is a minute; a busy machine takes long */
		hangs = 1;
		kill(pid, SIGKILL);
	}
	if (!ended && waitpid(pid, &status, WNOHANG | WUNTRACED) == pid) {
		if (WIFSTOPPED(status)) {
			stopped = WSTOPSIG(status);
			kill(pid, SIGCONT);
		} else {
			child_status = status;
			ended = 1;
			take();
		}
	}
}
static int is_zombie(int pid)
{
	char path[64], text[512];
	snprintf(path, sizeof path, "/proc/%d/stat", pid);
	int fd = open(path, O_RDONLY);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
	close(fd);
	if (n <= 0)
		return 1;
	text[n] = 0;
	char *end = strrchr(text, ')');
	return end && (end[2] == 'Z' || end[2] == 'X');
}
static int is_stop(int s)
{
	return s == SIGSTOP || s == SIGTSTP || s == SIGTTIN || s == SIGTTOU;
}
static int is_fatal(int s)
{
	return !is_stop(s) && s != SIGCHLD && s != SIGCONT && s != SIGURG && s != SIGWINCH;
}
/* Has the signal been sent, of what the child sends itself? */
static int is_sent(void)
{
	const char *g = strchr(got, 'g');
	if (cell.how == TIMER)
		return strchr(got, 't') != NULL;
	if (cell.how == CHILD)
		return g && strchr(g, ';') && is_zombie(atoi(g + 1));
	return 1;
}
static void try_cell(void)
{
	int ends[2];
	char path[64];
	if (pipe2(ends, O_NONBLOCK))
		exit(1);
	fflush(stdout);
	n_got = 0;
	got[0] = 0;
	ended = stopped = hangs = 0;
	begun = time(NULL);
	pid_t pid = fork();
	if (!pid) {
		report = ends[1];
		be_child();
	}
	close(ends[1]);
	reading = ends[0];
	snprintf(path, sizeof path, "/proc/%d/syscall", pid);
	const int nr = call_number[cell.call], own = cell.how == TIMER || cell.how == CHILD;
	while (!ended && !strchr(got, 'w'))
		look(pid);
	if (!own) {
		while (!ended && !stands_in(path, nr))
			look(pid);
		if (cell.how == KILL)
			kill(pid, cell.s);
		else if (cell.how == TGKILL)
			syscall(SYS_tgkill, pid, pid, cell.s);
		else {
			siginfo_t i;
			memset(&i, 0, sizeof i);
			i.si_signo = cell.s;
			i.si_code = SI_QUEUE;
			i.si_pid = getpid();
			i.si_value.sival_int = 55;
			syscall(SYS_rt_sigqueueinfo, pid, cell.s, &i);
		}
	}
	const int through = cell.call == PPOLL ? cell.blocked : !cell.blocked, handled = cell.act <= RESTART;
	const int dies = is_fatal(cell.s) && (cell.s == SIGKILL || (cell.act == DEFAULT && through));
	const int stops = is_stop(cell.s) && (cell.s == SIGSTOP || (cell.act == DEFAULT && through));
	while (!ended && (dies || !is_sent()))
		look(pid);
	while (stops && !ended && !stopped)
		look(pid);
	/* It has ended, or goes on: after its handler, where there is one to run. */
	const int finds = cell.blocked && (cell.call == SIGTIMEDWAIT || cell.call == SIGNALFD || cell.call == POLL_SIGNALFD || cell.call == EPOLL_PWAIT);
	while (!ended && !strchr(got, '.') && (finds || !stands_in(path, nr) || (handled && through && !strchr(got, 'h'))))
		look(pid);
	int was_released = 0;
	if (!ended && !strchr(got, '.') && !strchr(got, 'R')) {
		was_released = 1;
		kill(pid, release_signal(cell.s));
	}
	while (!ended)
		look(pid);
	const char *r = strchr(got, 'R');
	got[strcspn(got, ".")] = 0;
	printf("%d %s%s %s %s: %s%s%s%s status %x\n", cell.s, act_name[cell.act], cell.blocked ? " blocked" : "", how_name[cell.how], call_name[cell.call],
	       r ? r + 1 : "", was_released ? " went on" : "", stopped ? " stopped" : "", hangs ? " HANGS" : "", child_status);
	close(ends[0]);
}

static int is_cell(char **wanted)
{
	return cell.s == atoi(wanted[0]) && (int)cell.act == atoi(wanted[1]) && cell.blocked == atoi(wanted[2]) && (int)cell.how == atoi(wanted[3]) &&
	       (int)cell.call == atoi(wanted[4]);
}

/* matrix [MODULUS [SYNC_MODULUS [SIGNAL ACT BLOCKED HOW CALL]]]: one cell of MODULUS, of the synchronous signals one of SYNC_MODULUS; or a single cell. */
int main(int argc, char **argv)
{
	const unsigned modulus = argc > 1 ? (unsigned)atoi(argv[1]) : 1, sync_modulus = argc > 2 ? (unsigned)atoi(argv[2]) : 1;
	unsigned long k = 1;
	parent = getpid();
	for (cell.s = 1; cell.s <= 64; cell.s++)
		for (cell.act = 0; cell.act < ACTS; cell.act++)
			for (cell.blocked = 0; cell.blocked < 2; cell.blocked++)
				for (cell.how = 0; cell.how < HOWS; cell.how++)
					for (cell.call = 0; cell.call < CALLS; cell.call++) {
						const int s = cell.s, sync = s == SIGILL || s == SIGTRAP || s == SIGBUS || s == SIGFPE || s == SIGSEGV;
						/* What is not blocked may be seen by a poll before it interrupts that, or after. */
						if (!cell.blocked && cell.call == POLL_SIGNALFD)
							continue;
						if ((s == SIGKILL || s == SIGSTOP) && (cell.act != DEFAULT || cell.blocked))
							continue;
						k = k * 6364136223846793005ul + 1442695040888963407ul;
						if (argc > 7 ? is_cell(argv + 3) : (k >> 33) % (sync ? sync_modulus : modulus) == 0)
							try_cell();
					}
	return 0;
}
END
formats=(none dep)
[ "${TW_FULL:-0}" = 0 ] || formats=(none)
cells=($(full '1 1' '700 17'))
native ./matrix "${cells[@]}"
grep -q HANGS native.out && fail "natively: $(grep -m1 HANGS native.out)"
for format in "${formats[@]}"; do
	RECORD_OPTIONS=(-f $format)
	recorded ./matrix "${cells[@]}"
	compare_runs "record -f $format matrix ${cells[*]}"
done
