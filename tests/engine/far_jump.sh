# Jumps and calls through memory at an address that code in the cache does not reach: where the memory cannot be read, and where a signal comes in between, the
# registers are the program's.
. "$(dirname "$0")/../lib.sh"
cat >program.c <<'E2'
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <ucontext.h>

#define FAR ((uint8_t *)0x5a0000000000)
#define RCX 0x0123456789abcdef

static uint8_t *expected_pc, *begin, *end;
static volatile unsigned faults, ticks, wrong;

static void on_fault(int signo, siginfo_t *info, void *context)
{
	greg_t *r = ((ucontext_t *)context)->uc_mcontext.gregs;
	(void)signo;
	faults++;
	wrong += r[REG_RCX] != RCX || r[REG_RIP] != (greg_t)expected_pc || info->si_addr != FAR + 4096;
	r[REG_RIP] += 6; /* the jump or the call */
}

static void on_tick(int signo, siginfo_t *info, void *context)
{
	greg_t *r = ((ucontext_t *)context)->uc_mcontext.gregs;
	(void)signo;
	(void)info;
	if (r[REG_RIP] >= (greg_t)begin && r[REG_RIP] < (greg_t)end) {
		ticks++;
		wrong += r[REG_RCX] != RCX;
	}
}

static void put(uint8_t **at, const void *bytes, size_t n)
{
	memcpy(*at, bytes, n);
	*at += n;
}

/* jmp or call [rip + d], to where `cell` says */
static void put_through(uint8_t **at, uint8_t modrm, const uint8_t *cell)
{
	const uint8_t op[] = {0xff, modrm};
	int32_t d = (int32_t)(cell - (*at + 6));
	put(at, op, 2);
	put(at, &d, 4);
}

static void put_rcx(uint8_t **at)
{
	const uint64_t value = RCX;
	put(at, "\x48\xb9", 2); /* mov rcx, imm64 */
	put(at, &value, 8);
}

int main(void)
{
	const struct itimerval every = {{0, 100}, {0, 100}};
	struct sigaction f = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
	struct sigaction t = {.sa_sigaction = on_tick, .sa_flags = SA_SIGINFO | SA_RESTART};
	uint8_t *code = mmap(FAR, 3 * 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0), *p = code;
	if (code != FAR)
		return 77;
	sigaction(SIGSEGV, &f, NULL);
	sigaction(SIGALRM, &t, NULL);
	mprotect(code + 4096, 4096, PROT_NONE);
	for (uint8_t modrm = 0x15; modrm <= 0x25; modrm += 0x10) { /* call, jmp */
		p = code;
		put_rcx(&p);
		expected_pc = p;
		put_through(&p, modrm, code + 4096);
		put(&p, "\xc3", 1);
		((void (*)(void))code)();
	}
	if (faults != 2 || wrong)
		return 1;

	/* mov rcx, value; mov eax, n; L: jmp [cell] (to the next); dec eax; jnz L; ret */
	const uint32_t n = 100000;
	p = code;
	put_rcx(&p);
	put(&p, "\xb8", 1);
	put(&p, &n, 4);
	begin = p;
	for (int k = 0; k < 8; k++) {
		uint8_t *next = p + 6;
		put_through(&p, 0x25, code + 8192 + 8 * k);
		memcpy(code + 8192 + 8 * k, &next, 8);
	}
	put(&p, "\xff\xc8\x75", 3);
	put(&p, (uint8_t[]){(uint8_t)(begin - (p + 1))}, 1);
	end = p;
	put(&p, "\xc3", 1);
	setitimer(ITIMER_REAL, &every, NULL);
	for (unsigned k = 0; ticks < 500 && k < 200; k++)
		((void (*)(void))code)();
	return wrong ? 2 : 0;
}
E2
$CC -D_GNU_SOURCE -O1 -o program program.c || fail "the program does not compile"
./program
status=$?
[ $status = 77 ] && skip "the address is taken"
[ $status = 0 ] || fail "natively: exit status $status"
for f in none dep dep06; do
	"$TW" record -q --sink=count -f "$f" -o "$f.tw" ./program
	status=$?
	[ $status = 0 ] || fail "format $f: exit status $status"
done
