# seccomp: strict mode, filters with every action, inheritance, what is refused; as natively. The engine's own system calls go on.
. "$(dirname "$0")/../lib.sh"

cc_program filters -D_GNU_SOURCE -pthread <<'END'
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#define LOAD(field)      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define ON(number, what) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1), BPF_STMT(BPF_RET | BPF_K, what)
#define ALLOW            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
#define COUNT(a)         (sizeof(a) / sizeof *(a))

static int filter(struct sock_filter *code, size_t n, unsigned flags)
{
	struct sock_fprog p = {(unsigned short)n, code};
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &p);
}

static int on(long number, uint32_t what)
{
	struct sock_filter code[] = {LOAD(nr), ON((uint32_t)number, what), ALLOW};
	return filter(code, COUNT(code), 0);
}

/* Runs f in a child, and says how that ended. */
static void child(const char *name, void (*f)(void))
{
	int status;
	fflush(stdout);
	pid_t pid = fork();
	if (!pid) {
		f();
		fflush(stdout);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	if (WIFSIGNALED(status))
		printf("%s: signal %d\n", name, WTERMSIG(status));
	else
		printf("%s: exit %d\n", name, WEXITSTATUS(status));
}

static void strict(void)
{
	prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
	if (write(1, "strict writes\n", 14) != 14)
		syscall(SYS_exit, 1);
	syscall(SYS_exit, 7);
}

static void strict_broken(void)
{
	prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
	syscall(SYS_getpid);
	syscall(SYS_exit, 7);
}

static void errors(void)
{
	printf("installed %d\n", on(SYS_uname, SECCOMP_RET_ERRNO | EXDEV));
	printf("mode %d\n", prctl(PR_GET_SECCOMP));
	struct utsname u;
	int r = uname(&u);
	printf("uname %d %d\n", r, errno);
	printf("installed %d\n", on(SYS_uname, SECCOMP_RET_ERRNO | 5000));
	r = uname(&u);
	printf("uname %d %d, newest first\n", r, errno);
	on(SYS_uname, SECCOMP_RET_LOG);
	r = uname(&u);
	printf("uname %d %d, the strictest\n", r, errno);
	on(SYS_getppid, SECCOMP_RET_TRACE);
	r = (int)syscall(SYS_getppid);
	printf("traced by nobody %d %d\n", r < 0, r < 0 ? errno : 0);
	/* the engine needs all of these */
	for (int k = 0; k < 3; k++)
		on((const int[]){SYS_mmap, SYS_mprotect, SYS_futex}[k], SECCOMP_RET_ERRNO | EPERM);
	for (int k = 0; k < 300; k++)
		if (snprintf((char[32]){0}, 32, "%d %f", k, k / 3.0) < 0)
			return;
	printf("mmap %d\n", mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED);
}

static volatile long trapped;
static void on_sys(int s, siginfo_t *i, void *context)
{
	ucontext_t *u = context;
	greg_t *g = u->uc_mcontext.gregs;
	printf("SIGSYS %d code %d errno %d call %d arch %x at %d, rax %lld rcx %d\n", s, i->si_code, i->si_errno, i->si_syscall, i->si_arch,
	       i->si_call_addr == (void *)g[REG_RIP], (long long)g[REG_RAX], g[REG_RCX] == g[REG_RIP]);
	trapped++;
	g[REG_RAX] = 4711;
}

static void traps(void)
{
	struct sigaction a = {.sa_sigaction = on_sys, .sa_flags = SA_SIGINFO};
	sigaction(SIGSYS, &a, NULL);
	on(SYS_getuid, SECCOMP_RET_TRAP | 77);
	long r = 0;
	for (int k = 0; k < 3; k++)
		r += syscall(SYS_getuid);
	printf("trapped %ld times, %ld\n", trapped, r);
}

static void trap_blocked(void)
{
	struct sigaction a = {.sa_sigaction = on_sys, .sa_flags = SA_SIGINFO};
	sigset_t s;
	sigaction(SIGSYS, &a, NULL);
	sigemptyset(&s);
	sigaddset(&s, SIGSYS);
	sigprocmask(SIG_BLOCK, &s, NULL);
	on(SYS_getuid, SECCOMP_RET_TRAP);
	syscall(SYS_getuid);
}

static void kill_process(void)
{
	on(SYS_getuid, SECCOMP_RET_KILL_PROCESS);
	syscall(SYS_getuid);
}

static void kill_only_thread(void)
{
	on(SYS_getuid, SECCOMP_RET_KILL_THREAD);
	syscall(SYS_getuid);
}

static void unknown_action(void)
{
	on(SYS_getuid, 0x00020000);
	syscall(SYS_getuid);
}

static void *dies(void *arg)
{
	on(SYS_getuid, SECCOMP_RET_KILL_THREAD);
	syscall(SYS_getuid);
	return arg;
}

static void kill_thread(void)
{
	pthread_t t;
	void *r = NULL;
	pthread_create(&t, NULL, dies, (void *)1);
	pthread_join(t, &r);
	printf("joined %p, uid call %d\n", r, syscall(SYS_getuid) >= 0);
}

static pthread_barrier_t barrier;
static void *other(void *arg)
{
	(void)arg;
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	errno = 0;
	long r = syscall(SYS_getppid);
	printf("other thread: %d %d\n", r == -1, errno);
	return NULL;
}

static void tsync(void)
{
	pthread_t t;
	pthread_barrier_init(&barrier, NULL, 2);
	pthread_create(&t, NULL, other, NULL);
	pthread_barrier_wait(&barrier);
	struct sock_filter code[] = {LOAD(nr), ON(SYS_getppid, SECCOMP_RET_ERRNO | EBUSY), ALLOW};
	printf("tsync %d\n", filter(code, COUNT(code), SECCOMP_FILTER_FLAG_TSYNC));
	pthread_barrier_wait(&barrier);
	pthread_join(t, NULL);
}

/* Arguments, all jumps, arithmetic and scratch memory. */
static void arithmetic(void)
{
	struct sock_filter code[] = {
	    LOAD(arch), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS), LOAD(nr),
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getpgid, 1, 0), ALLOW, LOAD(args[0]), BPF_STMT(BPF_ST, 3),
	    BPF_STMT(BPF_ALU | BPF_MUL | BPF_K, 3), BPF_STMT(BPF_MISC | BPF_TAX, 0), BPF_STMT(BPF_LD | BPF_MEM, 3),
	    BPF_STMT(BPF_ALU | BPF_ADD | BPF_X, 0), BPF_STMT(BPF_ALU | BPF_LSH | BPF_K, 2), BPF_STMT(BPF_ALU | BPF_SUB | BPF_K, 5),
	    BPF_STMT(BPF_ALU | BPF_XOR | BPF_K, 0x3f), BPF_STMT(BPF_ALU | BPF_DIV | BPF_K, 2), BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0xff),
	    BPF_STMT(BPF_ALU | BPF_OR | BPF_K, SECCOMP_RET_ERRNO), BPF_STMT(BPF_MISC | BPF_TXA, 0), BPF_STMT(BPF_LDX | BPF_W | BPF_LEN, 0),
	    BPF_STMT(BPF_ALU | BPF_RSH | BPF_X, 0), BPF_STMT(BPF_ALU | BPF_NEG, 0), BPF_STMT(BPF_LD | BPF_MEM, 3), BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, 10, 0, 2),
	    BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0x1f), BPF_JUMP(BPF_JMP | BPF_JA, 1, 0, 0), BPF_STMT(BPF_ALU | BPF_ADD | BPF_K, 40),
	    BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, 1, 1, 0), BPF_STMT(BPF_ALU | BPF_ADD | BPF_K, 1), BPF_STMT(BPF_ALU | BPF_OR | BPF_K, SECCOMP_RET_ERRNO),
	    BPF_STMT(BPF_RET | BPF_A, 0)};
	printf("installed %d\n", filter(code, COUNT(code), 0));
	for (long k = 0; k < 60; k += 7) {
		errno = 0;
		long r = syscall(SYS_getpgid, k);
		printf("%ld: %ld %d\n", k, r, errno);
	}
	struct sock_filter zero[] = {LOAD(nr), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getsid, 1, 0), ALLOW, BPF_STMT(BPF_LDX | BPF_IMM, 0),
	                             BPF_STMT(BPF_ALU | BPF_DIV | BPF_X, 0), ALLOW};
	filter(zero, COUNT(zero), 0);
	fflush(stdout);
	syscall(SYS_getsid, 0);
}

/* What cannot be installed. */
static void refused(void)
{
	static struct sock_filter bad[][3] = {
	    {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 64), ALLOW, ALLOW}, {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 2), ALLOW, ALLOW},
	    {BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 0), ALLOW, ALLOW},  {BPF_STMT(BPF_LD | BPF_MEM, 1), ALLOW, ALLOW},
	    {BPF_STMT(BPF_ST, 16), ALLOW, ALLOW},                   {BPF_JUMP(BPF_JMP | BPF_JA, 2, 0, 0), ALLOW, ALLOW},
	    {BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 2), ALLOW, ALLOW}, {BPF_STMT(BPF_ALU | BPF_DIV | BPF_K, 0), ALLOW, ALLOW},
	    {BPF_STMT(BPF_ALU | BPF_LSH | BPF_K, 32), ALLOW, ALLOW}, {BPF_STMT(BPF_ALU | BPF_MOD | BPF_K, 3), ALLOW, ALLOW},
	    {ALLOW, ALLOW, BPF_STMT(BPF_LD | BPF_IMM, 0)},          {BPF_STMT(BPF_RET | BPF_X, 0), ALLOW, ALLOW}};
	for (size_t k = 0; k < COUNT(bad); k++) {
		errno = 0;
		int r = filter(bad[k], 3, 0);
		printf("bad %zu: %d %d\n", k, r, errno);
	}
	struct sock_filter code[] = {ALLOW};
	struct sock_fprog none = {0, code}, wild = {1, (struct sock_filter *)8}, good = {1, code};
	printf("none %d", (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &none));
	printf(" %d\n", errno);
	printf("wild %d", (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &wild));
	printf(" %d\n", errno);
	printf("flags %d", (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 1 << 20, &good));
	printf(" %d\n", errno);
	printf("operation %d", (int)syscall(SYS_seccomp, 99, 0, &good));
	printf(" %d\n", errno);
	uint32_t action = SECCOMP_RET_ERRNO, odd = 0x12340000;
	printf("available %d", (int)syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action));
	printf(" %d", (int)syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &odd));
	printf(" %d\n", errno);
	printf("mode 9: %d", prctl(PR_SET_SECCOMP, 9, &good));
	printf(" %d\n", errno);
	printf("prctl %d", prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &good));
	printf(", then strict %d", prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT));
	printf(" %d\n", errno);
}

/* Without no_new_privs only who may. */
static void unprivileged(void)
{
	if (geteuid() == 0 && (setgid(65534) || setuid(65534)))
		return;
	errno = 0;
	int r = on(SYS_getppid, SECCOMP_RET_ERRNO | 1);
	printf("unprivileged %d %d\n", r, errno);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	printf("no_new_privs %d\n", on(SYS_getppid, SECCOMP_RET_ERRNO | 1));
}

/* A signal handler returns under filters; vfork, fork and exec take them along. */
static void on_usr1(int s) { printf("signal %d\n", s); }
static void inherited(void)
{
	on(SYS_getppid, SECCOMP_RET_ERRNO | ENOTTY);
	on(SYS_uname, SECCOMP_RET_ERRNO | EXDEV);
	signal(SIGUSR1, on_usr1);
	raise(SIGUSR1);
	fflush(stdout);
	pid_t pid = vfork();
	int status;
	if (!pid) {
		execl("/proc/self/exe", "filters", "probe", NULL);
		_exit(9);
	}
	waitpid(pid, &status, 0);
	printf("program %d\n", status);
}

static void probe(void)
{
	struct utsname u;
	errno = 0;
	long r = syscall(SYS_getppid);
	printf("getppid %d %d", r == -1, errno);
	r = uname(&u);
	printf(" uname %ld %d mode %d\n", r, errno, prctl(PR_GET_SECCOMP));
}

int main(int argc, char **argv)
{
	if (argc > 2 && !strcmp(argv[1], "under")) { /* a filter that allows everything */
		struct sock_filter code[] = {ALLOW};
		if (geteuid())
			prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
		return filter(code, 1, 0) || execvp(argv[2], argv + 2);
	}
	if (argc > 1 && !strcmp(argv[1], "probe")) {
		probe();
		return 0;
	}
	if (argc > 1) {
		if (geteuid()) /* as root without */
			prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
		errors();
		on(SYS_getuid, SECCOMP_RET_KILL_PROCESS);
		fflush(stdout);
		syscall(SYS_getuid);
	}
	child("unprivileged", unprivileged);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	child("strict", strict);
	child("strict, broken", strict_broken);
	child("errors", errors);
	child("traps", traps);
	child("trap, blocked", trap_blocked);
	child("kill process", kill_process);
	child("kill only thread", kill_only_thread);
	child("unknown action", unknown_action);
	child("kill thread", kill_thread);
	child("tsync", tsync);
	child("arithmetic", arithmetic);
	child("refused", refused);
	child("inherited", inherited);
	return 0;
}
END
ulimit -c 0
whole ./filters
whole ./filters die
native ./filters under ./filters
run recorded.out recorded.err ./filters under "$TW" record -q -o recording.tw ./filters
RECORDED_STATUS=$?
compare_runs "record under a filter"
for RECORD_OPTIONS in "-f none" "--follow=none" "-f dep-c --order"; do
	# shellcheck disable=SC2206 # options
	RECORD_OPTIONS=($RECORD_OPTIONS)
	same_as_native ./filters
done

# A program in Debian that runs its parts under filters (man-db, with libseccomp)
if command -v man >/dev/null && ldd "$(command -v man)" | grep -q seccomp; then
	RECORD_OPTIONS=()
	same_as_native env MANPAGER=cat MANWIDTH=80 man -l "$ROOT/man/trackway.1"
	[ "$(wc -l <recorded.out)" -gt 20 ] || fail "man printed little"
fi
