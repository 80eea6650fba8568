/*
 * What is known of an atomic load that a thread stands before, whose value is not recorded.
 *
 * One that the thread makes again, with nothing between by which it could use what it has read but its own stack and thread-local storage, did not read what it waited for: it is *repeated*. That
 * is seen in what comes behind it: in all parts that are postponed, and in the batch that is being taken.
 *
 * The same load, made before, went one way, and now goes another: it has read another value, so somebody has written in between: it ends a *wait*. Where the ways are not known a load ends a wait
 * that was repeated before. A wait can only end where there is *news*: a write that the thread did not know of when it began to wait. Where a load goes the same way as before it may have read the same.
 *
 * A load that was not made before, or not without other atomic accesses since, may need somebody's write or not; that is not known. It is *explained* where there is news, or where the
 * thread was itself the last that wrote there.
 */
#include "analyzers/race_state.h"

enum {
	SPIN_BLOCKS = 16,      /* a loop that waits has at most so many of the program's... */
	SPIN_ALL_BLOCKS = 256, /* ... and so many in all */
};

/* ---- what comes behind it ---- */

struct ahead {
	struct tw_race_state *s;
	struct tw_race_thread *t;
	size_t blocks, own; /* so many have been looked at; own: of the program's */
};

/* What a reference of the program's code behind the load says of it. */
static enum tw_race_ahead judge_ref(const struct ahead *a, const struct tw_block_run *run, const struct tw_ref *r)
{
	const struct tw_race_load *load = &a->t->load;
	const struct tw_atomic_insn *insn;
	if (r->pc == load->pc && r->addr == load->addr)
		return TW_RACE_REPEATED;
	if (tw_race_orders(a->s, a->t, run, r))
		return TW_RACE_LAST;
	insn = tw_atomics_of(&a->s->atomics, run->descriptor, r, a->t->image);
	return !insn || insn->kind == TW_ATOMIC_RELAXED || insn->leads || tw_race_is_private(a->t, r->addr) ? TW_RACE_NOT_KNOWN
	                                                                                                    : TW_RACE_LAST;
}

/* What a part says, from a block and a reference on. */
static enum tw_race_ahead judge_part(struct ahead *a, const struct tw_part *p, size_t block, size_t from)
{
	for (size_t i = block; i < p->n_blocks; i++) {
		const struct tw_block_run *run = &p->blocks[i];
		const size_t end = tw_part_refs_end(p, i);
		const int own = tw_runtime_code_of(&a->s->runtime, run, a->t->serial) == TW_CODE_PROGRAM;
		a->own += (size_t)own;
		if (a->own > SPIN_BLOCKS || ++a->blocks > SPIN_ALL_BLOCKS)
			return TW_RACE_LAST;
		for (size_t k = from > run->first_ref ? from : run->first_ref; k < end && own; k++) {
			const enum tw_race_ahead what = judge_ref(a, run, &p->refs[k]);
			if (what != TW_RACE_NOT_KNOWN)
				return what;
		}
	}
	return TW_RACE_NOT_KNOWN;
}

/* Of a part, from a block on: the first block that is the program's; 0: none is. */
static uint64_t first_own(struct ahead *a, const struct tw_part *p, size_t block)
{
	for (size_t i = block; i < p->n_blocks && a->blocks < SPIN_ALL_BLOCKS; i++, a->blocks++)
		if (tw_runtime_code_of(&a->s->runtime, &p->blocks[i], a->t->serial) == TW_CODE_PROGRAM)
			return p->blocks[i].pc;
	return 0;
}

static uint64_t way_behind(struct tw_race_state *s, struct tw_race_thread *t, const struct tw_part *p, const struct tw_part *end)
{
	struct ahead a = {s, t, 0, 0};
	uint64_t way = first_own(&a, p, p->block + 1);
	while (!way && ++p < end)
		way = first_own(&a, p, 0);
	return way || !t->coming ? way : first_own(&a, t->coming, 0);
}

enum tw_race_ahead tw_race_look_ahead(struct tw_race_state *s, struct tw_race_thread *t)
{
	struct ahead a = {s, t, 0, 0};
	const struct tw_part *p = tw_postponed_first(&t->postponed), *end = p + (t->postponed.n - t->postponed.first);
	if (t->load.locked)
		return TW_RACE_LAST;
	t->load.way = way_behind(s, t, p, end);
	enum tw_race_ahead what = judge_part(&a, p, p->block, p->blocks[p->block].first_ref + p->ref + 1);
	while (what == TW_RACE_NOT_KNOWN && ++p < end)
		what = judge_part(&a, p, 0, 0);
	return what == TW_RACE_NOT_KNOWN && t->coming ? judge_part(&a, t->coming, 0, 0) : what;
}

/* ---- what came before it ---- */

/* Is it the load that the thread has made last? */
static int is_again(const struct tw_race_thread *t)
{
	return t->waiting.pc == t->load.pc && t->waiting.addr == t->load.addr && !t->load.locked;
}

/* ... and goes the same way behind it? */
static int is_alike(const struct tw_race_thread *t)
{
	return is_again(t) && t->load.way && t->load.way == t->waiting.way;
}

int tw_race_load_ends_wait(const struct tw_race_thread *t)
{
	return is_again(t) && (t->waiting.way && t->load.way ? !is_alike(t) : !t->waiting.is_loud);
}

int tw_race_load_has_news(struct tw_race_state *s, const struct tw_race_thread *t)
{
	const uint64_t version = tw_ordering_atomic_writes(&s->ordering, t->order->program, t->load.addr);
	if (tw_race_load_ends_wait(t) && (t->waiting.told || t->waiting.version != version))
		return 1;
	return tw_ordering_atomic_tells(&s->ordering, t->order, t->load.addr);
}

static int is_own(struct tw_race_state *s, const struct tw_race_thread *t)
{
	return tw_ordering_atomic_writer(&s->ordering, t->order->program, t->load.addr) == t->order->index + 1;
}

int tw_race_load_is_explained(struct tw_race_state *s, const struct tw_race_thread *t)
{
	return is_alike(t) || tw_race_load_has_news(s, t) || (!tw_race_load_ends_wait(t) && is_own(s, t));
}
