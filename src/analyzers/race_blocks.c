/*
 * Starts and ends of blocks: whose code runs, and what the thread has called.
 */
#include "analyzers/ordering_tasks.h"
#include "analyzers/race_state.h"

/* The thread starts or ends a task: its stack below, from the return address on, has new contents. */
static void forget_below(struct tw_race_state *s, const struct tw_race_thread *t)
{
	const uint64_t top = t->path.n ? t->path.frames[t->path.n - 1].slot + sizeof(uint64_t) : 0, low = t->lowest - TW_RACE_LOCAL_STORAGE;
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
	if (before == TW_CODE_PROGRAM && owner == TW_CODE_OPENMP && t->end == TW_END_RETURN)
		return tw_ordering_made_more(&s->ordering, t->order);
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
	for (size_t i = t->path.n; i-- > 0 && (owner == TW_CODE_LIBRARY || tw_code_is_given(owner));)
		owner = caller_of(s, t, i);
	return owner == TW_CODE_STREAM;
}

/* Whose a block is, on whose behalf it runs. */
static enum tw_code_owner owner_of(struct tw_race_state *s, struct tw_race_thread *t, const struct tw_block_run *run)
{
	const enum tw_code_owner owner = tw_runtime_code_of(&s->runtime, run, t->serial);
	t->fills = tw_code_is_given(owner) && fills_stream(s, t);
	if (!tw_code_is_given(owner))
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

int tw_race_enter_block(struct tw_race_state *s, struct tw_race_thread *t, const struct tw_block_run *run, int *looks)
{
	const enum tw_code_owner owner = owner_of(s, t, run);
	int error = owner != t->owner ? change_owner(s, t, run, owner) : 0;
	*looks = tw_race_looks(s, t);
	if (error || t->stuck)
		return error;
	t->end = tw_descriptor_blocks(run->descriptor)[run->block].end;
	return owner == TW_CODE_OPENMP ? go_on(s, t) : 0;
}

/* ---- functions that make tasks ---- */

void tw_race_note_maker(struct tw_race_thread *t, const struct tw_open_call *c)
{
	const struct tw_callpath_frame *f = t->path.n > 1 ? &t->path.frames[t->path.n - 2] : NULL;
	const uint64_t low = c->sp + sizeof(uint64_t);
	struct tw_race_maker *m = t->n_makers ? &t->makers[t->n_makers - 1] : NULL;
	if (!f || f->slot < low)
		return;
	if (m && m->slot == f->slot)
		m->low = m->low < low ? m->low : low;
	else if (t->n_makers < TW_RACE_MAKERS)
		t->makers[t->n_makers++] = (struct tw_race_maker){low, f->slot};
}

/* The thread has returned from those that are not open any more. */
static int leave_makers(struct tw_race_state *s, struct tw_race_thread *t, uint64_t pc)
{
	const uint64_t top = t->path.n ? t->path.frames[t->path.n - 1].slot : UINT64_MAX;
	int error = 0;
	for (; t->n_makers && t->makers[t->n_makers - 1].slot < top && !error; t->n_makers--)
		error = tw_race_looks(s, t) ? tw_race_leave_maker(s, t, &t->makers[t->n_makers - 1], pc) : 0;
	return error;
}

int tw_race_leave_block(struct tw_race_state *s, struct tw_race_thread *t, const struct tw_block_run *run, uint64_t last)
{
	if (t->end != TW_END_CALL && t->end != TW_END_ICALL && t->end != TW_END_RETURN)
		return 0;
	int error = tw_callpath_take(&t->path, run, &last, 1);
	if (t->path.n && t->path.frames[t->path.n - 1].slot < t->lowest)
		t->lowest = t->path.frames[t->path.n - 1].slot;
	return error || !t->n_makers ? error : leave_makers(s, t, run->pc);
}
