/*
 * What is known of an atomic load before which a thread stands, and whose value is not recorded.
 *
 * If the thread makes the same load again, and in between could use the value only through its own stack and
 * thread-local storage, it did not read what it was waiting for: the load is *repeated*. This is determined from what
 * follows it: all postponed parts, and the current batch.
 *
 * If the same load, made before, was followed by one path, and is now followed by another, it has read another value,
 * so somebody has written in between: it ends a *wait*. If the paths are not known, a load ends a wait that was
 * repeated before. A wait can end only if there is *news*: a write that the thread did not know of when it started to
 * wait. If a load is followed by the same path as before it may have read the same value.
 *
 * A load that was not made before, or not without other atomic accesses since, may or may not need somebody's write;
 * that is not known. It is *explained* if there is news, if the thread itself was the last to write there, or if it
 * is on its own stack and nobody has written there.
 */
#include "analyzers/race_state.h"

enum {
	SPIN_BLOCKS = 16,      /* a loop that waits has at most so many of the program's... */
	SPIN_ALL_BLOCKS = 256, /* ... and so many in all */
	WAY_BLOCKS = 8,        /* so many blocks behind a load are looked at for a branch */
};

/* ---- what comes behind it ---- */

struct ahead {
	struct tw_race_state *s;
	struct tw_race_thread *t;
	size_t blocks, own; /* so many have been looked at; own: of the program's */
};

/* What a reference of the program's code after the load says about it. */
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

/*
 * The path after a load: the block after the first branch that depends on anything, past calls and returns (without
 * optimization loads are in functions of their own).
 */
struct way {
	uint64_t first, chosen; /* the first of the program's blocks, and the one after the branch; 0: not yet */
	unsigned passed;
	int branched;
};

static int branches(const struct tw_block_run *run)
{
	const uint8_t end = tw_descriptor_blocks(run->descriptor)[run->block].end;
	return end == TW_END_COND || end == TW_END_IJUMP;
}

/* Goes on through a part, from a block on. */
static void follow(struct ahead *a, const struct tw_part *p, size_t block, struct way *w)
{
	for (size_t i = block; i < p->n_blocks && a->blocks < SPIN_ALL_BLOCKS && !w->chosen && w->passed < WAY_BLOCKS; i++, a->blocks++) {
		if (tw_runtime_code_of(&a->s->runtime, &p->blocks[i], a->t->serial) != TW_CODE_PROGRAM)
			continue;
		w->passed++;
		w->first = w->first ? w->first : p->blocks[i].pc;
		w->chosen = w->branched ? p->blocks[i].pc : 0;
		w->branched |= branches(&p->blocks[i]);
	}
}

/* 0: it is not known. */
static uint64_t way_behind(struct tw_race_state *s, struct tw_race_thread *t, const struct tw_part *p, const struct tw_part *end)
{
	struct ahead a = {s, t, 0, 0};
	struct way w = {.branched = branches(&p->blocks[p->block])};
	follow(&a, p, p->block + 1, &w);
	while (++p < end)
		follow(&a, p, 0, &w);
	if (t->coming)
		follow(&a, t->coming, 0, &w);
	return w.chosen ? w.chosen : w.first;
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

/* On the thread's own stack, where nobody has written by an atomic access? */
static int is_not_shared(struct tw_race_state *s, const struct tw_race_thread *t)
{
	return tw_race_is_private(t, t->load.addr) && !tw_ordering_atomic_writes(&s->ordering, t->order->program, t->load.addr);
}

int tw_race_load_is_explained(struct tw_race_state *s, const struct tw_race_thread *t)
{
	return is_not_shared(s, t) || is_alike(t) || tw_race_load_has_news(s, t) || (!tw_race_load_ends_wait(t) && is_own(s, t));
}
