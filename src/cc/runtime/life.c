/* A module comes and goes. */
#include "parts.h"
#include <asm/unistd.h>
#include <linux/fcntl.h>
#include <linux/mman.h>

/* The C library's, where there is one. */
extern int on_exit(int (*fn)(long, void *), void *arg) __attribute__((weak));
extern int srand48_r(long number, void *to) __attribute__((weak));

/*
 * Has the process's exit status noted. No function of this module can do that: a library may be closed by then. The C
 * library's srand48_r takes a number and stores it where its second argument says. The program's entry is the last
 * registered at start, and called before any destructor.
 */
static void note_ending(struct tw_cc_process *p)
{
	enum { MOST = 1000 }; /* of a program that opens and closes libraries on and on */
	if (on_exit && srand48_r && p->notes++ < MOST)
		on_exit(srand48_r, &p->ending);
}

/* The process itself is ending: modules are not being closed. C libraries without on_exit (musl) never close any. */
static bool is_ending(const struct tw_cc_process *p)
{
	return p->ending.is_there || !on_exit;
}

extern const struct tw_cc_word_place __start_trackway_cc_words[] __attribute__((weak, visibility("hidden")));
extern const struct tw_cc_word_place __stop_trackway_cc_words[] __attribute__((weak, visibility("hidden")));

static void enter_word(struct tw_cc_process *p, uint64_t own, bool there)
{
	for (uint32_t k = 0; k < TW_CC_WORDS; k++) {
		uint64_t from = there ? 0 : own;
		if (!__atomic_compare_exchange_n(&p->word[k], &from, there ? own : 0, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			continue;
		for (uint32_t n = __atomic_load_n(&p->n_words, __ATOMIC_RELAXED); n <= k;)
			if (__atomic_compare_exchange_n(&p->n_words, &n, k + 1, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
				return;
		return;
	}
}

/* Handlers keep this module's words. */
static void enter_words(struct tw_cc_process *p, bool there)
{
	for (const struct tw_cc_word_place *w = __start_trackway_cc_words; w < __stop_trackway_cc_words; w++)
		enter_word(p, ((uint64_t(*)(void))((uint64_t)w + (uint64_t)(int64_t)w->at))() | w->flags, there);
}

/*
 * A library loaded earlier made the process run unrecorded, and now the module with the batch routine is here.
 * Nothing is known of what ran before, nor of modules whose inserted code has been removed while there are several
 * threads.
 */
static void begin_late(struct tw_cc_process *p)
{
	struct tw_cc_thread *t = tw_cc_find(p);
	if (!tw_cc_batch_begin(p))
		return;
	tw_cc_plain_undo(p);
	for (uint32_t d = 0; t && d < t->streams; d++)
		tw_cc_stream_forget(p, &t->stream[d]);
	p->mode = TW_CC_RECORDED;
}

extern const uint8_t __start_trackway_cc_guarded[] __attribute__((weak, visibility("hidden")));
extern const uint8_t __stop_trackway_cc_guarded[] __attribute__((weak, visibility("hidden")));

static bool is_guarded(void)
{
	return tw_cc_is_there(&trackway_cc_guard) && &__start_trackway_cc_guarded[0] != &__stop_trackway_cc_guarded[0];
}

extern const uint8_t __start_trackway_cc_twice[] __attribute__((weak, visibility("hidden")));
extern const uint8_t __stop_trackway_cc_twice[] __attribute__((weak, visibility("hidden")));

static bool is_switched(const struct tw_where *at)
{
	return at->kind == TW_WHERE_FUNCTION || at->kind == TW_WHERE_TIME;
}

/*
 * Code in two versions records when the collector says so; with a batch routine, always. Code in one version writes
 * always; while the collector has it off, its records are thrown away. With a guard it goes on: a fault there looks
 * like one in a buffer that is read.
 */
static void take_switch(struct tw_cc_process *p)
{
	const bool is_twice = &__start_trackway_cc_twice[0] != &__stop_trackway_cc_twice[0];
	p->switchable |= !p->batch && is_twice;
	p->windows |=
	    !p->batch && !is_twice && !is_guarded() && (is_switched(&p->control->window.start) || is_switched(&p->control->window.stop));
	const int64_t fd = p->batch ? -1 : SYS(__NR_open, p->path, O_RDWR | O_CLOEXEC, 0);
	if (p->batch)
		trackway_cc_switch[0] = 1;
	else if (!tw_cc_failed(fd))
		SYS(__NR_mmap, trackway_cc_switch, TW_PAGE, PROT_READ, MAP_SHARED | MAP_FIXED, fd, TW_SWITCH_AT);
	SYS(__NR_close, fd);
}

static void __attribute__((constructor(101))) start(void)
{
	struct tw_cc_process *p = tw_cc_process();
	enter_words(p, true);
	tw_cc_parked_enter(p, true);
	if (is_guarded())
		trackway_cc_guard.enter(p, __start_trackway_cc, __stop_trackway_cc);
	if (p->mode == TW_CC_SILENT && !p->off)
		begin_late(p);
	if (p->mode == TW_CC_SILENT && !p->discards)
		tw_cc_plain_enter(p);
	note_ending(p);
	if (p->mode != TW_CC_RECORDED)
		return;
	tw_cc_fork_enter();
	if (!tw_cc_module_ready())
		return;
	struct tw_cc_thread *t = tw_cc_self(p);
	take_switch(p);
	tw_cc_describe(p, tw_cc_begin(p, t));
	if (p->switchable || p->windows) /* descriptors have the code as it was linked */
		tw_cc_places_find(p, tw_cc_ways);
	if (tw_cc_is_there(&trackway_cc_known))
		trackway_cc_known.enter(p);
}

/* A library is closed: no thread's pointer may stay in the library's slot, which has the same offset from every thread's thread pointer. */
static void leave_module(struct tw_cc_process *p, const struct tw_cc_thread *own)
{
	const uint64_t offset = (uint64_t)&trackway_cc_slot - own->tp;
	struct tw_cc_thread *t;
	for (uint32_t k = 0; (t = tw_cc_next_entry(p, &k));)
		for (uint32_t d = 0; t->tp && d < t->streams; d++)
			if ((uint64_t)t->stream[d].active == t->tp + offset)
				tw_cc_pointer_take(p, &t->stream[d]);
}

/* The last of the program's own code has run. */
static void __attribute__((destructor(101))) finish(void)
{
	struct tw_cc_process *p = tw_cc_process();
	if (p->mode != TW_CC_RECORDED && is_ending(p)) /* the process may have no system call left but exit */
		return;
	tw_cc_child_notice(p);
	struct tw_cc_thread *t = tw_cc_find(p);
	if (!is_ending(p)) {
		enter_words(p, false);
		tw_cc_parked_enter(p, false);
	}
	if (!is_ending(p) && is_guarded())
		trackway_cc_guard.leave(p);
	if (!is_ending(p)) {
		tw_cc_signals_leave(p);
		tw_cc_plain_leave(p);
		if (tw_cc_is_there(&trackway_cc_known))
			trackway_cc_known.leave();
	}
	if (!is_ending(p))
		tw_cc_fork_leave(p);
	if (!t || p->mode != TW_CC_RECORDED)
		return;
	if (!is_ending(p) && !tw_cc_batch_is_own(p)) {
		leave_module(p, t);
		return;
	}
	const bool is_process = p->ending.is_there;
	if (is_process &&
	    t->ended) /* by exit() in another thread than the first, whose streams ended before: one more stream tells the process's end */
		tw_cc_begin(p, t);
	tw_cc_end_streams(p, t, (p->ending.status & 0xff) << 8, is_process ? TW_ENDED_PROCESS : TW_ENDED_THREAD);
	if (tw_cc_batch_is_own(p) && !p->batch_ended)
		p->batch->handover->end(p, t);
}
