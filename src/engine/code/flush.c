#include "engine/code/flush.h"
#include "engine/code/numbers.h"
#include "engine/code/private.h"
#include "engine/code/stale.h"
#include "engine/code/translations.h"
#include "engine/counts.h"
#include "engine/record/instrumentor.h"
#include "engine/thread.h"
#include <asm/unistd.h>
#include <linux/futex.h>

/* Units of 100 us within which all other threads have left, unless one is stopped. */
#define PATIENCE 5000u
#define FOR_EVER (~0u)

static struct tw_translations *const tr = &tw_translations;
static bool emptying; /* translations are being thrown away */

/* Is a thread other than t in the cache? */
static bool others_in_cache(const struct thread *t)
{
	for (const struct thread *o = NULL; (o = tw_thread_any(o));)
		if (o != t && __atomic_load_n(&o->code->in_cache, __ATOMIC_SEQ_CST))
			return true;
	return false;
}

/*
 * Makes everything stale, and waits until the other threads have left, at most this many units. The lock is free
 * meanwhile. False: one is still there.
 */
static bool call_out(const struct thread *t, u32 turns)
{
	for (u32 i = 0; i < tr->n_host; i++)
		if (tw_fragment_made(i)->kind == FRAGMENT_CODE)
			tw_fragment_make_stale(tw_fragment_made(i));
	while (others_in_cache(t)) {
		if (!turns--)
			return false;
		tw_unlock(&tw_engine.lock);
		tw_pause(100);
		tw_lock(&tw_engine.lock);
	}
	return true;
}

/* Waits while another thread empties the cache. */
static void settle(void)
{
	while (emptying) {
		u32 now = tw_translations_generation;
		tw_unlock(&tw_engine.lock);
		tw_sys4(__NR_futex, &tw_translations_generation, FUTEX_WAIT_PRIVATE, now, NULL);
		tw_lock(&tw_engine.lock);
	}
}

static void throw_away(const struct thread *t, u32 turns)
{
	__atomic_store_n(&emptying, true, __ATOMIC_SEQ_CST);
	if (call_out(t, turns)) {
		tw_count(TW_COUNT_EMPTIED, 1);
		tw_translations_empty();
		tw_numbers_forget();
	} else {
		tw_translations_spare();
	}
	__atomic_fetch_add(&tw_translations_generation, 1, __ATOMIC_RELEASE);
	__atomic_store_n(&emptying, false, __ATOMIC_RELEASE);
	tw_sys(__NR_futex, &tw_translations_generation, FUTEX_WAKE_PRIVATE, ~0u >> 1);
}

bool tw_flush_restart(void)
{
	if (!tw_translations_renew())
		return false;
	if (tw_recorder.whole->records)
		tw_numbers_forget();
	__atomic_fetch_add(&tw_translations_generation, 1, __ATOMIC_RELEASE);
	return true;
}

void tw_flush_switch(struct thread *t, const struct instrumentor *to)
{
	tw_private_end(t);
	if (tw_engine.n_threads > 1)
		throw_away(t, FOR_EVER);
	t->code->generation = tw_translations_generation;
	tw_recorder.instr = to;
}

bool tw_flush_make_room(struct thread *t)
{
	if (emptying) {
		tw_flush_left_cache(t);
		settle();
	}
	if (tw_translations_full())
		throw_away(t, FOR_EVER);
	else if (tw_translations_stale())
		throw_away(t, PATIENCE);
	bool missed = t->code->generation != tw_translations_generation;
	if (missed)
		t->code->private = (struct tw_private){0};
	t->code->generation = tw_translations_generation;
	t->code->in_cache = true;
	return missed;
}

struct fragment *tw_flush_again(struct thread *t, const struct exit *x)
{
	__atomic_store_n(&t->code->in_cache, true, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&emptying, __ATOMIC_SEQ_CST) ||
	    __atomic_load_n(&tw_translations_generation, __ATOMIC_ACQUIRE) != t->code->generation)
		return NULL;
	struct fragment *f = __atomic_load_n(&x->again, __ATOMIC_ACQUIRE);
	bool usable =
	    f && f->rec.pc == t->pc && !__atomic_load_n(&f->stale, __ATOMIC_RELAXED) && !__atomic_load_n(&f->superseded, __ATOMIC_RELAXED);
	return usable ? f : NULL;
}

void tw_flush_lock_settled(void)
{
	tw_lock(&tw_engine.lock);
	settle();
}
