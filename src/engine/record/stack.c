#include "engine/record/stack.h"
#include "engine/record/buffer.h"

#define PART 4096u /* bytes in an event: a page, so that all readable pages are read */
#define MOST 32768u

/* The first part ends with the page in which it begins, so that each further part is one page. */
static u32 part_at(u64 at)
{
	return PART - (u32)(at % PART);
}

void tw_stack_tell(struct thread *t)
{
	u8 bytes[PART];
	const u64 *r = t->regs, sp = r[TW_RSP];
	if (!(tw_engine.control->flags & TW_FLAG_STACK) || !t->record->recording || t->record->tallied)
		return;
	for (u64 at = sp; at - sp < MOST; at += part_at(at)) {
		const struct tw_stack e = {at, t->pc, sp, r[TW_RBX], r[TW_RBP], r[TW_R12], r[TW_R13], r[TW_R14], r[TW_R15]};
		if (!tw_copy(bytes, (const void *)at, part_at(at)))
			return;
		tw_buffer_event(t, TW_EVENT_STACK, &e, sizeof e, bytes, part_at(at));
	}
}
