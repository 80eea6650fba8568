# Selectors loaded into %fs and %gs: null ones, flat ones, those of an LDT, such as do not exist; by mov, pop, lfs and lgs.
. "$(dirname "$0")/../lib.sh"
cc_program selectors -D_GNU_SOURCE -no-pie -fno-pie -fno-stack-protector <<'END2'
#include <asm/ldt.h>
#include <asm/prctl.h>
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#define SELECTOR(entry) ((entry) << 3 | 7)
static unsigned data[2][16] = {{1, 2, 3}, {11, 12, 13}};
static sigjmp_buf back;
static void on_fault(int signo)
{
	siglongjmp(back, signo);
}
static int describe(int entry, const void *base)
{
	struct user_desc d = {.entry_number = (unsigned)entry, .base_addr = (unsigned)(unsigned long)base, .limit = 0xfffff, .seg_32bit = 1,
	                      .limit_in_pages = 1, .useable = 1};
	return (int)syscall(SYS_modify_ldt, 1, &d, sizeof d);
}
static unsigned at(unsigned long offset)
{
	unsigned v;
	__asm__ volatile("movl %%gs:(%1), %0" : "=r"(v) : "r"(offset));
	return v;
}
static unsigned short selector(void)
{
	unsigned short s;
	__asm__ volatile("movw %%gs, %0" : "=r"(s));
	return s;
}
static void by_mov(unsigned s)
{
	__asm__ volatile("movw %w0, %%gs" : : "r"(s));
}
/* Prefixes: of a register that has a number above 7, and of a register with more bits than are wanted. */
static void by_high(unsigned long s)
{
	register unsigned long r9 __asm__("r9") = s;
	__asm__ volatile("movq %0, %%gs" : : "r"(r9));
}
static unsigned long by_wide_lgs(unsigned offset, unsigned short s)
{
	struct {
		unsigned offset;
		unsigned short selector, none, wide_selector;
	} far = {offset, s, 0, s}; /* to AMD's processors the offset has 32 bits in spite of REX.W */
	register unsigned long r10 __asm__("r10");
	__asm__ volatile(".byte 0x4c, 0x0f, 0xb5, 0x10" : "=r"(r10) : "a"(&far), "m"(far)); /* lgs r10, [rax] */
	return r10;
}
static void by_memory(const unsigned short *s, long k)
{
	__asm__ volatile("movw (%0, %1, 2), %%gs" : : "r"(s), "r"(k));
}
static void by_pop(unsigned long s)
{
	__asm__ volatile("lea -128(%%rsp), %%rsp; pushq %0; popq %%gs; lea 128(%%rsp), %%rsp" : : "r"(s) : "memory");
}
static unsigned long by_lgs(unsigned offset, unsigned short s)
{
	struct {
		unsigned offset;
		unsigned short selector;
	} __attribute__((packed)) far = {offset, s};
	unsigned long r = ~0ul;
	__asm__ volatile("lgs %1, %k0" : "+r"(r) : "m"(far));
	return r;
}
static unsigned by_lfs(unsigned short s)
{
	struct {
		unsigned short offset, selector;
	} far = {4, s};
	unsigned long base, r = ~0ul, v;
	syscall(SYS_arch_prctl, ARCH_GET_FS, &base);
	__asm__ volatile("lfsw %2, %w0; movzwl %w0, %k1; movl %%fs:(%q1), %k1; wrfsbase %3" : "+r"(r), "=&r"(v) : "m"(far), "r"(base));
	return (unsigned)v + (unsigned)(r >> 48 != 0xffff || (r & 0xffff) != 4) * 100;
}
static void *in_thread(void *unused)
{
	by_mov(SELECTOR(1));
	for (int i = 0; i < 100; i++) {
		if (at(4) != 12)
			printf("thread: %u\n", at(4));
		usleep(100);
	}
	return unused;
}
int main(void)
{
	pthread_t t;
	struct sigaction a = {.sa_handler = on_fault, .sa_flags = SA_NODEFER};
	const unsigned short table[] = {0, SELECTOR(1), SELECTOR(0)};
	if (describe(0, data[0]) || describe(1, data[1]))
		return 77;
	by_mov(0x2b);
	printf("flat: %u, %x\n", at((unsigned long)&data[1][2]), selector());
	by_mov(0);
	printf("null: %u, %x\n", at((unsigned long)&data[0][2]), selector());
	for (int i = 0; i < 100; i++) {
		by_mov(SELECTOR(0));
		unsigned first = at(0);
		by_memory(table, 1);
		unsigned second = at(8);
		by_pop(SELECTOR(0));
		if (first != 1 || second != 13 || at(8) != 3)
			printf("%u %u %u\n", first, second, at(8));
	}
	printf("ldt: %u, %x\n", at(4), selector());
	printf("lgs: %lx %u %x\n", by_lgs(0x80000008, SELECTOR(1)), at(0), selector());
	by_high(SELECTOR(1));
	printf("high: %u\n", at(0));
	by_high(SELECTOR(0));
	unsigned long wide = by_wide_lgs(0x89abcdef, SELECTOR(1));
	printf("wide: %lx %u\n", wide, at(0));
	pthread_create(&t, NULL, in_thread, NULL);
	by_mov(SELECTOR(0));
	for (int i = 0; i < 100; i++) {
		if (at(4) != 2)
			printf("main: %u\n", at(4));
		usleep(100);
	}
	pthread_join(t, NULL);
	printf("still: %u, %x\n", at(4), selector());
	sigaction(SIGSEGV, &a, NULL);
	if (!sigsetjmp(back, 1))
		by_mov(SELECTOR(9));
	else
		printf("no such: %u\n", at(4));
	if (!sigsetjmp(back, 1))
		by_memory((void *)16, 0);
	else
		printf("no memory: %u\n", at(4));
	by_mov(0);
	syscall(SYS_arch_prctl, ARCH_SET_GS, data[1]);
	printf("base: %u\n", at(4));
	printf("lfs: %u\n", by_lfs(SELECTOR(1)));
	return errno == EBADF;
}
END2
native ./selectors
[ "$NATIVE_STATUS" = 77 ] && skip "no LDT here"
[ "$NATIVE_STATUS" = 0 ] || skip "no wrfsbase here"
whole ./selectors
