#include "engine/lib.h"
#include "engine/layout.h"
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

/* Added to the name of the holder: others wait, without priority inheritance. (With it there is FUTEX_WAITERS.) */
#define LOCK_AWAITED 0x10000000u

enum { POLL_US = 100 };

static bool inherits; /* a waiter for a lock lends its priority to the holder */

void tw_lock_inherit(void)
{
	__atomic_store_n(&inherits, true, __ATOMIC_RELAXED);
}

/* What the calling thread writes into a lock it takes. */
static tw_lock_t own_name(void)
{
	tw_lock_t name;
	__asm__("movl %%gs:%c1, %0" : "=r"(name) : "i"(T_LOCK_NAME));
	return name;
}

static bool change(tw_lock_t *l, tw_lock_t from, tw_lock_t to)
{
	return __atomic_compare_exchange_n(l, &from, to, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

/*
 * Waits, and lends priority. True: the lock is taken. The kernel refuses if it does not find the holder by its name,
 * or others wait without lending.
 */
static bool wait_inheriting(tw_lock_t *l, tw_lock_t own)
{
	if (!(own & TW_LOCK_POLLS) && !tw_sys4(__NR_futex, l, FUTEX_LOCK_PI_PRIVATE, 0, NULL))
		return true;
	tw_pause(POLL_US);
	return false;
}

void tw_lock(tw_lock_t *l)
{
	const tw_lock_t own = own_name();
	tw_lock_t as = own; /* a thread that has waited does not know whether it was the only one */
	while (!change(l, 0, as)) {
		const tw_lock_t is = __atomic_load_n(l, __ATOMIC_RELAXED);
		if (__atomic_load_n(&inherits, __ATOMIC_RELAXED) || is & FUTEX_WAITERS) {
			if (wait_inheriting(l, own))
				return;
		} else if (is && (is & LOCK_AWAITED || change(l, is, is | LOCK_AWAITED))) {
			as = own | LOCK_AWAITED;
			tw_sys4(__NR_futex, l, FUTEX_WAIT_PRIVATE, is | LOCK_AWAITED, NULL);
		}
	}
}

void tw_unlock(tw_lock_t *l)
{
	const tw_lock_t own = own_name();
	if (change(l, own, 0))
		return;
	/* The kernel refuses if nobody has lent priority: also in a forked child, in whose memory nobody waits. */
	if (__atomic_load_n(l, __ATOMIC_RELAXED) != (own | FUTEX_WAITERS) || tw_sys(__NR_futex, l, FUTEX_UNLOCK_PI_PRIVATE, 0)) {
		__atomic_store_n(l, 0, __ATOMIC_RELEASE);
		tw_sys(__NR_futex, l, FUTEX_WAKE_PRIVATE, 1);
	}
}

/* The decoder's checks; its assertions are off in practice, and its stack guard is constant (tools/so2asm.c). */
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
