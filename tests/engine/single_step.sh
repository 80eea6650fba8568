# A program that sets the trap flag for itself, with popfq or in the context that a handler returns to: one SIGTRAP behind each of its instructions, and
# none for the engine's.
. "$(dirname "$0")/../lib.sh"
cc_program steps -D_GNU_SOURCE -mno-red-zone -static -no-pie <<'END2'
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>
#define TF 0x100
static volatile int traps, wrong;
static unsigned long sum;
static void on_trap(int signo, siginfo_t *i, void *context)
{
	greg_t *g = ((ucontext_t *)context)->uc_mcontext.gregs;
	(void)signo;
	traps++;
	sum = sum * 31 + (unsigned long)g[REG_RIP] + (unsigned long)g[REG_RCX];
	wrong += i->si_code != TRAP_TRACE || i->si_addr != (void *)g[REG_RIP];
}
static void set(int signo, siginfo_t *i, void *context)
{
	(void)i;
	greg_t *flags = &((ucontext_t *)context)->uc_mcontext.gregs[REG_EFL];
	*flags = signo == SIGUSR1 ? *flags | TF : *flags & ~(greg_t)TF;
}
static void show(const char *what)
{
	printf("%s: %d traps, sum %lx, wrong %d\n", what, traps, sum, wrong);
	traps = 0;
	sum = 0;
}
static void on(int signo, void (*f)(int, siginfo_t *, void *))
{
	struct sigaction a = {.sa_sigaction = f, .sa_flags = SA_SIGINFO};
	sigaction(signo, &a, NULL);
}
#define BEGIN "pushfq\norq $0x100, (%%rsp)\npopfq\n"
#define END   "pushfq\nandq $~0x100, (%%rsp)\npopfq\nnop\n"
#define RUN(insns, ...) asm volatile(BEGIN insns END : : __VA_ARGS__ : "rax", "rcx", "rdx", "rsi", "rdi", "r11", "cc", "memory")
static void run(void)
{
	static unsigned long data[4];
	RUN("nop\nmov $20, %%ecx\n1: dec %%ecx\njnz 1b\nnop\n");
	show("loop");
	RUN("mov %%rsp, %%rax\npush %%rax\npop %%rax\ncall 2f\njmp 3f\n2: add $1, %%rax\nret\n3: lea 4f(%%rip), %%rcx\njmp *%%rcx\nnop\n4:\n");
	show("calls");
	RUN("mov $39, %%eax\nsyscall\nmov $9, %%ecx\nmov (%0), %%rax\nadd %%rax, 8(%0)\n", "r"(data));
	show("system call");
	syscall(SYS_tgkill, getpid(), getpid(), SIGUSR1);
	asm volatile("mov $9, %%ecx\n1: lea (%%rcx,%%rcx), %%edx\npush %%rdx\npop %%rdx\ndec %%ecx\njnz 1b\n" : : : "rcx", "rdx", "cc", "memory");
	syscall(SYS_tgkill, getpid(), getpid(), SIGUSR2);
	show("signals");
}
int main(void)
{
	on(SIGTRAP, on_trap);
	on(SIGUSR1, set);
	on(SIGUSR2, set);
	for (int k = 0; k < 3; k++)
		run();
	return 0;
}
END2
whole ./steps
for f in none cf_bit dep06; do
	RECORD_OPTIONS=(-f $f)
	same_as_native ./steps
done
