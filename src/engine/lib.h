/*
 * The engine's substitute for a libc: memory functions, the raw system calls that it makes itself, and reads of the
 * application's memory that may fail. Nothing here touches the application's heap, its libc or its thread pointer.
 * Everything may be called from a signal handler.
 */
#ifndef TW_ENGINE_LIB_H
#define TW_ENGINE_LIB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdarg.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int32_t i32;
typedef int64_t i64;

/* For a large table of which a small process uses a page or two: placed separately (engine.ld). */
#define TW_SPARSE __attribute__((section(".bss.sparse")))

void *memcpy(void *restrict d, const void *restrict s, size_t n);
void *memmove(void *d, const void *s, size_t n);
void *memset(void *d, int c, size_t n);
int memcmp(const void *a, const void *b, size_t n);
size_t strlen(const char *s);
/* Where the size is known the compiler does better than a call. */
#define memcpy(d, s, n) __builtin_memcpy((d), (s), (n))
#define memset(d, c, n) __builtin_memset((d), (c), (n))
bool tw_streq(const char *a, const char *b);
bool tw_starts_with(const char *s, const char *prefix);
const char *tw_base_name(const char *path); /* what follows the last slash */
/* Formats into buf (size n, always terminated): %s %d %u %x (with l for 64 bits), %02x. Returns the length. */
size_t tw_format(char *buf, size_t n, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
size_t tw_vformat(char *buf, size_t n, const char *fmt, va_list ap);

static inline i64 tw_sys6(u64 nr, u64 a, u64 b, u64 c, u64 d, u64 e, u64 f)
{
	i64 ret;
	register u64 r10 __asm__("r10") = d;
	register u64 r8 __asm__("r8") = e;
	register u64 r9 __asm__("r9") = f;
	__asm__ volatile("syscall" : "=a"(ret) : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9) : "rcx", "r11", "memory");
	return ret;
}
#define tw_sys(nr, a, b, c)     tw_sys6((nr), (u64)(a), (u64)(b), (u64)(c), 0, 0, 0)
#define tw_sys4(nr, a, b, c, d) tw_sys6((nr), (u64)(a), (u64)(b), (u64)(c), (u64)(d), 0, 0)

void tw_pause(u64 us); /* less than a second */

/* True when a system call's result is an error (-errno). */
static inline bool tw_failed(i64 r)
{
	return r < 0 && r > -4096;
}

/* Spreads v over `bits` bits. */
static inline u32 tw_hash(u64 v, u32 bits)
{
	return (u32)((v * 0x9e3779b97f4a7c15ull) >> (64 - bits));
}

i64 tw_mmap(u64 addr, u64 len, int prot, int flags, int fd, u64 off);

/* Copies n bytes between the engine's memory and the application's; false (and a part copied) where a page is not there. */
bool tw_copy(void *d, const void *s, size_t n);

/* Its code: a fault there continues at tw_copy_fault, and it returns false. */
extern const char tw_copy_begin[], tw_copy_end[], tw_copy_fault[];

/* Copies a string of the application's, at most n bytes with the terminator; false if it is longer or unreadable. */
bool tw_copy_string(char *d, const char *s, size_t n);

/*
 * A lock for short sections of engine code; signals are deferred meanwhile as everywhere in the engine. It holds 0 or
 * the name of its holder, the thread's number, and a bit if others wait. Once a thread of the process uses real-time
 * scheduling (tw_lock_inherit) waiters lend the holder their priority: a futex with priority inheritance, whose
 * waiters are handed the lock one after another; this takes a third longer under constant contention. In a process
 * that shares memory with another, the same threads may have other numbers: its name is one that no thread has as its
 * number; it waits by polling, and others poll for it. (A thread that somebody else makes a real-time one, as chrt
 * does, is not noticed.)
 */
#define TW_LOCK_POLLS 0x20000000u
typedef u32 tw_lock_t;
void tw_lock(tw_lock_t *l);
void tw_unlock(tw_lock_t *l);
void tw_lock_inherit(void);

#endif
