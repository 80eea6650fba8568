/*
 * What test programs in C begin with: no libc, a stack at fixed addresses, and a list of the references that the code between the labels
 * `region_begin` and `region_end` (assembly, so that it does what it says) is expected to make. `program()` is the program; its result is the
 * exit status, and check() ends it at once. What expect() was given is printed at the end.
 */
#include <stddef.h>
#include <stdint.h>

static long syscall3(long n, long a, long b, long c)
{
	long r;
	__asm__ volatile("syscall" : "=a"(r) : "a"(n), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
	return r;
}

static char expected_text[1 << 17];
static size_t expected_size;

static void expect_digits(uint64_t v, unsigned base)
{
	char digits[24];
	int n = 0;
	do
		digits[n++] = "0123456789abcdef"[v % base];
	while (v /= base);
	while (n)
		expected_text[expected_size++] = digits[--n];
}

static void expect(char type, const volatile void *addr, unsigned size)
{
	expected_text[expected_size++] = type;
	expected_text[expected_size++] = ' ';
	expect_digits((uintptr_t)addr, 16);
	expected_text[expected_size++] = ' ';
	expect_digits(size, 10);
	expected_text[expected_size++] = '\n';
}

static void leave(int status)
{
	for (size_t done = 0; done < expected_size;)
		done += (size_t)syscall3(1, 1, (long)(expected_text + done), (long)(expected_size - done));
	syscall3(231, status, 0, 0);
	__builtin_unreachable();
}

static inline void check(int condition, int number)
{
	if (!condition)
		leave(number);
}

static int program(void);

__attribute__((used)) static void program_start(void)
{
	leave(program());
}

char program_stack[1 << 16] __attribute__((aligned(4096)));
__asm__(".globl _start\n_start:\n\tlea program_stack+65536(%rip), %rsp\n\txor %ebp, %ebp\n\tcall program_start\n\tud2\n");

void *memset(void *p, int c, size_t n)
{
	char *to = p;
	while (n--)
		*(volatile char *)to++ = (char)c;
	return p;
}

void *memcpy(void *p, const void *q, size_t n)
{
	char *to = p;
	const char *from = q;
	while (n--)
		*(volatile char *)to++ = *from++;
	return p;
}
