/*
 * Which thread is processed next. Threads come in segments: what a thread did from one event with a time to the next.
 * Segments come in the order of their starts; those that overlap in time may have run in any order, or interleaved.
 * An atomic load that is a plain mov has no time of its own, and its value is not recorded. It is taken to have read
 * the last write by segments that started before its own ended, as far as these can have got: so a race is reported
 * only if such an order does not explain it. Therefore a thread stops before such a load, and what it did next is
 * postponed until its segment is *closed*: its next one has started, so everything that it can have seen has been
 * delivered. Then threads that are postponed themselves and write there are processed further, until none of them can
 * continue; and then the load is made.
 *
 * Locked instructions have two times, before and after, and are a segment of their own. Two that overlap may have run
 * in either order: each acquires what the other released.
 *
 * What must hold, so that no race is reported for a program that has none: a load is made after everything has been
 * processed that the thread must have waited for, and before everything that waited for the thread. Both are
 * impossible if threads wait for each other in a circle. Then, for a thread that is processed for another's sake, the
 * decision depends on what is known of loads (race_loads.c):
 *  - it does not make a load that ended a wait, if there is no news to end it;
 *  - nor one without news of which nothing else is known, unless the other must have waited for something that has
 *    not come;
 *  - a load that may be repeated, as far as the thread is known, is not made yet: what follows it is unknown;
 *  - any other is made, and is *early* if its segment is not closed: it may have read what is written until then, and
 *    everything after it in the thread is ordered after that write, too.
 *
 * A thread whose segment is closed makes its load in any case: a wait may have ended for other reasons.
 *
 * If a thread was interrupted after a locked instruction, and before the time after it was taken, that time may be
 * late, and others have continued because of the instruction's write. Loads before it had been made by the time
 * before it, except those for which the processor had not waited: a moment later (SETTLED) their segment is closed,
 * too.
 */
#include "analyzers/race_state.h"
#include "base/array.h"
#include "recording/recording.h"

enum {
	MOST_BYTES = 512 << 20, /* of a thread that are postponed */
	SETTLED = 1 << 12,      /* cycles; no load takes longer: after an interrupt or a fault the time would be taken again */
};

/* ---- blocks ---- */

/* The part's block, as far as that can be looked at. */
static int take_block(struct tw_race_state *s, struct tw_race_thread *t, struct tw_part *p)
{
	const struct tw_block_run *run = &p->blocks[p->block];
	const size_t n = tw_part_refs_end(p, p->block) - run->first_ref;
	int looks, error = tw_race_enter_block(s, t, run, &looks);
	if (error || t->stuck)
		return error;
	for (; !looks && p->ref < n; p->ref++)
		if (t->owner == TW_CODE_OPENMP)
			tw_ordering_reads(t->order, p->refs[run->first_ref + p->ref].addr);
	if (looks)
		error = tw_race_take_refs(s, t, p, run, n);
	if (error || p->ref < n)
		return error;
	p->block++;
	p->ref = 0;
	return n ? tw_race_leave_block(s, t, run, p->refs[run->first_ref + n - 1].addr) : 0;
}

static int take_events(struct tw_race_state *s, struct tw_race_thread *t, struct tw_part *p)
{
	int error = 0;
	for (; p->event < p->n_events && p->events[p->event].block <= p->block && !error; p->event++)
		error = tw_race_take_event(s, t, &p->events[p->event]);
	return error;
}

/* As far as possible: to the part's end, or t->stuck says why not. */
static int take_blocks(struct tw_race_state *s, struct tw_race_thread *t, struct tw_part *p)
{
	int error = 0;
	t->stuck = TW_RACE_GOES_ON;
	while (p->block < p->n_blocks && !error && !t->stuck) {
		error = take_events(s, t, p);
		if (!error)
			error = take_block(s, t, p);
	}
	return error || t->stuck ? error : take_events(s, t, p);
}

/* ---- threads that are waited for ---- */

static int advance(struct tw_race_state *s, struct tw_race_thread *t, uint64_t addr, int *wrote);

/* Does it wait for something that no time shows: that another thread starts a region, or has forked? */
static int is_held(const struct tw_race_thread *t)
{
	return t->stuck == TW_RACE_AT_REGION || t->stuck == TW_RACE_AT_FORK;
}

static int may_write(const struct tw_race_thread *t, const struct tw_race_thread *other, uint64_t addr)
{
	return other->known && other != t && !other->resolving && !is_held(other) && addr && tw_postponed_first(&other->postponed) &&
	       tw_postponed_writes(&other->postponed, addr);
}

/* Lets another thread write at addr of the program, which may be elsewhere in its memory, if it can. */
static int let_one_write(struct tw_race_state *s, const struct tw_race_thread *t, struct tw_race_thread *other, uint32_t program,
                         uint64_t addr, int *wrote)
{
	const uint64_t there = other->known ? tw_shared_memory_address(&s->ordering.shared, program, addr, other->order->program) : 0;
	return may_write(t, other, there) ? advance(s, other, there, wrote) : 0;
}

/* Processes others until none of them can write any more at addr of the program. */
static int let_write(struct tw_race_state *s, struct tw_race_thread *t, uint32_t program, uint64_t addr)
{
	int error = 0, wrote = 1;
	t->resolving = 1;
	while (wrote && !error) {
		wrote = 0;
		for (size_t i = 0; i < s->n_threads && !error; i++)
			error = let_one_write(s, t, &s->threads[i], program, addr, &wrote);
	}
	t->resolving = 0;
	return error;
}

/* So that the thread may load next: makes the writes that may have happened there, and those that others have read early. */
static int resolve(struct tw_race_state *s, struct tw_race_thread *t)
{
	const struct tw_race_load load = t->load;
	int error = let_write(s, t, t->order->program, load.addr);
	for (size_t i = 0; i < s->ordering.n_early && !error; i++)
		error = let_write(s, t, s->ordering.early[i].program, s->ordering.early[i].addr);
	t->load = load;
	t->may_load = 1;
	return error;
}

/* Nothing can come any more that the thread has read early. */
static int settle(struct tw_race_state *s, struct tw_race_thread *t)
{
	int error = 0;
	for (size_t i = 0; i < s->ordering.n_early && !error; i++)
		if (s->ordering.early[i].reader == t->order->index)
			error = let_write(s, t, s->ordering.early[i].program, s->ordering.early[i].addr);
	tw_ordering_settle(&s->ordering, t->order);
	return error;
}

/* Looks at the first part that is postponed, as far as it goes. */
static int take_first(struct tw_race_state *s, struct tw_race_thread *t)
{
	struct tw_part *p = tw_postponed_first(&t->postponed);
	int error = t->overlaps ? tw_ordering_atomic(&s->ordering, t->order, t->overlaps, 1, 0) : 0;
	t->overlaps = 0;
	if (!error)
		error = take_blocks(s, t, p);
	const size_t at = p->block < p->n_blocks ? p->blocks[p->block].first_ref + p->ref : p->n_refs;
	tw_postponed_pass(&t->postponed, at);
	if (!error && t->stuck == TW_RACE_GOES_ON)
		tw_postponed_drop(&t->postponed);
	return error;
}

/* Is it certain for none of those for whose sake others are processed that they waited for them? */
static int is_optional(struct tw_race_state *s)
{
	for (size_t i = 0; i < s->n_threads; i++) {
		const struct tw_race_thread *t = &s->threads[i];
		if (t->known && t->resolving && (!tw_race_load_ends_wait(t) || tw_race_load_has_news(s, t)))
			return 1;
	}
	return 0;
}

/* Must the thread, which is processed for another's sake, not make its load yet? */
static int is_too_early(struct tw_race_state *s, const struct tw_race_thread *t)
{
	return !t->load.locked && !tw_race_load_is_explained(s, t) && (tw_race_load_ends_wait(t) || is_optional(s));
}

/* Do both stand before locked instructions that access the same? */
static int overlap(struct tw_race_state *s, const struct tw_race_thread *t, const struct tw_race_thread *other)
{
	return other->known && other != t && other->resolving && other->load.locked &&
	       tw_shared_memory_address(&s->ordering.shared, other->order->program, other->load.addr, t->order->program) == t->load.addr;
}

/*
 * The thread makes its locked instruction before those of the threads for whose sake it is processed. They may have
 * come first: it knows what the threads standing before theirs know.
 */
static int overtake(struct tw_race_state *s, struct tw_race_thread *t)
{
	int error = 0;
	for (size_t i = 0; i < s->n_threads && !error; i++) {
		struct tw_race_thread *other = &s->threads[i];
		if (!overlap(s, t, other))
			continue;
		error = tw_ordering_acquire(t->order, &other->order->clocks);
		if (!error)
			error = tw_ordering_advance(other->order);
	}
	return error;
}

/* Processes postponed parts of a thread, for another's sake, until it writes at addr; not beyond what it cannot have passed yet. */
static int advance(struct tw_race_state *s, struct tw_race_thread *t, uint64_t addr, int *wrote)
{
	int error = 0, ends = 0, overlaps = 0;
	t->goal = addr;
	while (!error && !ends && tw_postponed_first(&t->postponed)) {
		error = take_first(s, t);
		ends = t->stuck == TW_RACE_AT_GOAL || is_held(t);
		*wrote |= t->stuck == TW_RACE_AT_GOAL;
		if (error || t->stuck != TW_RACE_AT_LOAD)
			continue;
		const enum tw_race_ahead ahead = tw_race_look_ahead(s, t);
		t->may_load = ahead == TW_RACE_REPEATED;
		ends = ahead == TW_RACE_NOT_KNOWN && !tw_postponed_first(&t->postponed)->closed;
		if (ends || t->may_load)
			continue;
		t->goal = 0;
		error = resolve(s, t);
		t->goal = addr;
		overlaps = t->load.locked && t->load.addr == addr;
		if (!error && t->load.locked)
			error = overtake(s, t);
		ends = is_too_early(s, t);
		t->may_load = !ends;
		if (!error && !ends && !t->load.locked && !tw_postponed_first(&t->postponed)->closed)
			error = tw_ordering_read_early(&s->ordering, t->order, t->load.addr);
	}
	t->goal = 0;
	t->overlaps = overlaps ? addr : 0;
	return error;
}

/* ---- a thread's turn ---- */

/* The thread stands before a load in a closed part, or one whose time is known. */
static int load_now(struct tw_race_state *s, struct tw_race_thread *t)
{
	if (tw_race_look_ahead(s, t) != TW_RACE_REPEATED)
		return resolve(s, t);
	t->may_load = 1;
	return 0;
}

/* All postponed parts of the thread, as far as possible now. */
static int take_postponed(struct tw_race_state *s, struct tw_race_thread *t)
{
	int error = 0;
	for (struct tw_part *p; !error && (p = tw_postponed_first(&t->postponed));) {
		error = take_first(s, t);
		if (error || !t->stuck)
			continue;
		if (t->stuck != TW_RACE_AT_LOAD || !p->closed)
			return 0;
		error = load_now(s, t);
	}
	return error;
}

/* Does the thread start here, and its creator's event has not come yet? */
static int awaits_fork(struct tw_race_state *s, const struct tw_race_thread *t, const struct tw_event *events, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (events[i].type == TW_EVENT_THREAD_START)
			return tw_ordering_awaits_fork(&s->ordering, t->order, events[i].payload);
	return 0;
}

static int goes_on(struct tw_race_state *s, const struct tw_race_thread *t)
{
	const struct tw_part *p = tw_postponed_first(&t->postponed);
	if (t->stuck == TW_RACE_AT_FORK)
		return p && !awaits_fork(s, t, p->events + p->event, p->n_events - p->event);
	return t->stuck == TW_RACE_AT_REGION;
}

/* Threads that wait for a region that another starts, or for a forking one. */
static int take_regions(struct tw_race_state *s)
{
	int error = 0;
	for (size_t i = 0; i < s->n_threads && !error; i++) {
		struct tw_race_thread *t = &s->threads[i];
		if (goes_on(s, t))
			error = take_postponed(s, t);
	}
	return error;
}

static int is_wanted(void *context, const struct tw_block_run *run, const struct tw_ref *r)
{
	void **c = context;
	struct tw_race_state *s = c[0];
	struct tw_race_thread *t = c[1];
	return tw_runtime_code_of(&s->runtime, run, t->serial) == TW_CODE_PROGRAM && tw_race_is_threaded(s, t->order->program) &&
	       tw_race_orders(s, t, run, r);
}

static int postpone(struct tw_race_state *s, struct tw_race_thread *t, const struct tw_part *p)
{
	void *c[] = {s, t};
	return tw_postponed_add(&t->postponed, p, &(struct tw_postponed_wanted){is_wanted, c});
}

/* The time at which the batch begins; 0: not known. */
static uint64_t begin_of(const struct tw_batch *b)
{
	return b->n_events && !b->events->block ? tw_event_time(b->events->type, b->events->payload) : 0;
}

/* ... if that is the time before a locked instruction; else 0. */
static uint64_t time_before(const struct tw_batch *b)
{
	const uint64_t begin = begin_of(b);
	return begin && b->events->type == TW_EVENT_STAMP && !((const struct tw_stamp *)b->events->payload)->after ? begin : 0;
}

/*
 * Does the batch start at a time by which everything that the thread loaded before had been read? The time before a
 * locked instruction may be read ahead of earlier loads, since processors do not wait for these; the instruction
 * does.
 */
static int begins_segment(const struct tw_batch *b)
{
	return begin_of(b) && !time_before(b);
}

/* Postponed parts of a thread, now that nothing more can come that it waits for. */
static int close_postponed(struct tw_race_state *s, struct tw_race_thread *t, const struct tw_batch *b)
{
	const struct tw_part coming = tw_part_of(b);
	tw_postponed_close(&t->postponed);
	t->coming = &coming;
	int error = is_held(t) ? 0 : take_postponed(s, t);
	t->coming = NULL;
	return error;
}

/* ---- batches as they come ---- */

/* Closes what is due by the time at which the batch, which comes next, begins. */
static int close_due(struct tw_race_state *s, const struct tw_batch *b)
{
	const uint64_t now = begin_of(b);
	uint64_t next = UINT64_MAX;
	int error = 0;
	if (now < s->due)
		return 0;
	for (size_t i = 0; i < s->n_threads && !error; i++) {
		struct tw_race_thread *t = &s->threads[i];
		if (t->known && tw_postponed_close_due(&t->postponed, now, &next) && !is_held(t))
			error = take_postponed(s, t);
	}
	s->due = next == UINT64_MAX ? 0 : next;
	return error;
}

/* ... and notes what is due for the thread of this batch. */
static void note_due(struct tw_race_state *s, struct tw_race_thread *t, const struct tw_batch *b)
{
	const uint64_t before = time_before(b);
	if (!before || !tw_postponed_first(&t->postponed))
		return;
	tw_postponed_close_at(&t->postponed, before + SETTLED);
	if (!s->due)
		s->due = before + SETTLED;
}

/* A batch of a thread of which nothing is postponed yet. */
static int take_live(struct tw_race_state *s, struct tw_race_thread *t, const struct tw_batch *b)
{
	struct tw_part left;
	int error = tw_race_take_live(s, t, b, &left);
	return error || !t->stuck ? error : postpone(s, t, &left);
}

int tw_race_take_batch(struct tw_race_state *s, struct tw_race_thread *t, const struct tw_batch *b)
{
	int error = s->due ? close_due(s, b) : 0;
	if (!error && s->ordering.n_early && begins_segment(b))
		error = settle(s, t);
	if (!error && tw_postponed_first(&t->postponed) && (begins_segment(b) || t->postponed.bytes > MOST_BYTES))
		error = close_postponed(s, t, b);
	if (error)
		return error;
	note_due(s, t, b);
	if (!tw_postponed_first(&t->postponed) && awaits_fork(s, t, b->events, b->n_events)) {
		t->stuck = TW_RACE_AT_FORK;
		s->has_regions = 1;
	}
	if (tw_postponed_first(&t->postponed) || t->stuck == TW_RACE_AT_FORK) {
		const struct tw_part part = tw_part_of(b);
		error = postpone(s, t, &part);
	} else {
		error = take_live(s, t, b);
	}
	return error || !s->has_regions ? error : take_regions(s);
}

/* ---- the end ---- */

/* A region that nobody starts: the thread continues as if it had been in the program's code. */
static int take_forced(struct tw_race_state *s, struct tw_race_thread *t)
{
	int error = 0;
	while (!error && tw_postponed_first(&t->postponed)) {
		error = take_postponed(s, t);
		if (!error && t->stuck == TW_RACE_AT_REGION)
			t->owner = TW_CODE_PROGRAM;
	}
	return error;
}

int tw_race_take_rest(struct tw_race_state *s)
{
	int error = 0;
	for (size_t i = 0; i < s->n_threads; i++)
		if (s->threads[i].known)
			tw_postponed_close(&s->threads[i].postponed);
	for (size_t i = 0; i < s->n_threads && !error; i++)
		if (s->threads[i].known && !is_held(&s->threads[i]))
			error = take_postponed(s, &s->threads[i]);
	if (!error)
		error = take_regions(s);
	for (size_t i = 0; i < s->n_threads && !error; i++)
		error = take_forced(s, &s->threads[i]);
	return error;
}
