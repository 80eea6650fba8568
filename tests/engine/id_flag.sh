# EFLAGS.ID, which the kernel does not set again when a handler returns, stays as the program has it: over full buffers, a fault of its own, code that changes.
. "$(dirname "$0")/../lib.sh"
cat >program.c <<'E2'
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#define ID 0x200000ul

static uint64_t flags(uint64_t flip)
{
	uint64_t f;
	__asm__ volatile("pushfq; xorq %1, (%%rsp); popfq; pushfq; popq %0" : "=r"(f) : "r"(flip) : "cc", "memory");
	return f & ID;
}

static void on_fault(int signo, siginfo_t *info, void *context)
{
	(void)signo;
	(void)info;
	((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP] += 2; /* ud2 */
}

int main(void)
{
	struct sigaction a = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
	static void *chain[64];
	static const uint8_t text[] = {0xb8, 0, 0, 0, 0, 0xc3}; /* mov eax, 0; ret */
	uint8_t *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memcpy(code, text, sizeof text);
	sigaction(SIGILL, &a, NULL);
	for (int k = 0; k < 64; k++)
		chain[k] = &chain[(k * 29 + 7) % 64];
	for (int set = 1; set >= 0; set--) {
		const uint64_t expected = flags(flags(0) == (set ? ID : 0) ? 0 : ID);
		void **p = chain;
		if (expected != (set ? ID : 0))
			return 77; /* a processor that has no such flag */
		for (int k = 0; k < 3000000; k++) {
			p = *p;
			if (k % 16 == 0 && flags(0) != expected)
				return 1;
		}
		__asm__ volatile("ud2");
		if (flags(0) != expected)
			return 2;
		for (int k = 0; k < 100; k++) {
			code[1] = (uint8_t)k;
			if (((int (*)(void))code)() != k || flags(0) != expected)
				return 3;
		}
	}
	return 0;
}
E2
$CC -D_GNU_SOURCE -O1 -o program program.c || fail "the program does not compile"
./program
status=$?
[ $status = 77 ] && skip "no EFLAGS.ID here"
[ $status = 0 ] || fail "natively: exit status $status"
for f in none dep bb_pc mem_addr dep06 cf_bit; do
	"$TW" record -q --sink=count -f "$f" -o "$f.tw" ./program
	status=$?
	[ $status = 0 ] || fail "format $f: exit status $status"
done
