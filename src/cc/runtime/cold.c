/* Called by instrumented code: gives the running thread a stream, and returns where to write. */
#include "runtime.h"
#include <asm/signal.h>
#include <asm/unistd.h>
#include <linux/fcntl.h>

/* The C library's, where there is one. musl has thread-specific data only. */
extern void *malloc(uint64_t bytes) __attribute__((weak));
extern void free(void *p) __attribute__((weak));
extern int __cxa_thread_atexit_impl(void (*fn)(void *), void *arg, void *dso) __attribute__((weak));
extern int pthread_key_create(unsigned *key, void (*fn)(void *)) __attribute__((weak));
extern int pthread_setspecific(unsigned key, const void *value) __attribute__((weak));
extern void *__dso_handle __attribute__((weak, visibility("hidden")));

static uint64_t tell_program(struct tw_cc_process *p, uint64_t pointer)
{
	char text[TW_MAX_EVENT - 64];
	const uint64_t path = tw_cc_length(p->file) + 1;
	tw_cc_copy(text, p->file, path);
	const int fd = (int)SYS(__NR_open, "/proc/self/cmdline", O_RDONLY | O_CLOEXEC, 0);
	int64_t n = SYS(__NR_read, fd, text + path, sizeof text - path);
	SYS(__NR_close, fd);
	n = n > 0 ? n : 0;
	while (n && text[path + (uint64_t)n - 1])
		n--;
	struct tw_program_start e = {p->pid, 0, tw_cc_time()};
	for (int64_t k = 0; k < n; k++)
		e.n_args += !text[path + (uint64_t)k];
	return tw_cc_event(pointer, TW_EVENT_PROGRAM, &e, sizeof e, text, (uint32_t)(path + (uint64_t)n));
}

/*
 * Ends the thread's streams. The end of code interrupted by abandoned handlers is unknown. No handler may run
 * meanwhile: it would take a stream whose buffers are about to be unmapped, and leave its pointer in the slot.
 */
void tw_cc_end_streams(struct tw_cc_process *p, struct tw_cc_thread *t, int32_t status, uint32_t what)
{
	const uint64_t mask = tw_cc_lock(p);
	for (uint32_t k = t->streams; k-- > 0;)
		if (t->stream[k].parked)
			tw_cc_stream_abandon(p, &t->stream[k]);
		else
			tw_cc_stream_end(p, &t->stream[k], status, what);
	t->current = 0;
	tw_cc_unlock(p, mask);
}

/* The thread ends. What it runs after this is of another stream. */
static void end_thread(void *unused)
{
	struct tw_cc_process *p = tw_cc_process();
	struct tw_cc_thread *t = tw_cc_find(p);
	(void)unused;
	if (!t)
		return;
	tw_cc_end_streams(p, t, 0, TW_ENDED_THREAD);
	t->ended = true;
}

/* The ending thread calls the destructors of thread-specific data that it has set. All threads share one key, made by the first. */
static void end_by_key(void)
{
	static uint32_t lock, made, key;
	while (__atomic_exchange_n(&lock, 1, __ATOMIC_ACQUIRE))
		SYS(__NR_sched_yield);
	if (!made)
		made = pthread_key_create(&key, end_thread) ? 2 : 1;
	__atomic_store_n(&lock, 0, __ATOMIC_RELEASE);
	if (made == 1)
		pthread_setspecific(key, &key);
}

/* The C library aborts the process if __cxa_thread_atexit_impl has no memory for its entry. */
static bool is_memory_left(void)
{
	enum { MORE_THAN_NOTED = 256 };
	void *p = malloc ? malloc(MORE_THAN_NOTED) : 0;
	if (p)
		free(p);
	return p || !malloc;
}

/*
 * With signals blocked: while the C library's code runs, it does not show that it was called from here (parked.c).
 * What a thread runs after its first stream has ended are destructors of thread-specific data.
 */
static void end_later(bool again)
{
	const uint64_t all = ~0ull;
	uint64_t before;
	SYS(__NR_rt_sigprocmask, SIG_SETMASK, &all, &before, sizeof all);
	if (__cxa_thread_atexit_impl && !again && is_memory_left())
		__cxa_thread_atexit_impl(end_thread, 0, &__dso_handle);
	else if (pthread_key_create && pthread_setspecific)
		end_by_key();
	SYS(__NR_rt_sigprocmask, SIG_SETMASK, &before, 0, sizeof before);
}

struct tw_cc_stream *tw_cc_begin(struct tw_cc_process *p, struct tw_cc_thread *t)
{
	static struct tw_cc_stream nobodys = {.number = TW_SLOTS, .pointer = TW_CC_NOWHERE};
	struct tw_cc_stream *s = t ? tw_cc_written(t) : &nobodys;
	if (s->pointer)
		return s;
	const uint64_t mask = tw_cc_lock(p);
	tw_cc_stream_begin(p, t, s);
	if (!p->told && s->number != TW_SLOTS) {
		p->told = 1;
		uint64_t *pen = tw_cc_pointer_pen(p, s);
		*pen = tell_program(p, *pen);
	}
	tw_cc_unlock(p, mask);
	if (p->guard && s == &t->stream[0])
		p->guard->thread(t);
	if (t->tid != p->pid && s == &t->stream[0])
		end_later(t->ended);
	return s;
}

static bool is_described;

void tw_cc_describe(struct tw_cc_process *p, struct tw_cc_stream *s)
{
	const uint64_t mask = tw_cc_lock(p);
	if (!is_described && s->number != TW_SLOTS) {
		is_described = true;
		tw_cc_module_describe(p, s);
		uint64_t *pen = tw_cc_pointer_pen(p, s);
		*pen = tw_cc_maps_tell(*pen, (uint64_t)&tw_cc_maps_tell);
	}
	tw_cc_unlock(p, mask);
}

/* ---- what instrumented code calls ---- */

enum { OF_LIBRARY = 32 }; /* the signal */

/*
 * A thread may be cancelled anywhere by the C library's own signal, which unwinds it. That must not happen between
 * two buffers. Returns the previous signal mask. If nothing is recorded, there is nothing to protect, and after
 * SECCOMP_MODE_STRICT no system call is left.
 */
static uint64_t keep_from_cancelling(void)
{
	const uint64_t cancel = 1ull << (OF_LIBRARY - 1);
	uint64_t before;
	SYS(__NR_rt_sigprocmask, SIG_BLOCK, &cancel, &before, sizeof before);
	return before;
}

/* There are too many threads: what this one runs is not recorded. */
static uint64_t go_nowhere(struct tw_cc_process *p, uint64_t value)
{
	if (value == TW_CC_POISON && p->mode == TW_CC_RECORDED && !p->batch)
		atomic_fetch_add(&p->control->starved, 1);
	return trackway_cc_slot = TW_CC_NOWHERE;
}

/*
 * `value`: what the code found in the slot or had in the register. `passed`: the function being entered, if recording
 * starts or stops there. Returns where to write.
 */
static uint64_t go_on(uint64_t value, const uint64_t *regs, uint64_t passed)
{
	struct tw_cc_process *p = tw_cc_process();
	tw_cc_child_notice(p);
	struct tw_cc_thread *t = value == TW_CC_POISON && p->mode == TW_CC_RECORDED ? tw_cc_self(p) : tw_cc_again(p);
	struct tw_cc_stream *s = tw_cc_begin(p, t);
	uint64_t pointer = value, before = 0;
	tw_cc_has_run = true;
	if (!t)
		return go_nowhere(p, value);
	if (!is_described && p->mode == TW_CC_RECORDED && tw_cc_module_ready())
		tw_cc_describe(p, s);
	if (value == TW_CC_POISON || !tw_cc_buffer_has(p, s, value)) /* or TW_CC_STRAY */
		pointer = tw_cc_pointer_take(p, s);
	s->active = &trackway_cc_slot;
	pointer = tw_cc_pointer_settle(p, s, pointer);
	if (passed)
		pointer = tw_cc_stream_follow(p, s, pointer, passed, regs);
	const bool is_full = pointer & TW_CC_FULL, is_kept = is_full && p->mode == TW_CC_RECORDED;
	if (is_kept)
		before = keep_from_cancelling();
	if (is_full)
		pointer = tw_cc_stream_switch(p, s, pointer, regs);
	s->active = &trackway_cc_slot;
	if (s->upper != tw_cc_upper && s->number != TW_SLOTS) {
		const uint16_t change[2] = {TW_TAG_UPPER, (uint16_t)tw_cc_upper};
		s->upper = tw_cc_upper;
		tw_cc_copy((void *)pointer, change, sizeof change);
		pointer += sizeof change;
	}
	trackway_cc_slot = pointer; /* a thread that is cancelled goes on from there */
	if (is_kept)
		SYS(__NR_rt_sigprocmask, SIG_SETMASK, &before, 0, sizeof before);
	return pointer;
}

uint64_t tw_cc_cold(uint64_t value, const uint64_t *regs)
{
	return go_on(value, regs, 0);
}

uint64_t tw_cc_checked(uint64_t value, uint64_t *regs, uint32_t reg);

/* `reg`: the register that had it. If that is borrowed, keyframes need the program's own value. */
uint64_t tw_cc_checked(uint64_t value, uint64_t *regs, uint32_t reg)
{
	if (value & TW_CC_BORROWED)
		regs[reg] = tw_cc_read_word(trackway_cc_spill_at);
	enum { BACK = 18 }; /* where the return address is: behind the flags and the register (cold.S) */
	return go_on(value & ~TW_CC_BORROWED, regs, tw_cc_places_passed(regs[BACK]));
}

/* ---- the ways in ---- */

#pragma GCC visibility push(hidden)
void trackway_cc_rax(void), trackway_cc_rcx(void), trackway_cc_rdx(void), trackway_cc_rbx(void), trackway_cc_rbp(void),
    trackway_cc_rsi(void), trackway_cc_rdi(void), trackway_cc_r8(void), trackway_cc_r9(void), trackway_cc_r10(void), trackway_cc_r11(void),
    trackway_cc_r12(void), trackway_cc_r13(void), trackway_cc_r14(void), trackway_cc_r15(void);
#pragma GCC visibility pop

tw_cc_way *const tw_cc_ways[TW_NREGS] = {trackway_cc_rax, trackway_cc_rcx, trackway_cc_rdx, trackway_cc_rbx, 0,
                                         trackway_cc_rbp, trackway_cc_rsi, trackway_cc_rdi, trackway_cc_r8,  trackway_cc_r9,
                                         trackway_cc_r10, trackway_cc_r11, trackway_cc_r12, trackway_cc_r13, trackway_cc_r14,
                                         trackway_cc_r15};
