/*
 * Whose turn it is. Threads come in segments: what a thread did from one event that has a time to the next. Segments come in the order in which they begin, and those that overlap in time may
 * have been in any order, or mixed. An atomic load that is a plain mov has no time of its own, and what it read is not recorded. It is taken to have read what was written last by segments that
 * began before its own ended, as far as these can have come: so a race is told only where such an order does not explain it. Therefore a thread stops before such a load, and what it did next
 * is postponed until its segment is *closed*: until its next one begins, all that it can have seen has been handed out. Then those threads are looked at further that are postponed themselves
 * and write there, until none of them can go on; and then the load is made.
 *
 * Locked instructions have two times, before and after, and are a segment of their own. Two that overlap may have been in either order: each acquires what the other released.
 *
 * One that waits for another in a circle goes on, but for the end of a *spin*: who repeats a load and then stops has seen another thread's write, and cannot have gone on before that.
 * That a load is repeated can be seen from what comes behind it, or from what came before, where a system call stands between. Another load that a thread goes on behind for the other's sake,
 * in a segment that is not closed, is *early*: it may have read what is written until the segment is closed, and all that came after it in the thread is then ordered behind that write, too.
 */
#include "analyzers/race_state.h"
#include "base/array.h"
#include "recording/recording.h"

enum {
	SPIN_BLOCKS = 16,       /* a loop that waits has at most so many */
	MOST_BYTES = 512 << 20, /* of a thread that are postponed */
};

/* ---- blocks ---- */

/* The thread begins or ends a task: what lies below on its stack is not what it was. */
static void forget_below(struct tw_race_state *s, const struct tw_race_thread *t)
{
	const uint64_t top = t->path.n ? t->path.frames[t->path.n - 1].slot : 0, low = t->lowest - TW_RACE_LOCAL_STORAGE;
	if (t->lowest < top && top - low < TW_RACE_STACK)
		tw_race_forget(s, t->order->program, low, top);
}

/* Does the C library call what the program is to run once? */
static int begins_once(const struct tw_race_thread *t, enum tw_code_owner before)
{
	return before == TW_CODE_LIBRARY && t->end == TW_END_ICALL && t->calling.n &&
	       t->calling.open[t->calling.n - 1].kind == TW_CALLED_ONCE;
}

/* Control has come from one's code to another's. */
static int change_owner(struct tw_race_state *s, struct tw_race_thread *t, const struct tw_block_run *run, enum tw_code_owner owner)
{
	const enum tw_code_owner before = t->owner;
	int waits = 0;
	t->owner = owner;
	if (owner == TW_CODE_PROGRAM && begins_once(t, before))
		return tw_ordering_begins_once(&s->ordering, t->order, t->calling.open[t->calling.n - 1].args[0]);
	if (before != TW_CODE_OPENMP || owner != TW_CODE_PROGRAM || t->end != TW_END_ICALL)
		return 0;
	const uint32_t tasks = t->order->n_deferred;
	int error = tw_ordering_comes(&s->ordering, t->order, run->pc, t->path.n, &waits);
	if (t->order->n_deferred != tasks)
		forget_below(s, t);
	if (waits && !t->calling.n) {
		t->owner = before;
		t->stuck = TW_RACE_AT_REGION;
		s->has_regions = 1;
	}
	return error;
}

/* Whose code made the call that is open, number i of the path. */
static enum tw_code_owner caller_of(struct tw_race_state *s, const struct tw_race_thread *t, size_t i)
{
	return tw_runtime_code_at(&s->runtime, t->path.frames[i].back - 1, t->serial);
}

/* Does the C library, in the calls since the program's last, fill the buffer of a stream? */
static int fills_stream(struct tw_race_state *s, const struct tw_race_thread *t)
{
	enum tw_code_owner owner = TW_CODE_LIBRARY;
	for (size_t i = t->path.n; i-- > 0 && (owner == TW_CODE_LIBRARY || owner == TW_CODE_GIVEN);)
		owner = caller_of(s, t, i);
	return owner == TW_CODE_STREAM;
}

/* Whose a block is, on whose behalf it runs. */
static enum tw_code_owner owner_of(struct tw_race_state *s, struct tw_race_thread *t, const struct tw_block_run *run)
{
	const enum tw_code_owner owner = tw_runtime_code_of(&s->runtime, run, t->serial);
	t->fills = owner == TW_CODE_GIVEN && fills_stream(s, t);
	if (owner != TW_CODE_GIVEN)
		return owner;
	return t->path.n && caller_of(s, t, t->path.n - 1) == TW_CODE_OPENMP ? TW_CODE_OPENMP : TW_CODE_PROGRAM;
}

/* The library's code runs again. */
static int go_on(struct tw_race_state *s, struct tw_race_thread *t)
{
	const size_t who = t->order->who;
	int error = tw_ordering_goes(&s->ordering, t->order, t->path.n);
	if (t->order->who != who)
		forget_below(s, t);
	return error;
}

/* A block begins. *looks: what it accesses is to be looked at. */
static int enter_block(struct tw_race_state *s, struct tw_race_thread *t, const struct tw_block_run *run, int *looks)
{
	const enum tw_code_owner owner = owner_of(s, t, run);
	int error = owner != t->owner ? change_owner(s, t, run, owner) : 0;
	*looks = owner == TW_CODE_PROGRAM && !t->calling.in_closed && tw_race_is_threaded(s, t->order->program);
	if (error || t->stuck)
		return error;
	t->end = tw_descriptor_blocks(run->descriptor)[run->block].end;
	return owner == TW_CODE_OPENMP ? go_on(s, t) : 0;
}

/* The block, the last that began, is done with: what it did to the stack of calls. `last`: the address of its last reference. */
static int leave_block(struct tw_race_thread *t, const struct tw_block_run *run, uint64_t last)
{
	if (t->end != TW_END_CALL && t->end != TW_END_ICALL && t->end != TW_END_RETURN)
		return 0;
	int error = tw_callpath_take(&t->path, run, &last, 1);
	if (t->path.n && t->path.frames[t->path.n - 1].slot < t->lowest)
		t->lowest = t->path.frames[t->path.n - 1].slot;
	return error;
}

/* The part's block, as far as that can be looked at. */
static int take_block(struct tw_race_state *s, struct tw_race_thread *t, struct tw_part *p)
{
	const struct tw_block_run *run = &p->blocks[p->block];
	const size_t n = tw_part_refs_end(p, p->block) - run->first_ref;
	int looks, error = enter_block(s, t, run, &looks);
	if (error || t->stuck)
		return error;
	if (looks)
		error = tw_race_take_refs(s, t, p, run, n);
	else
		p->ref = n;
	if (error || p->ref < n)
		return error;
	p->block++;
	p->ref = 0;
	return n ? leave_block(t, run, p->refs[run->first_ref + n - 1].addr) : 0;
}

static int take_events(struct tw_race_state *s, struct tw_race_thread *t, struct tw_part *p)
{
	int error = 0;
	for (; p->event < p->n_events && p->events[p->event].block <= p->block && !error; p->event++)
		error = tw_race_take_event(s, t, &p->events[p->event]);
	return error;
}

/* As far as it goes: to the part's end, or t->stuck tells why not. */
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

/* ---- loads that are repeated ---- */

/* Does the thread make the load that it stands before again, with nothing between by which threads are ordered? */
static int repeats(struct tw_race_state *s, struct tw_race_thread *t, const struct tw_part *p)
{
	size_t from = p->blocks[p->block].first_ref + p->ref + 1;
	for (size_t i = p->block; i < p->n_blocks && i < p->block + SPIN_BLOCKS; i++) {
		const struct tw_block_run *run = &p->blocks[i];
		const size_t end = tw_part_refs_end(p, i);
		for (size_t k = from > run->first_ref ? from : run->first_ref; k < end; k++) {
			const struct tw_ref *r = &p->refs[k];
			if (r->pc == t->load.pc && r->addr == t->load.addr)
				return 1;
			if (tw_runtime_code_of(&s->runtime, run, t->serial) == TW_CODE_PROGRAM && tw_race_orders(s, t, run, r))
				return 0;
		}
	}
	return 0;
}

static int is_spinning(const struct tw_race_thread *t)
{
	return t->spin.pc == t->load.pc && t->spin.addr == t->load.addr;
}

static uint64_t version_of(struct tw_race_state *s, const struct tw_race_thread *t)
{
	return tw_ordering_atomic_writes(&s->ordering, t->order->program, t->load.addr);
}

/* Is the load one that is made again? Then what it read was not what the thread waits for. */
static int is_one_of_spin(struct tw_race_state *s, struct tw_race_thread *t, const struct tw_part *p)
{
	if (t->load.locked || !repeats(s, t, p))
		return 0;
	if (!is_spinning(t)) {
		t->spin.pc = t->load.pc;
		t->spin.addr = t->load.addr;
		t->spin.version = version_of(s, t);
	}
	return 1;
}

/* ---- threads that are waited for ---- */

static int advance(struct tw_race_state *s, struct tw_race_thread *t, uint64_t addr, int *wrote);

/* Does it wait for what no time tells: that another thread begins a region, or has forked? */
static int is_held(const struct tw_race_thread *t)
{
	return t->stuck == TW_RACE_AT_REGION || t->stuck == TW_RACE_AT_FORK;
}

static int may_write(const struct tw_race_thread *t, const struct tw_race_thread *other, uint64_t addr)
{
	return other->known && other != t && !other->resolving && !is_held(other) && addr && tw_postponed_first(&other->postponed) &&
	       tw_postponed_writes(&other->postponed, addr);
}

/* Lets another write at addr of the program, which it may have elsewhere, if it can. */
static int let_one_write(struct tw_race_state *s, const struct tw_race_thread *t, struct tw_race_thread *other, uint32_t program,
                         uint64_t addr, int *wrote)
{
	const uint64_t there = other->known ? tw_shared_memory_address(&s->ordering.shared, program, addr, other->order->program) : 0;
	return may_write(t, other, there) ? advance(s, other, there, wrote) : 0;
}

/* Looks at others until none of them can write any more at addr of the program. */
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

/* So that the thread may load next: what may have been written there, and what others have read early, is written. */
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

/* Is it again the load that the thread has made last, though perhaps before a system call, and has the variable told it nothing since? */
static int is_still_waiting(struct tw_race_state *s, const struct tw_race_thread *t)
{
	return t->waiting.pc == t->load.pc && t->waiting.addr == t->load.addr && !t->load.locked && !t->waiting.told &&
	       !tw_ordering_atomic_tells(&s->ordering, t->order, t->load.addr);
}

/* Does the load end a spin, with nothing written yet that could have ended it? */
static int is_too_early(struct tw_race_state *s, const struct tw_race_thread *t)
{
	return (is_spinning(t) && t->spin.version == version_of(s, t)) || is_still_waiting(s, t);
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

/* Looks at what is postponed of a thread until it writes at addr; not beyond what it cannot have passed yet. */
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
		if (is_one_of_spin(s, t, tw_postponed_first(&t->postponed))) {
			t->may_load = 1;
			continue;
		}
		t->goal = 0;
		error = resolve(s, t);
		t->goal = addr;
		overlaps = t->load.locked && t->load.addr == addr;
		ends = is_too_early(s, t);
		t->may_load = !ends;
		t->spin.pc = ends ? t->spin.pc : 0;
		if (!error && !ends && !t->load.locked && !tw_postponed_first(&t->postponed)->closed)
			error = tw_ordering_read_early(&s->ordering, t->order, t->load.addr);
	}
	t->goal = 0;
	t->overlaps = overlaps ? addr : 0;
	return error;
}

/* ---- a thread's turn ---- */

/* The thread stands before a load in a part that is closed, or whose time is known. */
static int load_now(struct tw_race_state *s, struct tw_race_thread *t, const struct tw_part *p)
{
	if (is_one_of_spin(s, t, p)) {
		t->may_load = 1;
		return 0;
	}
	int error = resolve(s, t);
	t->spin.pc = 0;
	return error;
}

/* All that is postponed of the thread, as far as that can be looked at now. */
static int take_postponed(struct tw_race_state *s, struct tw_race_thread *t)
{
	int error = 0;
	for (struct tw_part *p; !error && (p = tw_postponed_first(&t->postponed));) {
		error = take_first(s, t);
		if (error || !t->stuck)
			continue;
		if (t->stuck != TW_RACE_AT_LOAD || !p->closed)
			return 0;
		error = load_now(s, t, p);
	}
	return error;
}

/* Does the thread begin here, with what another process has not been told yet? */
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

/* Those that wait for a region that another begins, or for who has forked. */
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

/*
 * Does the batch begin at a time by which all that the thread loaded before had been read? The time before a locked instruction may be read ahead of loads before it, since processors do not wait
 * for these; the instruction does.
 */
static int begins_segment(const struct tw_batch *b)
{
	const struct tw_event *e = b->events;
	if (!b->n_events || e->block || !tw_event_time(e->type, e->payload))
		return 0;
	return e->type != TW_EVENT_STAMP || ((const struct tw_stamp *)e->payload)->after;
}

/* What is postponed of a thread, now that no more can come that it waits for. */
static int close_postponed(struct tw_race_state *s, struct tw_race_thread *t)
{
	tw_postponed_close(&t->postponed);
	return is_held(t) ? 0 : take_postponed(s, t);
}

/* ---- batches as they come ---- */

/* How far a batch has been looked at. */
struct live {
	const struct tw_batch *b;
	const struct tw_block_run *run; /* the newest block; NULL: none yet */
	size_t blocks, refs, event;     /* so many blocks have begun; so many references of the newest have been looked at */
	uint64_t last;                  /* where the newest of these is */
	int looks;                      /* what the block accesses is to be looked at */
};

static int take_live_events(struct tw_race_state *s, struct tw_race_thread *t, struct live *l)
{
	int error = 0;
	for (; l->event < l->b->n_events && l->b->events[l->event].block <= l->blocks && !error; l->event++)
		error = tw_race_take_event(s, t, &l->b->events[l->event]);
	return error;
}

static int leave_live_block(struct tw_race_thread *t, const struct live *l)
{
	return l->run && l->refs ? leave_block(t, l->run, l->last) : 0;
}

static int begin_live_block(struct tw_race_state *s, struct tw_race_thread *t, struct live *l, const struct tw_block_run *run)
{
	int error = leave_live_block(t, l);
	if (!error && l->event < l->b->n_events)
		error = take_live_events(s, t, l);
	l->run = run;
	l->refs = 0;
	l->blocks++;
	return error ? error : enter_block(s, t, run, &l->looks);
}

/* References of the newest block. */
static int take_live_refs(struct tw_race_state *s, struct tw_race_thread *t, struct live *l, const struct tw_ref_shape *shapes,
                          const uint64_t *addr, size_t n)
{
	size_t done = n;
	if (!n || !l->run)
		return 0;
	int error = l->looks ? tw_race_take_addresses(s, t, l->run, shapes, addr, n, &done) : 0;
	l->refs += done;
	l->last = addr[n - 1];
	return error;
}

/* ---- stretches that are simple ---- */

static int changes_path(const struct tw_block_run *run)
{
	const uint8_t end = tw_descriptor_blocks(run->descriptor)[run->block].end;
	return end == TW_END_CALL || end == TW_END_ICALL || end == TW_END_RETURN;
}

/* Is none of its instructions known to be atomic? */
static int is_plain(struct tw_race_state *s, const struct tw_race_thread *t, const struct tw_stretch *st, const uint64_t *addr)
{
	for (uint32_t i = 0; i < st->n_refs; i++) {
		const struct tw_ref_shape *r = &st->refs[i];
		const struct tw_ref ref = {.pc = r->pc, .addr = addr[i], .size = r->size, .insn = r->insn, .type = r->type};
		const struct tw_atomic_insn *insn = tw_atomics_of(&s->atomics, st->blocks->descriptor, &ref, t->image);
		if (!insn || !tw_atomics_is_plain(insn))
			return 0;
	}
	return 1;
}

static int is_simple(struct tw_race_state *s, const struct tw_race_thread *t, const struct tw_stretch *st, const uint64_t *addr)
{
	if (!st->n_blocks || st->blocks->first_ref)
		return 0;
	const enum tw_code_owner owner = tw_runtime_code_of(&s->runtime, st->blocks, t->serial);
	if (owner != TW_CODE_PROGRAM && !tw_code_is_library(owner))
		return 0;
	for (uint32_t k = 0; k < st->n_blocks; k++) {
		const struct tw_block_run *run = &st->blocks[k];
		if (!run->n_insns || run->descriptor != st->blocks->descriptor || (k + 1 < st->n_blocks && changes_path(run)) ||
		    tw_runtime_code_of(&s->runtime, run, t->serial) != owner)
			return 0;
	}
	return owner != TW_CODE_PROGRAM || is_plain(s, t, st, addr);
}

/* The plan of a stretch that stays, if it is simple; NULL: it is not, or has not run often enough to find out. */
static const struct tw_race_plan *simple_plan(struct tw_race_state *s, const struct tw_race_thread *t, const struct tw_stretch *st,
                                              const uint64_t *addr)
{
	enum { RUNS = 4 };
	if (st->number >= s->plans_room) {
		struct tw_race_plan *plans = tw_array_zeros(s->plans, st->number, &s->plans_room, sizeof *plans);
		if (!plans)
			return NULL;
		s->plans = plans;
	}
	struct tw_race_plan *p = &s->plans[st->number];
	if (!p->made && ++p->runs >= RUNS) {
		p->made = 1;
		p->simple = (uint8_t)is_simple(s, t, st, addr);
		p->owner = p->simple ? (uint8_t)tw_runtime_code_of(&s->runtime, st->blocks, t->serial) : 0;
		p->leaves = p->simple && changes_path(&st->blocks[st->n_blocks - 1]);
	}
	return p->simple ? p : NULL;
}

/* The stretch's block k is the newest, of which so many references have been looked at. */
static void stand_in(struct tw_race_thread *t, struct live *l, const struct tw_stretch *st, const uint64_t *addr, uint32_t k, size_t refs)
{
	l->run = &st->blocks[k];
	l->refs = refs;
	l->last = refs ? addr[l->run->first_ref + refs - 1] : l->last;
	t->end = tw_descriptor_blocks(l->run->descriptor)[l->run->block].end;
}

/* The same as take_live_stretch, block by block, comes to where control stays with the owner whose code ran before, and nothing happens within. */
static int take_simple_stretch(struct tw_race_state *s, struct tw_race_thread *t, struct live *l, const struct tw_stretch *st,
                               const uint64_t *addr)
{
	int error = leave_live_block(t, l);
	size_t done = st->n_refs;
	t->fills = 0;
	l->looks = t->owner == TW_CODE_PROGRAM && !t->calling.in_closed && tw_race_is_threaded(s, t->order->program);
	if (!error && l->looks && st->n_refs)
		error = tw_race_take_addresses(s, t, st->blocks, st->refs, addr, st->n_refs, &done);
	uint32_t k = st->n_blocks - 1;
	while (t->stuck && k && st->blocks[k].first_ref > done)
		k--;
	l->blocks += k + 1;
	stand_in(t, l, st, addr, k, done - st->blocks[k].first_ref);
	return error;
}

/* Has the thread seen all that these access? */
static inline int is_all_seen(const struct tw_race_lines *lines, const struct tw_stretch *st, const uint64_t *addr)
{
	const struct tw_ref_shape *r = st->refs;
	for (uint32_t k = 0; k < st->n_refs; k++)
		if (!tw_race_lines_have(lines, addr[k], r[k].size, r[k].type & TW_WRITE))
			return 0;
	return 1;
}

/*
 * Passes over simple stretches, from number *i of the batch on, whose accesses the thread has all made before in its epoch, or that are not looked at: nothing changes by these but where it
 * stands. *addr: of the references of number *i.
 */
static int pass_over(struct tw_race_state *s, struct tw_race_thread *t, struct live *l, size_t *i, const uint64_t **addr)
{
	const struct tw_batch *b = l->b;
	const int looks = t->owner == TW_CODE_PROGRAM && !t->calling.in_closed && tw_race_is_threaded(s, t->order->program);
	const struct tw_stretch *last = NULL;
	const uint64_t *at = *addr;
	int error = tw_race_lines_renew(t->lines, tw_epoch_number(t->order->who, t->order->clock), t->locks), leaves = 1;
	size_t k = *i;
	for (; k < b->n_stretches && !error; k++) {
		const struct tw_stretch *st = b->stretches[k];
		const struct tw_race_plan *p = st->number < s->plans_room ? &s->plans[st->number] : NULL;
		if (!p || !p->simple || p->owner != t->owner || (looks && !is_all_seen(t->lines, st, at)))
			break;
		error = leaves ? leave_live_block(t, l) : 0;
		last = st;
		leaves = p->leaves;
		l->blocks += st->n_blocks;
		at += st->n_refs;
		if (leaves)
			stand_in(t, l, st, at - st->n_refs, st->n_blocks - 1, st->n_refs - st->blocks[st->n_blocks - 1].first_ref);
	}
	if (last) {
		stand_in(t, l, last, at - last->n_refs, last->n_blocks - 1, last->n_refs - last->blocks[last->n_blocks - 1].first_ref);
		l->looks = looks;
		t->fills = 0;
	}
	*addr = at;
	*i = k;
	return error;
}

/* ---- stretches as they come ---- */

static int take_live_stretch(struct tw_race_state *s, struct tw_race_thread *t, struct live *l, const struct tw_stretch *st,
                             const uint64_t *addr)
{
	const struct tw_race_plan *plan = st->number && l->event == l->b->n_events ? simple_plan(s, t, st, addr) : NULL;
	if (plan && plan->owner == t->owner)
		return take_simple_stretch(s, t, l, st, addr);
	const uint32_t leading = st->n_blocks ? st->blocks->first_ref : st->n_refs;
	int error = take_live_refs(s, t, l, st->refs, addr, leading);
	for (uint32_t k = 0; k < st->n_blocks && !error && !t->stuck; k++) {
		const struct tw_block_run *run = &st->blocks[k];
		const uint32_t end = k + 1 < st->n_blocks ? run[1].first_ref : st->n_refs;
		error = begin_live_block(s, t, l, run);
		if (!error && !t->stuck)
			error = take_live_refs(s, t, l, st->refs + run->first_ref, addr + run->first_ref, end - run->first_ref);
	}
	return error;
}

/* A batch of a thread of which nothing is postponed yet. */
static int take_live(struct tw_race_state *s, struct tw_race_thread *t, const struct tw_batch *b)
{
	struct live l = {.b = b};
	const uint64_t *addr = b->addr;
	int error = 0;
	t->stuck = TW_RACE_GOES_ON;
	for (size_t i = 0; i < b->n_stretches && !error && !t->stuck; i++) {
		if (l.event == b->n_events && !t->waiting.pc)
			error = pass_over(s, t, &l, &i, &addr);
		if (error || i == b->n_stretches)
			break;
		error = take_live_stretch(s, t, &l, b->stretches[i], addr);
		addr += b->stretches[i]->n_refs;
	}
	if (!error && t->stuck) {
		struct tw_part left = tw_part_of(b);
		left.block = l.blocks - 1;
		left.ref = l.refs;
		left.event = l.event;
		return postpone(s, t, &left);
	}
	if (!error)
		error = leave_live_block(t, &l);
	return error ? error : take_live_events(s, t, &l);
}

int tw_race_take_batch(struct tw_race_state *s, struct tw_race_thread *t, const struct tw_batch *b)
{
	int error = s->ordering.n_early && begins_segment(b) ? settle(s, t) : 0;
	if (!error && tw_postponed_first(&t->postponed) && (begins_segment(b) || t->postponed.bytes > MOST_BYTES))
		error = close_postponed(s, t);
	if (error)
		return error;
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

/* A region that nobody begins: the thread goes on as if it had been in the program's code. */
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
