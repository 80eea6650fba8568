#include "engine/signal/show.h"
#include "engine/thread.h"
#include "engine/record/slot.h"

void tw_signal_tell(const struct thread *t, struct tw_slot_signals *s)
{
	s->blocked = tw_signal_mask(t);
	s->pending = t->signal->pending.set;
	s->ignored = t->signal->actions->sig_ign;
	s->caught = t->signal->actions->caught;
	s->shared = t->signal->shared->set;
}

void tw_signal_show(const struct thread *t)
{
	if (t->record->slot != NO_SLOT && t->signal->actions)
		tw_signal_tell(t, &tw_slot_of(t)->signals);
}

void tw_signal_show_process(const struct thread *t)
{
	const struct thread *first = t->tid == t->pid ? NULL : tw_thread_of(t->pid);
	tw_signal_show(t);
	if (first)
		tw_signal_show(first);
}
