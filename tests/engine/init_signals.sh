# The first process of a PID namespace: no signal ends it by default that its namespace or its parent sends, but for SIGKILL from outside; a fault does, and the parent sees
# which. So in nested namespaces, in a user namespace, for a thread that is not the leader; and a process that joins one by setns is like any other.
. "$(dirname "$0")/../lib.sh"
need_command unshare
[ "$(id -u)" = 0 ] && unshare -p -f true 2>/dev/null || skip "this machine does not let us make namespaces"
ulimit -c 0
cc_program init -D_GNU_SOURCE -pthread <<'END'
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/reboot.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
static volatile int zero, got;
static int *volatile nowhere = (int *)16;
static void note(int s)
{
	got = s;
}

static void null(void) { *nowhere = 1; }
static void divide(void) { __asm__ volatile("xor %%edx, %%edx; mov $1, %%eax; divl %0" : : "m"(zero) : "eax", "edx"); }
static void illegal(void) { __asm__ volatile("ud2"); }
static void breakpoint(void) { __asm__ volatile("int3; nop; nop"); }
static void privileged(void) { __asm__ volatile("hlt"); }
static void nonsense(void) { ((void (*)(void))nowhere)(); }
static void beyond_end(void)
{
	char *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, memfd_create("empty", 0), 0);
	*p = 1;
}
static int deep(int n)
{
	volatile char big[4096];
	big[0] = (char)n;
	return n < 0 ? 0 : deep(n + 1) + big[0];
}
static void recursion(void) { deep(0); }
static void give_up(void) { abort(); }
static void while_blocked(void)
{
	sigset_t all;
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	null();
}
static void while_ignored(void)
{
	signal(SIGFPE, SIG_IGN);
	divide();
}
static void *in_thread(void *arg)
{
	null();
	return arg;
}
static void other_thread(void)
{
	pthread_t t;
	pthread_create(&t, NULL, in_thread, NULL);
	for (;;)
		pause();
}
static void bad_frame(void) { __asm__ volatile("xor %%esp, %%esp; mov $15, %%eax; syscall" : : : "memory"); }
static void filtered(void)
{
	struct sock_filter f[] = {
	    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog p = {4, f};
	if (!prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &p))
		getppid();
}
static void strict(void)
{
	prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
	syscall(SYS_getppid);
}
static void handled(void)
{
	signal(SIGSEGV, note);
	raise(SIGSEGV);
	_exit(got);
}
static void to_itself(void)
{
	const int all[] = {SIGTERM, SIGKILL, SIGSTOP, SIGSEGV, SIGILL, SIGTRAP, SIGQUIT, SIGABRT, SIGSYS, SIGXCPU, SIGRTMIN};
	for (unsigned i = 0; i < sizeof all / sizeof *all; i++)
		kill(1, all[i]);
	_exit(5);
}
static void from_child(void)
{
	int status;
	if (!fork()) {
		kill(1, SIGKILL);
		kill(1, SIGTERM);
		kill(1, SIGBUS);
		kill(1, SIGQUIT);
		_exit(0);
	}
	while (wait(&status) < 0 && errno == EINTR)
		;
	signal(SIGUSR1, note);
	if (!fork())
		_exit(kill(1, SIGUSR1));
	while (!got)
		usleep(100);
	_exit(got);
}
/* An orphan of another's comes to the first process; and what still runs when that ends is killed. */
static int pipe_of_last[2];
static void reaps(void)
{
	int status, sum = 0;
	if (!fork()) {
		if (!fork()) {
			usleep(1000);
			_exit(9);
		}
		_exit(4);
	}
	while (wait(&status) > 0)
		sum += WEXITSTATUS(status);
	if (!fork())
		for (;;)
			pause();
	_exit(sum);
}
static void nested(void)
{
	int status;
	if (unshare(CLONE_NEWPID))
		_exit(1);
	if (!fork())
		null();
	wait(&status);
	_exit(WIFSIGNALED(status) ? 100 + WTERMSIG(status) : 1);
}
static void shuts_down(void)
{
	if (getpid() == 1)
		reboot(RB_POWER_OFF);
	_exit(1);
}
static void waits(void)
{
	for (;;)
		pause();
}
static int pipe_to[2];
static void reads(void)
{
	char c = 0;
	ssize_t n = read(pipe_to[0], &c, 1);
	_exit(n == 1 ? c : 200);
}

static pid_t begin(void (*what)(void), int more)
{
	pid_t pid = (pid_t)syscall(SYS_clone, SIGCHLD | CLONE_NEWPID | more, NULL, NULL, NULL, NULL);
	if (!pid) {
		if (getpid() != 1)
			_exit(99);
		what();
		_exit(0);
	}
	return pid;
}
static void end(const char *name, pid_t pid)
{
	int status;
	waitpid(pid, &status, 0);
	printf("%s: %x\n", name, status);
	fflush(stdout);
}
#define TRY(what)       end(#what, begin(what, 0))
#define TRY_AS(what, f) end(#what " " #f, begin(what, f))

static void joins(void)
{
	char path[64];
	pid_t pid = begin(waits, 0);
	snprintf(path, sizeof path, "/proc/%d/ns/pid", pid);
	int fd = open(path, O_RDONLY);
	pid_t joined = fork();
	if (!joined) {
		int status;
		if (setns(fd, CLONE_NEWPID))
			_exit(1);
		if (!fork()) {
			if (getpid() == 1)
				_exit(2);
			kill(getpid(), SIGSEGV);
			_exit(3);
		}
		wait(&status);
		_exit(WIFSIGNALED(status) ? 100 + WTERMSIG(status) : 4);
	}
	end("joined", joined);
	kill(pid, SIGKILL);
	end("its first", pid);
}

int main(void)
{
	char c;
	TRY(null);
	TRY(divide);
	TRY(illegal);
	TRY(breakpoint);
	TRY(privileged);
	TRY(nonsense);
	TRY(beyond_end);
	TRY(recursion);
	TRY(give_up);
	TRY(while_blocked);
	TRY(while_ignored);
	TRY(other_thread);
	TRY(bad_frame);
	TRY(filtered);
	TRY(strict);
	TRY(handled);
	TRY(to_itself);
	TRY(from_child);
	TRY(nested);
	TRY(shuts_down);
	TRY_AS(null, CLONE_NEWUSER);
	TRY_AS(handled, CLONE_NEWUSER);
	TRY_AS(nested, CLONE_NEWUSER);
	if (pipe(pipe_of_last) || pipe(pipe_to))
		return 1;
	pid_t pid = begin(reaps, 0);
	close(pipe_of_last[1]);
	printf("all gone: %zd\n", read(pipe_of_last[0], &c, 1));
	end("reaps", pid);

	pid = begin(reads, 0);
	usleep(20000);
	static const int spared[] = {SIGTERM, SIGQUIT, SIGHUP, SIGSEGV, SIGTRAP, SIGFPE};
	for (unsigned i = 0; i < sizeof spared / sizeof *spared; i++)
		kill(pid, spared[i]);
	c = 42;
	if (write(pipe_to[1], &c, 1) != 1)
		return 1;
	end("from outside", pid);

	int status;
	pid = begin(waits, 0);
	kill(pid, SIGSTOP);
	waitpid(pid, &status, WUNTRACED);
	printf("stopped: %x\n", status);
	kill(pid, SIGCONT);
	kill(pid, SIGKILL);
	end("killed", pid);
	joins();

	/* By unshare: the next child is the first of the namespace. */
	if (unshare(CLONE_NEWPID))
		return 1;
	pid = fork();
	if (!pid) {
		null();
		_exit(1);
	}
	end("unshare", pid);
	return 0;
}
END
for format in none dep; do
	RECORD_OPTIONS=(-f $format)
	same_as_native ./init
done
verify_clean ./init
