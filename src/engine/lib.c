#include "engine/lib.h"
#include <asm/unistd.h>
#include <linux/futex.h>
#include <linux/time_types.h>

#undef memcpy
#undef memset

void *memcpy(void *restrict d, const void *restrict s, size_t n)
{
	void *r = d;
	__asm__ volatile("rep movsb" : "+D"(d), "+S"(s), "+c"(n) : : "memory");
	return r;
}

void *memmove(void *d, const void *s, size_t n)
{
	u8 *a = d;
	const u8 *b = s;
	if (a <= b || a >= b + n)
		return memcpy(d, s, n);
	while (n--)
		a[n] = b[n];
	return d;
}

void *memset(void *d, int c, size_t n)
{
	void *r = d;
	__asm__ volatile("rep stosb" : "+D"(d), "+c"(n) : "a"(c) : "memory");
	return r;
}

int memcmp(const void *a, const void *b, size_t n)
{
	const u8 *x = a, *y = b;
	for (size_t i = 0; i < n; i++)
		if (x[i] != y[i])
			return x[i] < y[i] ? -1 : 1;
	return 0;
}

size_t strlen(const char *s)
{
	size_t n = 0;
	while (s[n])
		n++;
	return n;
}

bool tw_streq(const char *a, const char *b)
{
	size_t n = strlen(a);
	return n == strlen(b) && memcmp(a, b, n) == 0;
}

const char *tw_base_name(const char *path)
{
	const char *name = path;
	for (; *path; path++)
		if (*path == '/')
			name = path + 1;
	return name;
}

bool tw_starts_with(const char *s, const char *prefix)
{
	for (; *prefix; s++, prefix++)
		if (*s != *prefix)
			return false;
	return true;
}

struct out {
	char *at, *end;
};

static void put(struct out *o, char c)
{
	if (o->at < o->end)
		*o->at++ = c;
}

static void put_number(struct out *o, u64 v, unsigned base, unsigned width)
{
	char digits[24];
	unsigned n = 0;
	do {
		digits[n++] = "0123456789abcdef"[v % base];
		v /= base;
	} while (v);
	while (n < width)
		digits[n++] = '0';
	while (n)
		put(o, digits[--n]);
}

static void put_integer(struct out *o, i64 v)
{
	if (v < 0) {
		put(o, '-');
		v = -v;
	}
	put_number(o, (u64)v, 10, 0);
}

size_t tw_vformat(char *buf, size_t n, const char *fmt, va_list ap)
{
	struct out o = {buf, buf + n - 1};
	for (; *fmt; fmt++) {
		unsigned width = 0;
		bool is_long = false;
		if (*fmt != '%') {
			put(&o, *fmt);
			continue;
		}
		for (fmt++; *fmt >= '0' && *fmt <= '9'; fmt++)
			width = width * 10 + (unsigned)(*fmt - '0');
		for (; *fmt == 'l'; fmt++)
			is_long = true;
		switch (*fmt) {
		case 's':
			for (const char *s = va_arg(ap, const char *); *s; s++)
				put(&o, *s);
			break;
		case 'd':
			put_integer(&o, is_long ? va_arg(ap, long) : va_arg(ap, int));
			break;
		case 'u':
			put_number(&o, is_long ? va_arg(ap, unsigned long) : va_arg(ap, unsigned), 10, width);
			break;
		default:
			put_number(&o, is_long ? va_arg(ap, unsigned long) : va_arg(ap, unsigned), 16, width);
			break;
		}
	}
	*o.at = 0;
	return (size_t)(o.at - buf);
}

size_t tw_format(char *buf, size_t n, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	size_t len = tw_vformat(buf, n, fmt, ap);
	va_end(ap);
	return len;
}

i64 tw_mmap(u64 addr, u64 len, int prot, int flags, int fd, u64 off)
{
	return tw_sys6(__NR_mmap, addr, len, (u64)prot, (u64)flags, (u64)(i64)fd, off);
}

bool tw_copy_string(char *d, const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (!tw_copy(d + i, s + i, 1))
			return false;
		if (!d[i])
			return true;
	}
	return false;
}

enum { LOCK_FREE, LOCK_HELD, LOCK_AWAITED };

void tw_lock(tw_lock_t *l)
{
	tw_lock_t was = LOCK_FREE;
	if (__atomic_compare_exchange_n(l, &was, LOCK_HELD, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		return;
	while (__atomic_exchange_n(l, LOCK_AWAITED, __ATOMIC_ACQUIRE) != LOCK_FREE)
		tw_sys4(__NR_futex, l, FUTEX_WAIT_PRIVATE, LOCK_AWAITED, NULL);
}

void tw_unlock(tw_lock_t *l)
{
	if (__atomic_exchange_n(l, LOCK_FREE, __ATOMIC_RELEASE) == LOCK_AWAITED)
		tw_sys(__NR_futex, l, FUTEX_WAKE_PRIVATE, 1);
}

/* The decoder's checks; its assertions are off in practice, and its stack guard is constant (src/engine/x86_64/glue.S). */
void __assert_fail(const char *expr, const char *file, unsigned line, const char *func);
void __stack_chk_fail(void);

void __assert_fail(const char *expr, const char *file, unsigned line, const char *func)
{
	(void)expr, (void)file, (void)line, (void)func;
	__builtin_trap();
}

void __stack_chk_fail(void)
{
	__builtin_trap();
}

void tw_pause(u64 us)
{
	const struct __kernel_timespec t = {0, (i64)us * 1000};
	tw_sys(__NR_nanosleep, &t, 0, 0);
}
