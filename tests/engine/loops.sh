# Loops that record a count: every reference is there, in order, whatever interrupts them; registers are the program's own in signal handlers; a
# loop whose code changes, or that waits for another thread, lets go.
. "$(dirname "$0")/../lib.sh"
cat >program.c <<'E2'
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>

enum { N = 4096, ROUNDS = 1000 };
uint32_t array[N];
static volatile unsigned long alarms, wrong;

/* Fills the array from `from` up, with every register that the loop does not use at a value of its own; how many of them changed? */
static __attribute__((noinline)) unsigned long fill(uint32_t *from, uint32_t *to)
{
	unsigned long bad = 0;
	__asm__ volatile("push %%rbp\n mov $0x1505, %%ebp\n mov $0x1508, %%r8d\n mov $0x1509, %%r9d\n mov $0x150a, %%r10d\n mov $0x150b, %%r11d\n"
	                 "mov $0x150c, %%r12d\n mov $0x150d, %%r13d\n mov $0x150e, %%r14d\n mov $0x150f, %%r15d\n"
	                 ".globl the_store\n the_store: movl $1, (%1)\n add $4, %1\n cmp %2, %1\n jne the_store\n"
	                 "xor $0x1505, %%rbp\n xor $0x1508, %%r8\n xor $0x1509, %%r9\n xor $0x150a, %%r10\n xor $0x150b, %%r11\n xor $0x150c, %%r12\n"
	                 "xor $0x150d, %%r13\n xor $0x150e, %%r14\n xor $0x150f, %%r15\n or %%r8, %%rbp\n or %%r9, %%rbp\n or %%r10, %%rbp\n"
	                 "or %%r11, %%rbp\n or %%r12, %%rbp\n or %%r13, %%rbp\n or %%r14, %%rbp\n or %%r15, %%rbp\n mov %%rbp, %0\n pop %%rbp\n"
	                 : "=&a"(bad), "+D"(from)
	                 : "S"(to)
	                 : "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "memory", "cc");
	return bad;
}
extern const char the_store[];

static int is_own(const greg_t *g)
{
	return g[REG_RBP] == 0x1505 && g[REG_R8] == 0x1508 && g[REG_R9] == 0x1509 && g[REG_R10] == 0x150a && g[REG_R11] == 0x150b &&
	       g[REG_R12] == 0x150c && g[REG_R13] == 0x150d && g[REG_R14] == 0x150e && g[REG_R15] == 0x150f;
}

static void on_alarm(int signo, siginfo_t *info, void *context)
{
	const greg_t *g = ((ucontext_t *)context)->uc_mcontext.gregs;
	(void)signo, (void)info;
	uintptr_t at = (uintptr_t)g[REG_RIP] - (uintptr_t)the_store;
	alarms++;
	if (at >= 16)
		return;
	uintptr_t i = ((uintptr_t)g[REG_RDI] - (uintptr_t)array) / 4;
	wrong += !is_own(g) || i > N || (uintptr_t)g[REG_RSI] != (uintptr_t)(array + N);
}

static sigjmp_buf back;
static uintptr_t fault_at, fault_rdi;
static void on_fault(int signo, siginfo_t *info, void *context)
{
	const greg_t *g = ((ucontext_t *)context)->uc_mcontext.gregs;
	(void)signo;
	fault_at = (uintptr_t)info->si_addr;
	fault_rdi = (uintptr_t)g[REG_RDI];
	wrong += !is_own(g) || g[REG_RIP] != (greg_t)(uintptr_t)the_store;
	siglongjmp(back, 1);
}

static void handle(int signo, void (*f)(int, siginfo_t *, void *))
{
	struct sigaction a = {.sa_flags = SA_SIGINFO | SA_RESTART};
	a.sa_sigaction = f;
	sigaction(signo, &a, NULL);
}

/* A loop that ends when another thread rewrites its code, and one that ends when another says so. */
static unsigned char *code;
static volatile int flag, spinning;
static void *change(void *arg)
{
	(void)arg;
	while (!spinning)
		usleep(1000);
	usleep(20000);
	code[0] = 0xc3; /* ret */
	while (spinning < 2)
		usleep(1000);
	usleep(20000);
	for (int i = 0; i < 50; i++) { /* work for the engine meanwhile */
		void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		*(unsigned char *)p = 0xc3;
		((void (*)(void))(uintptr_t)p)();
		munmap(p, 4096);
	}
	flag = 1;
	return NULL;
}

static void spin(void)
{
	static const unsigned char loop[] = {0x48, 0xff, 0xc0, 0xeb, 0xfb}; /* inc rax; jmp to it */
	pthread_t t;
	code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memcpy(code, loop, sizeof loop);
	pthread_create(&t, NULL, change, NULL);
	spinning = 1;
	((void (*)(void))(uintptr_t)code)();
	spinning = 2;
	while (!flag)
		__asm__ volatile("pause");
	pthread_join(t, NULL);
}

int main(void)
{
	struct itimerval every = {{0, 100}, {0, 100}}, never = {{0, 0}, {0, 0}};
	handle(SIGALRM, on_alarm);
	handle(SIGSEGV, on_fault);
	setitimer(ITIMER_REAL, &every, NULL);
	for (int r = 0; r < ROUNDS; r++)
		wrong += fill(array, array + N) != 0;
	setitimer(ITIMER_REAL, &never, NULL);
	/* runs into a page that is not there */
	uint32_t *wall = mmap(NULL, 2 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	mprotect((char *)wall + 4096, 4096, PROT_NONE);
	for (int r = 0; r < 5; r++)
		if (!sigsetjmp(back, 1))
			fill(wall, wall + 2048);
	wrong += fault_at != (uintptr_t)wall + 4096 || fault_rdi != fault_at;
	spin();
	printf("%d %p %p %s\n", alarms > 5, (void *)array, (const void *)the_store, wrong ? "wrong" : "right");
	return wrong != 0;
}
E2
$CC -O1 -pthread -static -o program program.c || fail "the program does not compile"
for options in "-f dep" "-f dep-c" "-f dep --hot=1"; do
	# shellcheck disable=SC2086 # options
	timeout 60 "$TW" record -q $options -o r.tw ./program >out || fail "$options: exit status $?: $(cat out)"
	read -r many array store right <out
	[ "$many $right" = "1 right" ] || fail "$options: $(cat out)"
	"$TW" check r.tw >check.out 2>&1 || fail "$options: $(cat check.out)"
	[ "$options" = "-f dep-c" ] && continue
	# each round writes the array from its first element to its last; then five times up to the wall, whose last store faults and is not made
	"$TW" dump --refs r.tw | awk -v pc="${store#0x}" -v n=4096 -v rounds=1000 -v base=$((array)) '
		BEGIN { for (k = 0; k < n; k++) at[k] = sprintf("%x", base + 4 * k) }
		$6 == "faulted" { next }
		$2 == pc && ++stores <= n * rounds && $4 != at[(stores - 1) % n] { print "store " stores " is at " $4; wrong = 1; exit }
		END { if (!wrong && stores != n * rounds + 5 * 1024) { print stores " stores"; wrong = 1 } exit wrong }' ||
		fail "$options: stores are missing, too many, or wrong"
	"$TW" dump --code r.tw | grep -q 'how often it ran in a row' || fail "$options: no loop was made"
done
# a process that is killed in a loop leaves its count
cat >killed.c <<'E2'
#include <stdint.h>
#include <sys/time.h>
uint32_t array[4096];
int main(void)
{
	volatile uint32_t *p = array;
	for (long i = 0; i < 10000000; i++)
		p[i & 4095] = 1;
	setitimer(ITIMER_VIRTUAL, &(struct itimerval){.it_value.tv_sec = 1}, 0); /* SIGVTALRM has no handler */
	for (;;)
		__asm__ volatile("" ::: "memory");
}
E2
$CC -O1 -static -o killed killed.c || fail "killed.c does not compile"
"$TW" record -q -f dep -o killed.tw ./killed
[ $? = 154 ] || fail "the killed program's status"
"$TW" check killed.tw >check.out 2>&1 || fail "killed: $(cat check.out)"
insns=$("$TW" info --json killed.tw | sed -n 's/.*"instructions": *\([0-9]*\).*/\1/p' | head -n 1)
[ "$insns" -gt 100000000 ] || fail "killed in a loop: $insns instructions only"
