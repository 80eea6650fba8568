#include "engine/record/ask.h"
#include "engine/record/buffer.h"
#include "engine/record/slot.h"
#include "engine/record/timer.h"
#include "engine/lib.h"
#include "engine/x86_64/glue.h"
#include <asm/unistd.h>
#include <linux/time.h>

static bool change(struct tw_slot *s, u32 from, u32 to)
{
	return __atomic_compare_exchange_n((u32 *)&s->ask, &from, to, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

void tw_ask_tick(struct thread *t)
{
	if (t->record->slot != NO_SLOT && change(tw_slot_of(t), TW_ASK_SENT, TW_ASK_OPEN))
		t->record->asked = true;
}

bool tw_ask_is_due(const struct thread *t)
{
	return t->record->asked;
}

void tw_ask_look(struct thread *t)
{
	if (!t->record->asked)
		return;
	t->record->asked = false;
	tw_buffer_hand_over(t, tw_tsc());
}

void tw_ask_open(struct thread *t)
{
	t->record->asked = false;
	if (t->record->slot != NO_SLOT)
		__atomic_store_n((u32 *)&tw_slot_of(t)->ask, TW_ASK_OPEN, __ATOMIC_RELEASE);
}

/* Takes the signal if it is blocked; otherwise the handler does. A signal that is not the engine's is sent again. */
static void wait_for_signal(struct thread *t)
{
	const u64 trap = 1ull << (SIGTRAP - 1);
	const struct timespec moment = {0, 10000000};
	siginfo_t info;
	if (tw_sys4(__NR_rt_sigtimedwait, &trap, &info, &moment, 8) != SIGTRAP)
		return;
	if (tw_timer_is_tick(SIGTRAP, &info))
		tw_ask_tick(t);
	else
		tw_sys4(__NR_rt_tgsigqueueinfo, t->pid, t->tid, SIGTRAP, &info);
}

void tw_ask_close(struct thread *t)
{
	enum { PATIENCE = 50 }; /* then the collector has been killed before it sent the signal */
	struct tw_slot *s = t->record->slot == NO_SLOT ? NULL : tw_slot_of(t);
	for (u32 i = 0; s && i < PATIENCE && !change(s, TW_ASK_OPEN, TW_ASK_CLOSED); i++) {
		if (__atomic_load_n((u32 *)&s->ask, __ATOMIC_ACQUIRE) == TW_ASK_CLOSED)
			return;
		wait_for_signal(t);
	}
}
