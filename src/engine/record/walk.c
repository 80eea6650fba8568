#include "engine/record/walk.h"
#include "engine/record/pen.h"

#define EMPTY 3u /* thread.bits of a group with no bits */

void tw_walk_put(struct thread *t, u32 v)
{
	tw_pen_append(t, &v, sizeof v);
}

/* The group as stored: without the upper of the two 1 bits at its top. */
static u32 stored(u64 bits)
{
	u64 top = 2;
	while (bits >> 1 >= top)
		top <<= 1;
	return (u32)(bits & ~top);
}

void tw_walk_stop(struct thread *t)
{
	const bool complete = t->bits >> 32;
	t->record->walks = false;
	*(u32 *)t->group = complete ? (u32)t->bits : stored(t->bits);
	if (complete)
		tw_walk_put(t, stored(EMPTY)); /* behind a complete group there is another */
	struct {
		u32 mark, reserved;
		u64 pc;
	} stop = {TW_MARK_STOP, 0, t->record->stop_pc};
	tw_pen_append(t, &stop, sizeof stop);
}

void tw_walk_begin(struct thread *t, u32 tag)
{
	tw_walk_put(t, TW_MARK_START);
	tw_walk_put(t, tag);
	t->group = t->bufptr;
	tw_walk_put(t, 0);
	t->bits = EMPTY;
	t->record->walks = true;
}

void tw_walk_next_group(struct thread *t)
{
	t->group = t->bufptr;
	t->bufptr += TW_GROUP_BYTES;
	t->bits = EMPTY;
}
