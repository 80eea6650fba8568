# A tracer that is recorded, too, sees a tracee stop once at the signal of which it then dies, whatever signal that is and wherever it comes from.
. "$(dirname "$0")/../lib.sh"
need_ptrace
cc_program tracer -D_GNU_SOURCE <<'END'
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
enum { WAYS = 12 };
static void broken_pipe(void)
{
	int p[2];
	if (!pipe(p) && !close(p[0]) && write(p[1], "", 1) == 1)
		_exit(2);
}
static void timer(void)
{
	const struct itimerval soon = {{0, 0}, {0, 1000}};
	setitimer(ITIMER_REAL, &soon, NULL);
	for (;;)
		pause();
}
static void die(int way)
{
	static const int raised[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGXCPU, SIGSEGV};
	if (way < (int)(sizeof raised / sizeof *raised))
		raise(raised[way]);
	else if (way == 7)
		abort();
	else if (way == 8)
		*(volatile int *)8 = 1;
	else if (way == 9)
		__builtin_trap();
	else if (way == 10)
		broken_pipe();
	else
		timer();
	_exit(1);
}
static void watch(pid_t pid)
{
	int status;
	while (waitpid(pid, &status, 0) == pid && WIFSTOPPED(status)) {
		siginfo_t info;
		memset(&info, 0, sizeof info);
		ptrace(PTRACE_GETSIGINFO, pid, 0, &info);
		printf(" %x (%d, code %d)", status, info.si_signo, info.si_code);
		ptrace(PTRACE_CONT, pid, 0, WSTOPSIG(status));
	}
	printf(" %x\n", status);
}
/* That waits in a system call when it is attached to. */
static void kill_seized(int signo)
{
	siginfo_t info;
	const pid_t pid = fork();
	if (!pid)
		for (;;)
			pause();
	ptrace(PTRACE_SEIZE, pid, 0, 0);
	kill(pid, signo);
	while (!waitid(P_PID, (id_t)pid, &info, WEXITED | WSTOPPED) && info.si_code == CLD_TRAPPED) {
		printf(" %d", info.si_status);
		ptrace(PTRACE_CONT, pid, 0, info.si_status);
	}
	printf(" then %d %d\n", info.si_code, info.si_status);
}
int main(void)
{
	const struct rlimit none = {0, 0};
	setrlimit(RLIMIT_CORE, &none);
	setvbuf(stdout, NULL, _IONBF, 0);
	for (int way = 0; way < WAYS; way++) {
		const pid_t pid = fork();
		if (!pid) {
			ptrace(PTRACE_TRACEME, 0, 0, 0);
			die(way);
		}
		printf("%d:", way);
		watch(pid);
	}
	kill_seized(SIGTERM);
	kill_seized(SIGQUIT);
	return 3;
}
END
whole ./tracer
for f in none dep-c; do
	RECORD_OPTIONS=(-f $f)
	same_as_native ./tracer
done
