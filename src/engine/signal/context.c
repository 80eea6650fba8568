#include "engine/signal/context.h"
#include "engine/code/cache.h"
#include "engine/code/memory.h"
#include "engine/signal/frame.h"
#include "engine/signal/interrupt.h"
#include "engine/signal/mask.h"
#include "engine/signal/signal.h"
#include "engine/x86_64/glue.h"

#define EFLAGS_TF 0x100u
#define EFLAGS_AC 0x40000u

void tw_step_start(struct tw_ucontext *uc)
{
	uc->eflags |= EFLAGS_TF;
	uc->sigmask = ~TW_SYNC_SIGNALS;
}

void tw_step_stop(struct thread *t, struct tw_ucontext *uc)
{
	if (!t->signal->unaligned_step && !t->signal->code_step && !t->signal->settling)
		return;
	uc->eflags = (uc->eflags & ~(u64)EFLAGS_TF) | (t->signal->unaligned_step ? EFLAGS_AC : 0);
	uc->sigmask = tw_mask_running(t);
	t->signal->unaligned_step = t->signal->settling = false;
	if (t->signal->code_step) {
		tw_lock(&tw_engine.lock);
		tw_memory_written(t->signal->code_step, t->signal->code_step_last);
		tw_unlock(&tw_engine.lock);
	}
	t->signal->code_step = 0;
}

void tw_context_load(struct thread *t, struct tw_ucontext *uc)
{
	tw_step_stop(t, uc);
	tw_frame_registers(t->regs, uc);
	t->flags = uc->eflags;
	t->signal->interrupted = 0;
}

void tw_context_resume_after(struct thread *t, struct tw_ucontext *uc)
{
	uc->rip = (u64)tw_resume_cache;
	uc->rsp = t->stack_top;
	uc->eflags = 2;
	uc->sigmask = tw_mask_running(t);
}

bool tw_context_in_cache(u64 host)
{
	return host >= ARENA_CACHE && host < ARENA_CACHE_END;
}

void tw_context_come_by(struct thread *t, struct tw_ucontext *uc)
{
	tw_context_load(t, uc);
	tw_interrupt(t, uc->rip);
	tw_context_resume_after(t, uc);
}

bool tw_context_is_unsettled(u64 host)
{
	return tw_state_at(&tw_fragment_at(host)->rec.map, host).flags & STATE_UNSETTLED;
}

bool tw_context_settle(struct thread *t, struct tw_ucontext *uc)
{
	if (!tw_context_is_unsettled(uc->rip))
		return false;
	tw_step_start(uc);
	t->signal->settling = true;
	return true;
}

bool tw_signal_leave_cache(struct thread *t, const u64 *regs, u64 host, u64 flags)
{
	if (tw_context_is_unsettled(host) || t->signal->unaligned_step || t->signal->code_step || t->signal->settling)
		return false;
	memcpy(t->regs, regs, sizeof t->regs);
	t->flags = flags;
	tw_interrupt(t, host);
	return true;
}
