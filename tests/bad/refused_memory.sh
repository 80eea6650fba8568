# Where the kernel refuses the engine memory once the program runs, the program goes on as natively; less may be recorded, and that is said. A tracer refuses the n-th call by
# which the engine asks for memory (mmap, mremap, mprotect, guards), or that and those that follow. The first program may be refused with a sentence, if it has not
# begun; what it executes runs natively then, with its arguments and its environment as they were.
# timeout: 300
. "$(dirname "$0")/../lib.sh"
need_ptrace
need_command nm
cc_program refuse -D_GNU_SOURCE <<'EOF'
/* refuse FIRST END PROGRAMS N one|all LOG COMMAND...: calls of code in [FIRST, END) but for the one before PROGRAMS, which makes the program's own, are counted. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>
enum { GUARD_INSTALL = 102, MOST = 4096 };
static unsigned long first, end, programs;
static long wanted, count;
static int all;
static FILE *out;
static pid_t refused[MOST]; /* threads that stand in a call that is refused */
static pid_t known[MOST];
static int n_known;

static int asks_for_memory(const struct __ptrace_syscall_info *s)
{
	const unsigned long at = s->instruction_pointer;
	if (at < first || at >= end || at == programs)
		return 0;
	return s->entry.nr == SYS_mmap || s->entry.nr == SYS_mremap || s->entry.nr == SYS_mprotect ||
	       (s->entry.nr == SYS_madvise && s->entry.args[2] == GUARD_INSTALL);
}
/* A change of protection that splits nothing is always allowed. */
static int is_refused_too(const struct __ptrace_syscall_info *s)
{
	return all && wanted && s->entry.nr != SYS_mprotect;
}
static pid_t *find(pid_t *in, pid_t pid)
{
	for (int i = 0; i < MOST; i++)
		if (in[i] == pid)
			return &in[i];
	return NULL;
}
static void change(pid_t pid, int entry)
{
	struct user_regs_struct r;
	ptrace(PTRACE_GETREGS, pid, 0, &r);
	if (entry)
		r.orig_rax = -1ull;
	else
		r.rax = -ENOMEM;
	ptrace(PTRACE_SETREGS, pid, 0, &r);
}
static void at_call(pid_t pid)
{
	struct __ptrace_syscall_info s = {0};
	pid_t *r = find(refused, pid);
	if (ptrace(PTRACE_GET_SYSCALL_INFO, pid, sizeof s, &s) <= 0)
		return;
	if (s.op == PTRACE_SYSCALL_INFO_EXIT && r) {
		*r = 0;
		change(pid, 0);
	} else if (s.op == PTRACE_SYSCALL_INFO_ENTRY && asks_for_memory(&s) && (++count == wanted || (count > wanted && is_refused_too(&s)))) {
		fprintf(out, "refused: call %d (%lx, %lx, %lx) of %d\n", (int)s.entry.nr, (long)s.entry.args[0], (long)s.entry.args[1],
		        (long)s.entry.args[2], pid);
		*find(refused, 0) = pid;
		change(pid, 1);
	}
}
/* The signal to go on with. */
static int stopped(pid_t pid, int status)
{
	const int sig = WSTOPSIG(status), is_new = !find(known, pid);
	if (is_new)
		known[n_known++ % MOST] = pid;
	if (sig == (SIGTRAP | 0x80))
		at_call(pid);
	return sig == (SIGTRAP | 0x80) || status >> 16 || (is_new && sig == SIGSTOP) ? 0 : sig;
}
int main(int argc, char **argv)
{
	int status, result = 0;
	const long options = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC |
	                     PTRACE_O_EXITKILL;
	if (argc < 8)
		return 2;
	first = strtoul(argv[1], NULL, 16);
	end = strtoul(argv[2], NULL, 16);
	programs = strtoul(argv[3], NULL, 16);
	wanted = atol(argv[4]);
	all = !strcmp(argv[5], "all");
	out = fopen(argv[6], "w");
	const pid_t leader = fork();
	if (!leader) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		raise(SIGSTOP);
		execv(argv[7], argv + 7);
		_exit(127);
	}
	waitpid(leader, &status, 0);
	known[n_known++] = leader;
	ptrace(PTRACE_SETOPTIONS, leader, 0, options);
	ptrace(PTRACE_SYSCALL, leader, 0, 0);
	for (pid_t pid; (pid = waitpid(-1, &status, __WALL)) > 0;) {
		if (WIFSTOPPED(status)) {
			ptrace(PTRACE_SYSCALL, pid, 0, stopped(pid, status));
		} else if (pid == leader) {
			result = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
		} else if (WIFSIGNALED(status)) {
			fprintf(out, "died: %d of signal %d\n", pid, WTERMSIG(status));
		}
	}
	fprintf(out, "calls %ld\n", count);
	return fclose(out) ? 2 : result;
}
EOF
cc_program mixed -D_GNU_SOURCE -pthread <<'EOF'
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
extern char **environ;
enum { PAGE = 4096, CODE_PAGES = 5, THREADS = 4 };
static sigjmp_buf back;
static void note(int s)
{
	(void)s;
}
static void fault(int s)
{
	siglongjmp(back, s);
}
static unsigned list[1000];
static void *work(void *rounds)
{
	unsigned sum = 0;
	for (long round = 0; round < (long)rounds; round++)
		for (unsigned k = 0; k < 1000; k++)
			sum += list[(sum * 31 + k * 7) % 1000] ^ (k & 1 ? (unsigned)round : sum);
	raise(SIGUSR1);
	return (void *)(long)(sum != 1);
}
static void code(void)
{
	unsigned char *p = mmap(NULL, CODE_PAGES * PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int sum = 0;
	for (int round = 0; round < 3; round++)
		for (int page = 0; page < CODE_PAGES; page++) {
			unsigned char *c = p + page * PAGE;
			memcpy(c, "\xb8\0\0\0\0\xc3", 6); /* mov eax, 0; ret */
			c[1] = (unsigned char)(round * CODE_PAGES + page);
			sum += ((int (*)(void))c)();
		}
	printf("code %d\n", sum);
}
static void threads(long rounds)
{
	pthread_t t[THREADS];
	long good = 0, made = 0;
	for (int i = 0; i < THREADS; i++)
		made += !pthread_create(&t[made], NULL, work, (void *)rounds);
	for (int i = 0; i < made; i++) {
		void *r;
		pthread_join(t[i], &r);
		good += (long)r;
	}
	puts(good == made ? "threads" : "THREADS");
}
static void own_fault(void)
{
	if (!sigsetjmp(back, 1))
		*(volatile int *)16 = 1;
	puts("fault");
}
static void show(int argc, char **argv)
{
	printf("again %d", argc);
	for (int i = 1; i < argc; i++)
		printf(" <%s>", argv[i]);
	printf(" %s\n", getenv("REFUSED"));
}
static void executed(char **again, pid_t p)
{
	int status = 0;
	if (!p) {
		execve(again[0], again, environ);
		_exit(11);
	}
	if (p < 0) /* no thread can be made */
		show(4, again), puts("threads"), status = 7 << 8;
	else
		waitpid(p, &status, 0);
	printf("executed %x\n", status);
}
int main(int argc, char **argv)
{
	char *again[] = {argv[0], "again", "", "and again", NULL};
	int status;
	pid_t p;
	setvbuf(stdout, NULL, _IOLBF, 0);
	signal(SIGUSR1, note);
	signal(SIGSEGV, fault);
	if (argc > 1) {
		show(argc, argv);
		threads(10);
		return 7;
	}
	if (getenv("REFUSED")) { /* it has lost its arguments: it must not go on to execute itself */
		puts("no arguments");
		_exit(9);
	}
	setenv("REFUSED", "kept", 1);
	work((void *)50);
	code();
	own_fault();
	threads(50);
	puts(dlopen("libm.so.6", RTLD_NOW) ? "library" : "no library");
	if (!(p = fork())) {
		work((void *)50);
		code();
		threads(20);
		own_fault();
		_exit(3);
	}
	waitpid(p, &status, 0);
	printf("child %x\n", status);
	status = posix_spawn(&p, argv[0], NULL, NULL, again, environ);
	if (status == EAGAIN)
		executed(again, -1);
	else
		executed(again, p);
	executed(again, fork());
	executed(again, vfork());
	threads(50);
	return 5;
}
EOF
engine=$BUILD/trackway-engine
symbol() { nm "$engine" | awk -v name="$1" '$3 == name { print $1 }'; }
range=("$(symbol tw_text_start)" "$(symbol tw_data_start)" "$(symbol tw_syscall_end)")
[ -n "${range[0]}" ] && [ -n "${range[1]}" ] && [ -n "${range[2]}" ] || fail "the engine has no symbols"
native ./mixed
# refusing N one|all OPTION...
refusing() {
	local n=$1 mode=$2
	shift 2
	rm -rf recording.tw recording.tw.old
	run recorded.out recorded.err timeout -s KILL 100 ./refuse "${range[@]}" "$n" "$mode" refuse.log "$TW" record -q -o recording.tw "$@" ./mixed
	RECORDED_STATUS=$?
}
runs=0
for options in '-f none' --sink=count '-f dep'; do
	read -ra format <<<"$options"
	refusing 0 one "${format[@]}"
	compare_runs "$options, traced, nothing refused"
	calls=$(sed -n 's/^calls //p' refuse.log)
	[ "$calls" -gt 50 ] || fail "$options: the engine asks for memory only $calls times"
	step=$(full 1 $((calls / 3)))
	for ((n = 1; n <= calls; n += step)); do
		for mode in one all; do
			[ $mode = all ] && ((n % (3 * step) != 1 % (3 * step))) && continue
			refusing $n $mode "${format[@]}"
			runs=$((runs + 1))
			! grep -q '^died' refuse.log || fail "$options, $n, $mode: $(cat refuse.log recorded.err)"
			[ ! -s recorded.out ] && grep -qE '^trackway: (cannot|no room)' recorded.err && continue # where it begins
			cmp -s native.out recorded.out && [ "$RECORDED_STATUS" = "$NATIVE_STATUS" ] ||
				fail "$options, $n, $mode: status $RECORDED_STATUS, $(head -n 3 refuse.log; cat recorded.err; diff native.out recorded.out)"
		done
	done
done
echo "refused $runs times"
