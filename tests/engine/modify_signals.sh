# Code that changes its own page while signals arrive, with stores across two such pages, and with stores that fault: what runs is always the new code, and
# the handler sees no flag of the engine's.
. "$(dirname "$0")/../lib.sh"
cat >program.c <<'E2'
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <ucontext.h>

#define TF 0x100

static volatile unsigned ticks;
static volatile uint64_t trapped, flags_seen;

static void on_tick(int signo, siginfo_t *info, void *context)
{
	(void)signo;
	(void)info;
	flags_seen |= (uint64_t)((ucontext_t *)context)->uc_mcontext.gregs[REG_EFL];
	ticks++;
}

static void on_fault(int signo, siginfo_t *info, void *context)
{
	greg_t *r = ((ucontext_t *)context)->uc_mcontext.gregs;
	(void)signo;
	(void)info;
	flags_seen |= (uint64_t)r[REG_EFL];
	trapped++;
	r[REG_RIP] += 2; /* mov [rcx], esi */
}

/*
 * f(n in edi, value in esi, where in rcx): 1: mov [rcx], esi; L: mov eax, imm32 (at `imm`); add edx, eax; dec edi; jnz 1b; mov eax, edx; ret
 */
static const uint8_t text[] = {0x31, 0xd2, 0x89, 0x31, 0xb8, 0, 0, 0, 0, 0x01, 0xc2, 0xff, 0xcf, 0x75, 0xf3, 0x89, 0xd0, 0xc3};

static unsigned run(uint8_t *code, unsigned n, unsigned value, void *where)
{
	unsigned result, pushed = n;
	__asm__ volatile("call *%4" : "=a"(result), "+D"(pushed) : "S"(value), "c"(where), "r"(code) : "rdx", "memory", "cc");
	return result;
}

int main(void)
{
	const struct itimerval every = {{0, 200}, {0, 200}};
	struct sigaction a = {.sa_sigaction = on_tick, .sa_flags = SA_SIGINFO | SA_RESTART};
	struct sigaction f = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
	uint8_t *page = mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	mprotect(page + 2 * 4096, 4096, PROT_NONE);
	sigaction(SIGALRM, &a, NULL);
	sigaction(SIGSEGV, &f, NULL);
	setitimer(ITIMER_REAL, &every, NULL);

	uint8_t *code = page + 256; /* its own page */
	memcpy(code, text, sizeof text);
	for (unsigned k = 1; k < 500; k++)
		if (run(code, 3, k, code + 5) != 3 * k)
			return 1;

	code = page + 4096 - 7; /* the immediate is in both pages */
	memcpy(code, text, sizeof text);
	for (unsigned k = 1; k < 500; k++)
		if (run(code, 3, k * 65537, code + 5) != 3 * k * 65537)
			return 2;

	code = page + 2 * 4096 - sizeof text; /* the store begins in its page and faults in the next */
	memcpy(code, text, sizeof text);
	code[5] = 7;
	for (unsigned k = 1; k < 100; k++)
		if (run(code, 3, k, page + 2 * 4096 - 1) != 21 || trapped != 3 * k)
			return 3;

	for (unsigned k = 1; ticks < 5 && k; k++)
		code[5] = 7;
	return flags_seen & TF ? 4 : 0;
}
E2
$CC -D_GNU_SOURCE -O1 -o program program.c || fail "the program does not compile"
./program || fail "natively: exit status $?"
for f in none dep dep06 bb_pc+mem_addr; do
	"$TW" record -q --sink=count -f "$f" -o "$f.tw" ./program
	status=$?
	[ $status = 0 ] || fail "format $f: exit status $status"
done
