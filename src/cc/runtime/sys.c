#include "runtime.h"

int64_t tw_cc_sys6(uint64_t nr, uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f)
{
	int64_t r;
	register uint64_t r10 __asm__("r10") = d;
	register uint64_t r8 __asm__("r8") = e;
	register uint64_t r9 __asm__("r9") = f;
	__asm__ volatile("syscall" : "=a"(r) : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9) : "rcx", "r11", "memory");
	return r;
}

void tw_cc_copy(void *to, const void *from, uint64_t n)
{
	__asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(n) : : "memory");
}

bool tw_cc_same(const uint8_t *a, const uint8_t *b, uint64_t n)
{
	uint64_t differ = 0, k = 0;
	for (; k + 8 <= n && !differ; k += 8) {
		uint64_t x, y;
		__builtin_memcpy(&x, a + k, sizeof x);
		__builtin_memcpy(&y, b + k, sizeof y);
		differ = x ^ y;
	}
	for (; k < n && !differ; k++)
		differ = a[k] != b[k];
	return !differ;
}

uint64_t tw_cc_length(const char *s)
{
	uint64_t n = 0;
	while (s[n])
		n++;
	return n;
}

int64_t tw_cc_signed32(const uint8_t *p)
{
	int32_t v;
	tw_cc_copy(&v, p, sizeof v);
	return v;
}

int tw_cc_answer(int64_t result)
{
	if (result < 0 && __errno_location)
		*__errno_location() = (int)-result;
	return result < 0 ? -1 : (int)result;
}
