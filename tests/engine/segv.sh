# A handler of SIGSEGV sees every register as it is natively, may change them, and the program goes on from what it left.
. "$(dirname "$0")/../lib.sh"
cc_program segv -static -no-pie -fno-pie -D_GNU_SOURCE <<'END'
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

static char buffer[64] __attribute__((aligned(64)));
char *volatile stack_at;
static int n;

static void handler(int sig, siginfo_t *info, void *context)
{
	static const char *const names[] = {"r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "rdi", "rsi", "rbp", "rbx", "rdx", "rax", "rcx", "rsp", "rip"};
	ucontext_t *c = context;
	greg_t *g = c->uc_mcontext.gregs;
	printf("%d: signal %d code %d address %p", ++n, sig, info->si_code, info->si_addr);
	for (int i = 0; i < 17; i++)
		printf(" %s=%llx", names[i], i == REG_RSP ? g[i] - (long long)stack_at : g[i]);
	printf(" flags=%llx trap=%lld error=%llx cr2=%llx", g[REG_EFL] & ~0x10000ll, g[REG_TRAPNO], g[REG_ERR], g[REG_CR2]);
	printf(" xmm3=%x mxcsr=%x\n", c->uc_mcontext.fpregs->_xmm[3].element[1], c->uc_mcontext.fpregs->mxcsr);
	g[REG_RAX] = (greg_t)buffer; /* the faulting instructions below all address through rax */
	c->uc_mcontext.fpregs->_xmm[3].element[1]++;
}

/* Of a call to where no code is: as if it had returned. */
static void fetch_handler(int sig, siginfo_t *info, void *context)
{
	greg_t *g = ((ucontext_t *)context)->uc_mcontext.gregs;
	printf("%d: signal %d code %d address %p", ++n, sig, info->si_code, info->si_addr);
	printf(" rip=%llx trap=%lld error=%llx cr2=%llx\n", g[REG_RIP], g[REG_TRAPNO], g[REG_ERR], g[REG_CR2]);
	g[REG_RIP] = *(greg_t *)g[REG_RSP];
	g[REG_RSP] += 8;
}

#define SET                                                                                                                    \
	"mov $0x1111, %%ecx\n\tmov $0x2222, %%edx\n\tmov $0x3333, %%ebx\n\tmov $0x4444, %%esi\n\tmov $0x5555, %%edi\n\t"       \
	"mov $0x6666, %%r8d\n\tmov $0x7777, %%r9d\n\tmov $0x8888, %%r10d\n\tmov $0x9999, %%r11d\n\tmov $0xaaaa, %%r12d\n\t"    \
	"mov $0xbbbb, %%r13d\n\tmov $0xcccc, %%r14d\n\tmov $0xdddd, %%r15d\n\tmov %%rsp, stack_at(%%rip)\n\t"                   \
	"movabs $0x123456789abcdef0, %%rax\n\tpush %%rax\n\tpush %%rax\n\tmovups (%%rsp), %%xmm3\n\tpop %%rax\n\tpop %%rax\n\t"
#define FAULT(flags, ...)                                                                                                      \
	__asm__ volatile("push %%rbp\n\tmov $0xeeee, %%ebp\n\t" SET "xor %%eax, %%eax\n\t" flags "\n\t" __VA_ARGS__ "\n\tpop %%rbp" ::          \
			     : "rax", "rbx", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "xmm3", "memory")

int main(void)
{
	struct sigaction a = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
	sigaction(SIGSEGV, &a, NULL);
	sigaction(SIGBUS, &a, NULL);
	FAULT("stc", "mov (%%rax), %%rdx");
	FAULT("cmp $1, %%eax", "mov %%rdx, 8(%%rax)");
	FAULT("cmp %%eax, %%eax", "lea 8(%%rcx), %%rcx\n\tpush %%rcx\n\tincl 4(%%rax)\n\tpop %%rcx");
	FAULT("stc", "1: jmp 2f\n\t2: mov %%rcx, 16(%%rax)\n\tadc %%rcx, 16(%%rax)");
	FAULT("clc", "movups %%xmm3, 32(%%rax)");
	FAULT("std", "movb %%cl, (%%rax)\n\tcld");
	FAULT("movabs $0x8000000000000000, %%rax", "mov %%cl, (%%rax)"); /* not canonical: a general protection fault */
	FAULT("clc", "mov $3, %%ecx\n\t3: mov (%%rax), %%rbx\n\tloop 3b");
	printf("%d faults, %x %x\n", n, buffer[0], *(int *)(buffer + 4));

	/* a page that comes and goes, touched from ordinary code */
	char *page = mmap((void *)0x200000000000, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	for (int i = 0; i < 3; i++) {
		mprotect(page, 4096, PROT_NONE);
		__asm__ volatile("mov %0, %%rax\n\tmovl $7, 100(%%rax)" ::"r"(page) : "rax", "memory");
	}
	printf("%d faults\n", n);

	/* calls of what is not mapped, may not be executed */
	static volatile long nowhere[] = {0, 0x1234, 0x200000000010, 0x100000000000};
	a.sa_sigaction = fetch_handler;
	sigaction(SIGSEGV, &a, NULL);
	mprotect(page, 4096, PROT_READ);
	n += page[0];
	for (int i = 0; i < 4; i++)
		((void (*)(void))nowhere[i])();
	printf("%d faults\n", n);
	return 5;
}
END
whole ./segv
