# Tracing: a recorded process traces another that it has made, which has executed no program: the tracer sees the application's registers, system calls and memory, can
# change them, and gets every stop that it gets natively.
# timeout: 240
. "$(dirname "$0")/../lib.sh"
cc_program tracing -D_GNU_SOURCE -pthread -w <<'END2'
#include <elf.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>
typedef struct user_regs_struct regs_t;
static pid_t child;
static char *page;
static regs_t regs_of(pid_t p)
{
	regs_t r;
	memset(&r, 0xee, sizeof r);
	if (ptrace(PTRACE_GETREGS, p, 0, &r))
		printf("GETREGS: %s\n", strerror(errno));
	return r;
}
static int waited(pid_t p)
{
	int status = -1;
	if (waitpid(p, &status, __WALL) < 0)
		printf("waitpid: %s\n", strerror(errno));
	return status;
}
/* All ways to look agree. */
static int agree(pid_t p, const regs_t *r)
{
	regs_t set;
	struct iovec v = {&set, sizeof set};
	errno = 0;
	return !ptrace(PTRACE_GETREGSET, p, NT_PRSTATUS, &v) && !memcmp(r, &set, sizeof set) &&
	       (unsigned long)ptrace(PTRACE_PEEKUSER, p, 8 * 15, 0) == r->orig_rax && (unsigned long)ptrace(PTRACE_PEEKUSER, p, 8 * 16, 0) == r->rip && !errno;
}
static void show(pid_t p, int status)
{
	struct __ptrace_syscall_info info;
	siginfo_t si;
	regs_t r;
	if (!WIFSTOPPED(status)) {
		printf("  status %x\n", status);
		return;
	}
	r = regs_of(p);
	printf("  stop %x, agree %d, code %d", status, agree(p, &r), *(unsigned short *)(r.rip - 2) == 0x50f);
	if (!ptrace(PTRACE_GETSIGINFO, p, 0, &si))
		printf(", signal %d code %d", si.si_signo, si.si_code);
	memset(&info, 0, sizeof info);
	long n = ptrace(PTRACE_GET_SYSCALL_INFO, p, sizeof info, &info);
	printf(", info %ld op %d ip %d sp %d", n, info.op, info.instruction_pointer == r.rip, info.stack_pointer == r.rsp);
	if (WSTOPSIG(status) == (SIGTRAP | 0x80) || (long)r.orig_rax >= 0)
		printf(", call %ld", (long)r.orig_rax);
	if (info.op == PTRACE_SYSCALL_INFO_ENTRY)
		printf(" entry %lld %lld %d rax %ld", info.entry.nr, info.entry.args[0] < 100 ? info.entry.args[0] : 100, info.entry.args[1] == r.rsi, (long)r.rax);
	if (info.op == PTRACE_SYSCALL_INFO_EXIT)
		printf(" exit %d %lld", info.exit.rval == (long)r.rax, r.rax < 100 || (long)r.rax < 0 ? info.exit.rval : 100);
	putchar('\n');
}
static void trapped(int signo)
{
	(void)signo;
}
static void begin(void (*f)(void))
{
	fflush(stdout);
	child = fork();
	if (!child) {
		f();
		_exit(3);
	}
}
static void traced(void)
{
	ptrace(PTRACE_TRACEME, 0, 0, 0);
	raise(SIGSTOP);
}
/* ---- system calls ---- */
static void calls(void)
{
	traced();
	signal(SIGUSR1, trapped);
	if (write(1, "", 0) || syscall(SYS_getppid) < 2 || syscall(1000) != -1)
		_exit(4);
	raise(SIGUSR1);
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, NULL);
	void *p = mmap(NULL, 4096, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	munmap(p, 4096);
	if (fork() == 0)
		_exit(7);
	waitpid(-1, NULL, 0);
	_exit(syscall(SYS_getuid) == 4321 ? 5 : 6);
}
static void follow(long options, int good)
{
	begin(calls);
	int status = waited(child), stops = 0;
	show(child, status);
	printf("options %ld\n", ptrace(PTRACE_SETOPTIONS, child, 0, options | (good ? PTRACE_O_TRACESYSGOOD : 0)));
	for (int signo = 0; WIFSTOPPED(status) && stops < 200; stops++) {
		ptrace(PTRACE_SYSCALL, child, 0, signo);
		status = waited(child);
		show(child, status);
		signo = WIFSTOPPED(status) && WSTOPSIG(status) == SIGUSR1 ? SIGUSR1 : 0;
		if (WIFSTOPPED(status) && status >> 16 == PTRACE_EVENT_FORK) {
			unsigned long other;
			ptrace(PTRACE_GETEVENTMSG, child, 0, &other);
			int s = waited((pid_t)other);
			printf("fork: ");
			show((pid_t)other, s);
			ptrace(PTRACE_SYSCALL, (pid_t)other, 0, 0);
			while (s = waited((pid_t)other), WIFSTOPPED(s)) {
				show((pid_t)other, s);
				ptrace(PTRACE_SYSCALL, (pid_t)other, 0, 0);
			}
			show((pid_t)other, s);
		}
		regs_t r = WIFSTOPPED(status) ? regs_of(child) : (regs_t){0};
		if (WIFSTOPPED(status) && r.orig_rax == SYS_getuid) {
			r.rax = 4321;
			printf("set %ld\n", ptrace(PTRACE_SETREGS, child, 0, &r));
		}
	}
}
/* ---- calls that are changed ---- */
static void changed(void)
{
	traced();
	long a = syscall(SYS_getuid, 1, 2, 3), b = syscall(SYS_getuid, 1, 2, 3), c = syscall(SYS_getuid, 1, 2, 3);
	printf("child: %d %ld %ld\n", a == getppid(), b, c);
	fflush(stdout);
	_exit(0);
}
static void change(void)
{
	begin(changed);
	int n = 0, status = waited(child);
	ptrace(PTRACE_SETOPTIONS, child, 0, PTRACE_O_TRACESYSGOOD);
	for (int entry = 1; WIFSTOPPED(status); entry = !entry) {
		ptrace(PTRACE_SYSCALL, child, 0, 0);
		status = waited(child);
		regs_t r = WIFSTOPPED(status) ? regs_of(child) : (regs_t){0};
		if (!WIFSTOPPED(status) || r.orig_rax != SYS_getuid || !entry || n++ == 3)
			continue;
		if (n == 1) {
			r.orig_rax = SYS_getppid;
			ptrace(PTRACE_SETREGS, child, 0, &r);
		} else if (n == 2) {
			struct iovec v = {&r, sizeof r};
			r.orig_rax = -1ul;
			r.rax = 77;
			ptrace(PTRACE_SETREGSET, child, NT_PRSTATUS, &v);
		} else {
			ptrace(PTRACE_POKEUSER, child, 8 * 15, -1l);
			ptrace(PTRACE_POKEUSER, child, 8 * 10, 99l);
		}
		printf("changed to %ld\n", ptrace(PTRACE_PEEKUSER, child, 8 * 15, 0));
	}
	show(child, status);
}
/* ---- one that waits ---- */
static int hold[2], tell[2];
static void waits(void)
{
	char c;
	write(tell[1], "", 1);
	if (read(hold[0], &c, 1) != 1)
		_exit(8);
	_exit(c);
}
static void until_it_reads(void)
{
	char path[64], text[64] = "";
	sprintf(path, "/proc/%d/syscall", child);
	for (int i = 0; i < 2000 && strncmp(text, "0 0x", 4); i++) {
		usleep(5000);
		FILE *f = fopen(path, "r");
		if (f && !fgets(text, sizeof text, f))
			text[0] = 0;
		if (f)
			fclose(f);
	}
}
static void let_it(char c)
{
	write(hold[1], &c, 1);
}
static void start_waiting(void)
{
	char c;
	begin(waits);
	read(tell[0], &c, 1);
	until_it_reads();
}
static void seize(void)
{
	start_waiting();
	printf("seize %ld\n", ptrace(PTRACE_SEIZE, child, 0, PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEEXIT));
	printf("interrupt %ld\n", ptrace(PTRACE_INTERRUPT, child, 0, 0));
	show(child, waited(child));
	regs_t r = regs_of(child);
	printf("read: fd %d, result %ld\n", (int)r.rdi == hold[0], (long)r.rax);
	ptrace(PTRACE_SYSCALL, child, 0, 0);
	show(child, waited(child)); /* the call is made again */
	ptrace(PTRACE_CONT, child, 0, 0);
	until_it_reads();
	kill(child, SIGSTOP);
	show(child, waited(child));
	ptrace(PTRACE_CONT, child, 0, SIGSTOP);
	show(child, waited(child));
	printf("listen %ld\n", ptrace(PTRACE_LISTEN, child, 0, 0));
	kill(child, SIGCONT);
	show(child, waited(child));
	ptrace(PTRACE_CONT, child, 0, 0);
	show(child, waited(child));
	let_it(9);
	ptrace(PTRACE_CONT, child, 0, SIGCONT);
	int status = waited(child);
	show(child, status);
	unsigned long code;
	ptrace(PTRACE_GETEVENTMSG, child, 0, &code);
	printf("exit event %lx\n", code);
	ptrace(PTRACE_CONT, child, 0, 0);
	show(child, waited(child));
}
extern char call_here[];
__asm__("call_here: syscall\n\tint3\n\tnop\n");
static void inject(int attach)
{
	char c = 0;
	strcpy(page, "mapped");
	start_waiting();
	if (attach)
		ptrace(PTRACE_ATTACH, child, 0, 0);
	else
		ptrace(PTRACE_SEIZE, child, 0, 0), ptrace(PTRACE_INTERRUPT, child, 0, 0);
	show(child, waited(child));
	struct iovec here = {&c, 1}, there = {page, 1};
	printf("there %zd %c %lx\n", process_vm_readv(child, &here, 1, &there, 1, 0), c, ptrace(PTRACE_PEEKDATA, child, page, 0));
	ptrace(PTRACE_POKEDATA, child, page + 8, 0x1122334455667788);
	here.iov_base = "M";
	printf("write %zd, peek %lx %lx\n", process_vm_writev(child, &here, 1, &there, 1, 0), ptrace(PTRACE_PEEKDATA, child, page, 0),
	       ptrace(PTRACE_PEEKDATA, child, page + 8, 0));
	regs_t before = regs_of(child), r = before;
	r.rax = SYS_munmap;
	r.orig_rax = -1ul;
	r.rdi = (unsigned long)page;
	r.rsi = 4096;
	r.rip = (unsigned long)call_here;
	printf("set %ld\n", ptrace(PTRACE_SETREGS, child, 0, &r));
	ptrace(PTRACE_SYSCALL, child, 0, 0);
	int status = waited(child);
	r = regs_of(child);
	printf("%x: call %ld, arguments %d %ld, at %ld\n", status, (long)r.orig_rax, r.rdi == (unsigned long)page, (long)r.rsi, (long)r.rip - (long)call_here);
	ptrace(PTRACE_SYSCALL, child, 0, 0);
	status = waited(child);
	r = regs_of(child);
	printf("%x: result %ld, at %ld\n", status, (long)r.rax, (long)r.rip - (long)call_here);
	here.iov_base = &c;
	printf("there %zd\n", process_vm_readv(child, &here, 1, &there, 1, 0));
	printf("set back %ld\n", ptrace(PTRACE_SETREGS, child, 0, &before));
	r = regs_of(child);
	printf("as before %d\n", !memcmp(&r, &before, sizeof r));
	let_it(21);
	ptrace(PTRACE_DETACH, child, 0, 0);
	show(child, waited(child));
}
/* ---- threads ---- */
static void *wait_here(void *status)
{
	*(int *)status = waited(child);
	return NULL;
}
static void another_thread(void)
{
	pthread_t t;
	int status;
	begin(calls);
	pthread_create(&t, NULL, wait_here, &status);
	pthread_join(t, NULL);
	printf("%x\n", status);
	ptrace(PTRACE_SETOPTIONS, child, 0, PTRACE_O_TRACESYSGOOD);
	for (int i = 0; i < 6; i++) {
		siginfo_t si;
		ptrace(PTRACE_SYSCALL, child, 0, 0);
		if (i & 1)
			printf("waitid %d", waitid(P_PID, child, &si, WSTOPPED)), printf(" %d %x\n", si.si_code, si.si_status);
		pthread_create(&t, NULL, wait_here, &status);
		if (i & 1)
			ptrace(PTRACE_SYSCALL, child, 0, 0);
		pthread_join(t, NULL);
		show(child, status);
	}
	kill(child, SIGKILL);
	show(child, waited(child));
}
static void *reads(void *p)
{
	char c;
	write(tell[1], "", 1);
	read(hold[0], &c, 1);
	return p;
}
static void many(void)
{
	pthread_t t[4];
	for (int i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, reads, NULL);
	write(tell[1], "", 1);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	_exit(11);
}
static void group_stop(void)
{
	char c;
	int status;
	begin(many);
	for (int i = 0; i < 5; i++)
		read(tell[0], &c, 1);
	kill(child, SIGSTOP);
	waitpid(child, &status, WUNTRACED);
	printf("%x\n", status);
	kill(child, SIGCONT);
	waitpid(child, &status, WCONTINUED);
	printf("%x\n", status);
	printf("seize %ld\n", ptrace(PTRACE_SEIZE, child, 0, 0));
	printf("interrupt %ld\n", ptrace(PTRACE_INTERRUPT, child, 0, 0));
	printf("%x\n", waited(child));
	ptrace(PTRACE_CONT, child, 0, 0);
	for (int i = 0; i < 4; i++)
		let_it(1);
	while (status = waited(child), WIFSTOPPED(status)) {
		show(child, status);
		ptrace(PTRACE_CONT, child, 0, 0);
	}
	show(child, status);
}
static void execs(void)
{
	traced();
	execl("/bin/true", "true", (char *)0);
}
static void exec(void)
{
	begin(execs);
	int status = waited(child), n = 0;
	ptrace(PTRACE_SETOPTIONS, child, 0, PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEEXEC);
	ptrace(PTRACE_CONT, child, 0, 0);
	printf("%x\n", waited(child));
	do {
		ptrace(PTRACE_SYSCALL, child, 0, 0);
		n += WIFSTOPPED(status = waited(child));
	} while (WIFSTOPPED(status));
	printf("%d, then %x\n", n & 1, status);
}
/* ---- faults ---- */
/* Code that changes, in a page that it shares with code that has run: no signal comes of it. */
static void changes_code(void)
{
	int sum = 0;
	unsigned char *code = mmap(NULL, 4096, 7, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	traced();
	for (int n = 0; n < 50; n++) {
		const unsigned char f[] = {0xb8, n, 0, 0, 0, 0xc3}; /* mov eax, n; ret */
		memcpy(code + n % 3 * 16, f, sizeof f);
		sum += ((int (*)(void))(code + n % 3 * 16))();
	}
	_exit(sum & 63);
}
static void no_faults(void)
{
	begin(changes_code);
	for (int i = 0; i < 4; i++) {
		show(child, waited(child));
		ptrace(PTRACE_CONT, child, 0, 0);
	}
}
extern char fault_load[], fault_divide[], fault_illegal[], fault_break[], fault_end[];
void make_faults(void *p);
__asm__("make_faults: mov $0x12345678, %r8d; mov $0x5a5a5a5a, %r11d\n"
        "fault_load: mov (%rdi), %rax; nop\n"
        "xor %edx, %edx; xor %ecx, %ecx\n"
        "fault_divide: div %ecx\n"
        "fault_illegal: ud2\n"
        "fault_break: int3\n"
        "fault_end: ret\n");
static void mend(int signo, siginfo_t *info, void *context)
{
	ucontext_t *c = context;
	if (signo == SIGSEGV)
		mprotect(page, 4096, 3);
	else if (signo != SIGTRAP)
		c->uc_mcontext.gregs[REG_RIP] += 2;
}
static void faults(void)
{
	struct sigaction a = {.sa_sigaction = mend, .sa_flags = SA_SIGINFO};
	sigaction(SIGSEGV, &a, NULL), sigaction(SIGFPE, &a, NULL), sigaction(SIGILL, &a, NULL), sigaction(SIGTRAP, &a, NULL);
	mprotect(page, 4096, PROT_NONE);
	traced();
	make_faults(page);
	_exit(12);
}
/* Each of them stops; one that the tracer keeps back comes again, but the breakpoint's, which has been passed. */
static void every_fault(void)
{
	int status, stops = 0;
	begin(faults);
	while (status = waited(child), WIFSTOPPED(status) && stops < 20) {
		siginfo_t si;
		regs_t r = regs_of(child);
		ptrace(PTRACE_GETSIGINFO, child, 0, &si);
		if (WSTOPSIG(status) != SIGSTOP)
			printf("stop %x, code %d, at the page %d, at the instruction %d, rip %ld, r8 %llx, r11 %llx, call %ld\n", status, si.si_code,
			       si.si_addr == page, si.si_addr == (void *)r.rip, (long)r.rip - (long)fault_load, r.r8, r.r11, (long)r.orig_rax);
		ptrace(PTRACE_CONT, child, 0, WSTOPSIG(status) != SIGSTOP && stops++ & 1 ? WSTOPSIG(status) : 0);
	}
	show(child, status);
}
int main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	page = mmap(NULL, 4096, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (pipe(hold) || pipe(tell) || argc < 2)
		return 1;
	switch (argv[1][0]) {
	case 'a': follow(0, 1); break;
	case 'b': follow(PTRACE_O_TRACEFORK | PTRACE_O_TRACEEXIT, 1); break;
	case 'c': follow(0, 0); break;
	case 'd': change(); break;
	case 'e': seize(); break;
	case 'f': inject(0); break;
	case 'g': inject(1); break;
	case 'h': another_thread(); break;
	case 'i': group_stop(); break;
	case 'j': exec(); break;
	case 'k': no_faults(); break;
	case 'l': every_fault(); break;
	}
	return 0;
}
END2
for how in a b c d e f g h i j k l; do
	native timeout 20 ./tracing $how
	[ "$NATIVE_STATUS" = 0 ] || skip "processes cannot be traced here"
	cp native.out native.$how
done
for options in "-f none" "" --verify; do
	read -ra RECORD_OPTIONS <<<"$options"
	for how in a b c d e f g h i j k l; do
		recorded timeout 60 ./tracing $how
		cmp native.$how recorded.out || {
			diff -a native.$how recorded.out | head -n 10
			fail "$options, $how: not as natively"
		}
		[ "$RECORDED_STATUS" = 0 ] || fail "$options, $how: exit status $RECORDED_STATUS"
		! grep -q incomplete recorded.err || fail "$options, $how: $(cat recorded.err)"
	done
done
