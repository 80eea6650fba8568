# Threads that come to new code at the same moment: each round the code is rewritten, or mapped anew, and all of them set off, while a timer interrupts.
. "$(dirname "$0")/../lib.sh"
cc_program together -pthread <<'END'
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#define THREADS 4
#define ROUNDS 40
#define BLOCKS 200
#define BYTES 16384
static uint8_t *page, *at;
static uint32_t imm[BLOCKS];
static pthread_barrier_t gate;
static uint32_t result[THREADS];
static volatile int ticks;

static void put(const void *p, size_t n)
{
	memcpy(at, p, n);
	at += n;
}
#define PUT(bytes) put(bytes, sizeof bytes - 1)

static void put32(int64_t v)
{
	int32_t w = (int32_t)v;
	put(&w, 4);
}

/* unsigned f(unsigned a, unsigned c, unsigned turns) */
static void write_code(uint32_t round)
{
	uint8_t *sub = page, *start;
	at = page;
	PUT("\x8d\x04\x08\xc3");                 /* sub: lea eax, [rax + rcx]; ret */
	PUT("\x89\xf8\x89\xf1");                 /* mov eax, edi; mov ecx, esi */
	start = at;
	for (uint32_t k = 0; k < BLOCKS; k++) {
		imm[k] = (round * BLOCKS + k) * 2654435761u;
		PUT("\x05"), put32(imm[k]);          /* add eax, imm */
		for (int n = 0; n < 10; n++)
			PUT("\xf3\x90");                 /* pause: so that one thread is in here while another translates what comes next */
		PUT("\xa8\x04\x74\x02\x31\xc8");     /* test al, 4; jz over; xor eax, ecx */
		if (k % 3 == 0)
			PUT("\xe8"), put32(sub - (at + 4));
		if (k % 4 == round % 4)
			PUT("\xe9\x02\x00\x00\x00\x0f\x0b"); /* jmp over; ud2 */
	}
	PUT("\xff\xca\x0f\x85"), put32(start - (at + 4)); /* dec edx; jnz start */
	PUT("\xc3");
}

static uint32_t expected(uint32_t a, uint32_t c, uint32_t turns)
{
	while (turns--)
		for (uint32_t k = 0; k < BLOCKS; k++) {
			a += imm[k];
			if (a & 4)
				a ^= c;
			if (k % 3 == 0)
				a += c;
		}
	return a;
}

static void *work(void *arg)
{
	uint32_t me = (uint32_t)(uintptr_t)arg;
	for (int r = 0; r < ROUNDS; r++) {
		pthread_barrier_wait(&gate);
		result[me] = ((uint32_t(*)(uint32_t, uint32_t, uint32_t))(uintptr_t)(page + 4))(me, me * 77 + 5, 3);
		pthread_barrier_wait(&gate);
	}
	return NULL;
}

static void on_tick(int s)
{
	(void)s;
	ticks++;
}

int main(void)
{
	pthread_t t[THREADS];
	struct itimerval every = {{0, 700}, {0, 700}};
	int wrong = 0;
	page = mmap(NULL, BYTES, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pthread_barrier_init(&gate, NULL, THREADS + 1);
	signal(SIGALRM, on_tick);
	for (uintptr_t k = 0; k < THREADS; k++)
		pthread_create(&t[k], NULL, work, (void *)k);
	setitimer(ITIMER_REAL, &every, NULL);
	for (uint32_t r = 0; r < ROUNDS; r++) {
		if (r % 2)
			mmap(page, BYTES, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
		write_code(r);
		pthread_barrier_wait(&gate);
		pthread_barrier_wait(&gate);
		for (uint32_t k = 0; k < THREADS; k++)
			wrong += result[k] != expected(k, k * 77 + 5, 3);
	}
	for (int k = 0; k < THREADS; k++)
		pthread_join(t[k], NULL);
	printf("%d wrong\n", wrong);
	return wrong != 0;
}
END
for format in none none none none none none none none dep cf_bit; do
	out=$("$TW" record -q -f $format --sink=count -- ./together) || fail "$format: $out"
done
whole ./together
