/* The process forks, or ends as a child. A child has a copy of what its parent writes to, except the buffers, which it shares. */
#include "runtime.h"
#include <asm/signal.h>
#include <asm/unistd.h>
#include <linux/sched.h>

/* The C library's, where there is one; musl has only pthread_atfork. */
extern int __register_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void), void *dso) __attribute__((weak));
extern int pthread_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void)) __attribute__((weak));
/* What sanitizers do in the place of the C library's: they report. */
extern void __interceptor__exit(int status) __attribute__((weak));
extern int __interceptor_clone(int (*fn)(void *), void *stack, int flags, void *arg, void *parent_tid, void *tls, void *child_tid)
    __attribute__((weak));
extern void *__dso_handle __attribute__((weak, visibility("hidden")));

/* ---- fork ---- */

static uint32_t forking_tid;
/*
 * Held by a thread that forks: the routine's lock, even if the routine comes into being meanwhile, in another thread;
 * and the signals that it unblocks.
 */
static struct {
	const struct tw_cc_batch *batch; /* NULL: nobody holds it */
	uint32_t tid;
	uint64_t mask;
} held;

/* The fork handlers of all modules run, each until its module is closed. One does the work for all. */
static bool forks_here(struct tw_cc_process *p)
{
	uint64_t nobody = 0;
	const uint64_t own = (uint64_t)&forking_tid;
	return __atomic_compare_exchange_n(&p->forks, &nobody, own, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED) || nobody == own;
}

/* Keeps every thread out of the batch routine until it is released; NULL: there is none. */
static const struct tw_cc_batch *hold_batch(const struct tw_cc_process *p)
{
	const struct tw_cc_batch *b = tw_cc_batch_open(p);
	if (b)
		b->before_fork();
	return b;
}

/*
 * No handler runs while the lock is held: ending threads hold another lock, which handlers take when they begin, and
 * they wait for this one.
 */
static void hold_for_fork(const struct tw_cc_process *p, uint32_t tid)
{
	const uint64_t all = ~(1ull << (SIGSEGV - 1));
	uint64_t mask;
	SYS(__NR_rt_sigprocmask, SIG_BLOCK, &all, &mask, sizeof all);
	const struct tw_cc_batch *b = hold_batch(p);
	if (!b) {
		SYS(__NR_rt_sigprocmask, SIG_SETMASK, &mask, 0, sizeof mask);
		return;
	}
	held.batch = b;
	held.tid = tid;
	held.mask = mask;
}

static void before_fork(void)
{
	struct tw_cc_process *p = (struct tw_cc_process *)TW_CC_PLACE;
	if (!forks_here(p))
		return;
	const uint32_t tid = (uint32_t)SYS(__NR_gettid);
	if (tw_cc_batch_open(p))
		hold_for_fork(p, tid);
	forking_tid = tid;
}

static void in_parent(void)
{
	struct tw_cc_process *p = (struct tw_cc_process *)TW_CC_PLACE;
	const struct tw_cc_batch *b = held.batch;
	const uint64_t mask = held.mask;
	if (!forks_here(p) || !b || held.tid != (uint32_t)SYS(__NR_gettid))
		return;
	held.batch = 0;
	b->after_fork(false);
	SYS(__NR_rt_sigprocmask, SIG_SETMASK, &mask, 0, sizeof mask);
}

static void in_child(void)
{
	struct tw_cc_process *p = (struct tw_cc_process *)TW_CC_PLACE;
	if (!forks_here(p))
		return;
	tw_cc_child_become(p, forking_tid);
	if (held.batch)
		SYS(__NR_rt_sigprocmask, SIG_SETMASK, &held.mask, 0, sizeof held.mask);
	held.batch = 0;
}

void tw_cc_fork_enter(void)
{
	if (__register_atfork)
		__register_atfork(before_fork, in_parent, in_child, &__dso_handle);
	else if (pthread_atfork)
		pthread_atfork(before_fork, in_parent, in_child);
}

void tw_cc_fork_leave(struct tw_cc_process *p)
{
	if (p->forks == (uint64_t)&forking_tid)
		p->forks = 0;
}

/* ---- the same for clone, of which the C library informs nobody ---- */

/* With signals blocked: a handler in the child would write where its parent does. */
void tw_cc_before_copy(struct tw_cc_beginning *b, uint64_t flags)
{
	const uint64_t all = ~0ull;
	struct tw_cc_process *p = tw_cc_process();
	b->process = flags & CLONE_VM || p->mode != TW_CC_RECORDED ? 0 : p;
	if (!b->process)
		return;
	SYS(__NR_rt_sigprocmask, SIG_SETMASK, &all, &b->mask, sizeof all);
	b->copies = p->copies;
	b->parent = (uint32_t)SYS(__NR_gettid);
	b->held = hold_batch(p);
}

void tw_cc_after_copy(const struct tw_cc_beginning *b, bool is_child)
{
	struct tw_cc_process *p = b->process;
	if (!p)
		return;
	if (is_child && p->copies == b->copies)
		tw_cc_child_become(p, b->parent);
	else if (!is_child && b->held)
		b->held->after_fork(false);
	SYS(__NR_rt_sigprocmask, SIG_SETMASK, &b->mask, 0, sizeof b->mask);
}

/*
 * How children end: no other function of this module runs then. Not for vfork, whose streams are its parent's. A
 * batch routine is not called either: a handler may have interrupted it.
 */
static _Noreturn void leave(int status)
{
	struct tw_cc_process *p = tw_cc_process();
	tw_cc_child_notice(p);
	struct tw_cc_thread *t = p->mode == TW_CC_RECORDED && !p->batch && (uint32_t)SYS(__NR_getpid) == p->pid ? tw_cc_find(p) : 0;
	if (t)
		tw_cc_end_streams(p, t, (status & 0xff) << 8, TW_ENDED_PROCESS);
	if (tw_cc_is_there(&__interceptor__exit))
		__interceptor__exit(status);
	for (;;)
		SYS(__NR_exit_group, status);
}

static int begin(void *beginning)
{
	const struct tw_cc_beginning *b = beginning;
	tw_cc_after_copy(b, true);
	leave(b->fn(b->arg));
}

/* The child ends with fn's return value. It has its own stack, and nothing before that to unwind to. */
static int64_t clone_to(int (*fn)(void *), void *arg, uint64_t stack, uint64_t flags, void *parent_tid, void *tls, void *child_tid)
{
	uint64_t *top = (uint64_t *)(stack & ~15ull) - 2;
	int64_t r;
	register void *r10 __asm__("r10") = child_tid;
	register void *r8 __asm__("r8") = tls;
	top[0] = (uint64_t)fn;
	top[1] = (uint64_t)arg;
	__asm__ volatile("syscall\n\ttestq %0,%0\n\tjnz 1f\n\t.cfi_remember_state\n\t.cfi_undefined rip\n\txorl %%ebp,%%ebp\n\t"
	                 "popq %%rax\n\tpopq %%rdi\n\tcall *%%rax\n\tmovl %%eax,%%edi\n\tmovl %2,%%eax\n\tsyscall\n\thlt\n\t"
	                 ".cfi_restore_state\n1:"
	                 : "=a"(r)
	                 : "a"(__NR_clone), "i"(__NR_exit), "D"(flags), "S"(top), "d"(parent_tid), "r"(r10), "r"(r8)
	                 : "rcx", "r11", "memory", "cc");
	return r;
}

long tw_cc_copying_syscall(long number, uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e);

/* fork, or clone with memory of its own, by syscall() (fork.S). */
long tw_cc_copying_syscall(long number, uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e)
{
	struct tw_cc_beginning own = {0};
	tw_cc_before_copy(&own, 0);
	const int64_t r = SYS(number, a, b, c, d, e);
	tw_cc_after_copy(&own, !r);
	return tw_cc_answer(r);
}

/* The C library's _Fork informs nobody either: the link redirects calls of it to here (link.c). */
extern int __real__Fork(void) __attribute__((weak));
int __wrap__Fork(void);

int __wrap__Fork(void)
{
	struct tw_cc_beginning own = {0};
	tw_cc_before_copy(&own, 0);
	const int r = __real__Fork();
	tw_cc_after_copy(&own, !r);
	return r;
}

/* Weak: a program that has its own keeps it. */
#define EXPORTED __attribute__((visibility("default"), used, weak))

EXPORTED int clone(int (*fn)(void *), void *stack, int flags, void *arg, void *parent_tid, void *tls, void *child_tid);
EXPORTED _Noreturn void _exit(int status);
EXPORTED _Noreturn void _Exit(int status);

int clone(int (*fn)(void *), void *stack, int flags, void *arg, void *parent_tid, void *tls, void *child_tid)
{
	enum { INVALID = 22 };
	struct tw_cc_beginning b = {.fn = fn, .arg = arg};
	if (!fn || !stack)
		return tw_cc_answer(-INVALID);
	tw_cc_before_copy(&b, (uint32_t)flags);
	if (b.process) {
		fn = begin;
		arg = &b;
	}
	const bool is_sanitized = tw_cc_is_there(&__interceptor_clone);
	const int64_t r = is_sanitized ? __interceptor_clone(fn, stack, flags, arg, parent_tid, tls, child_tid)
	                               : clone_to(fn, arg, (uint64_t)stack, (uint32_t)flags, parent_tid, tls, child_tid);
	tw_cc_after_copy(&b, false);
	return is_sanitized ? (int)r : tw_cc_answer(r);
}

void _exit(int status)
{
	leave(status);
}

void _Exit(int status)
{
	leave(status);
}
