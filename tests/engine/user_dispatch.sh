# Syscall user dispatch: system calls that a thread has sent to itself as SIGSYS.
. "$(dirname "$0")/../lib.sh"
cc_program dispatch -D_GNU_SOURCE -pthread <<'END2'
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>
#ifndef PR_SET_SYSCALL_USER_DISPATCH
#define PR_SET_SYSCALL_USER_DISPATCH 59
#endif
static volatile char blocks;
static volatile int taken, code, number, at_pc, arch;
static void on_sys(int signo, siginfo_t *i, void *context)
{
	greg_t *g = ((ucontext_t *)context)->uc_mcontext.gregs;
	(void)signo;
	blocks = 0;
	taken++;
	code = i->si_code;
	number = i->si_syscall;
	at_pc = i->si_call_addr == (void *)g[REG_RIP];
	arch = (int)i->si_arch;
	g[REG_RAX] = g[REG_RAX] == number ? 99999999 : 0;
}
static int dispatch(long mode, const void *from, unsigned long length, volatile char *selector)
{
	return prctl(PR_SET_SYSCALL_USER_DISPATCH, mode, from, length, selector);
}
static void call(long nr)
{
	blocks = 1;
	long r = syscall(nr);
	blocks = 0;
	printf("%ld: taken %d, code %d, number %d, %d, %x\n", r == getppid() ? 1 : r, taken, code, number, at_pc, (unsigned)arch);
}
/* Both have one selector: the first thread makes no system call while the other uses it. */
static volatile int started, done;
static void *in_thread(void *unused)
{
	while (!started)
		;
	blocks = 1;
	long r = syscall(SYS_getppid);
	blocks = 0;
	printf("thread: %d\n", r == getppid());
	done = 1;
	return unused;
}
static void child(int what)
{
	int status;
	fflush(stdout);
	pid_t p = fork();
	if (!p) {
		static volatile char odd = 7;
		if (what == 1)
			dispatch(1, 0, 0, &odd);
		if (what == 2) {
			char *gone = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
			dispatch(1, 0, 0, gone);
		}
		blocks = 1;
		long r = syscall(SYS_getpid);
		blocks = 0;
		_exit(r > 0 && r != 99999999);
	}
	waitpid(p, &status, 0);
	printf("child %d: %x\n", what, (unsigned)status & 0xff7f);
}
int main(void)
{
	struct sigaction a = {.sa_sigaction = on_sys, .sa_flags = SA_SIGINFO};
	pthread_t t;
	sigaction(SIGSYS, &a, NULL);
	if (dispatch(1, 0, 0, &blocks) && errno == EINVAL)
		return 77;
	call(SYS_getppid);
	call(999);
	for (int k = 0; k < 1000; k++)
		if (syscall(SYS_getppid) != getppid())
			return 1;
	pthread_create(&t, NULL, in_thread, NULL);
	started = 1;
	while (!done)
		;
	pthread_join(t, NULL);
	child(0);
	child(1);
	child(2);
	printf("off %d\n", dispatch(0, 0, 0, NULL));
	call(SYS_getppid);
	printf("bad %d %d %d %d\n", dispatch(0, 0, 1, NULL), dispatch(9, 0, 0, NULL), dispatch(1, (void *)-4096L, 8192, NULL),
	       dispatch(1, 0, 0, (void *)(1ul << 63)));
	dispatch(1, 0, ~0ul, &blocks);
	call(SYS_getppid);
	return 0;
}
END2
native ./dispatch
[ "$NATIVE_STATUS" = 77 ] && exit 77
whole ./dispatch
