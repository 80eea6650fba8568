#include "engine/record/charge.h"
#include "engine/record/account.h"
#include "engine/record/cycles.h"
#include "engine/x86_64/glue.h"
#include <linux/time.h>

bool tw_charge_is_made(const struct thread *t)
{
	return tw_engine.control->budget.period && t->record->recording;
}

u32 tw_charge_empty_buffers(const struct thread *t)
{
	const struct tw_slot *s = &tw_engine.control->slot[t->record->slot];
	u32 n = 0;
	for (u32 k = 0; k < tw_sizes()->buffers; k++)
		n += k != s->current && __atomic_load_n((const u32 *)&s->buffer[k].state, __ATOMIC_RELAXED) == TW_BUFFER_EMPTY;
	return n;
}

u64 tw_charge_begin(const struct thread *t)
{
	if (!tw_charge_is_made(t))
		return 0;
	return t->record->bare ? tw_tsc() : tw_cycles_clock(CLOCK_THREAD_CPUTIME_ID);
}

void tw_charge_end(struct thread *t, u64 began)
{
	if (began)
		t->record->budget.engine +=
		    t->record->bare ? tw_cycles_to_ns(tw_tsc() - began) : tw_cycles_clock(CLOCK_THREAD_CPUTIME_ID) - began;
}

void tw_charge_waited(struct thread *t, u64 ns)
{
	struct tw_budget_thread *b = &t->record->budget;
	if (!tw_charge_is_made(t) || t->record->bare)
		return;
	b->waited += ns;
	__atomic_fetch_add((u64 *)&tw_engine.control->budget.waited, ns, __ATOMIC_RELAXED);
}

void tw_charge_switched(struct thread *t, u64 bytes)
{
	struct tw_budget_thread *b = &t->record->budget;
	b->past += bytes;
	if (tw_charge_is_made(t) && !t->record->bare && !t->record->tallied && !tw_charge_empty_buffers(t))
		b->due = true;
}
