#include "engine/code/learned.h"
#include "engine/record/budget.h"
#include "engine/record/buffer.h"
#include "engine/record/told.h"
#include "engine/thread.h"

static bool left_out; /* under the lock */

bool tw_learned_left_out(void)
{
	return left_out;
}

/* The fragment of x, an exit by which bare code was left; NULL: not known, or already told. */
static const struct fragment *left_from(struct exit *x)
{
	if (!x || !(tw_exit_is_indirect(x) || (x->kind == EXIT_LINK && !x->told)))
		return NULL;
	x->told = true;
	return x->from;
}

/*
 * With a log of regions, as in DIME*: a block that is in the log when its fragment is made is not told, nor is what
 * follows it. Otherwise this part of e is told, and the block is in the log from then on.
 */
static bool tell_by_log(struct fragment *f, const struct fragment *from, struct tw_learned *e, bool new)
{
	struct thread *t = tw_thread_self();
	if (new)
		f->known = tw_told_has_region(e->pc, e->bytes);
	const bool block = new && !f->known, edge = from && !from->known;
	if (!(block || edge) || !tw_budget_may_tell(t))
		return false;
	if (block)
		tw_told_add_region(e->pc, e->bytes);
	e->bytes = block ? e->bytes : 0;
	e->from = edge ? e->from : 0;
	tw_buffer_event(t, TW_EVENT_LEARNED, e, sizeof *e, NULL, 0);
	return true;
}

bool tw_learned_tell(struct fragment *f, struct exit *x, bool new)
{
	struct thread *t = tw_thread_self();
	const struct fragment *from = left_from(x);
	const struct piece *p = &f->rec.piece[f->rec.n_pieces - 1];
	struct tw_learned e = {.pc = p->pc + p->lead, .bytes = p->bytes - p->lead};
	if (!from && !new)
		return false;
	if (from) {
		const struct piece *before = &from->rec.piece[from->rec.n_pieces - 1];
		e.from = before->pc + before->bytes;
		e.from_end = before->end;
	}
	if (tw_engine.control->learn_log)
		return tell_by_log(f, from, &e, new);
	if (tw_budget_seeks()) {
		if (tw_told_new(&e, false))
			tw_budget_want(t);
		return false;
	}
	const bool now = tw_budget_may_tell(t), is_new = tw_told_new(&e, now), tells = is_new && now;
	left_out |= is_new && !now;
	if (tells)
		tw_buffer_event(t, TW_EVENT_LEARNED, &e, sizeof e, NULL, 0);
	return tells;
}
