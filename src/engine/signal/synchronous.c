#include "engine/signal/synchronous.h"
#include "engine/code/cache.h"
#include "engine/code/memory.h"
#include "engine/code/trace.h"
#include "engine/record/budget.h"
#include "engine/record/buffer.h"
#include "engine/record/instrumentor.h"
#include "engine/record/stamp.h"
#include "engine/record/window.h"
#include "engine/signal/context.h"
#include "engine/signal/death.h"
#include "engine/signal/deliver.h"
#include "engine/signal/frame.h"
#include "engine/signal/interrupt.h"
#include "engine/signal/signal.h"
#include "engine/x86_64/decode.h"
#include "engine/x86_64/glue.h"

#define EFLAGS_TF 0x100u
#define EFLAGS_AC 0x40000u
#define POPF      0x9d

/* The fragment's tag store hit a guard page: switches buffers with exact state, and repeats the store. */
static void switch_at_entry(struct thread *t, const struct fragment *f, struct tw_ucontext *uc)
{
	tw_context_load(t, uc);
	t->regs[BUF_REG] = t->app_r11;
	t->bufptr = uc->r11;
	t->upper = f->rec.upper_in;
	tw_buffer_switch(t);
	if (tw_trace_found(t) || tw_window_is_due() || tw_budget_is_due(t)) {
		t->pc = f->rec.pc;
		tw_context_resume_after(t, uc);
		return;
	}
	uc->r11 = t->bufptr;
	uc->rip =
	    (u64)(f->kind == FRAGMENT_CODE ? f->rec.map.code : f->target->rec.map.code); /* the new buffer's keyframe has the upper half */
}

/*
 * A store of a record or a tag hit a guard page of the thread's buffer. An open record ends before the store's
 * instruction, with which the program continues in the next buffer.
 */
static bool buffer_fault(struct thread *t, struct tw_ucontext *uc, u64 address)
{
	const struct fragment *f = tw_context_in_cache(uc->rip) ? tw_fragment_at(uc->rip) : NULL;
	if (!f || !tw_instr()->records || !tw_buffer_guard(t, address))
		return false;
	const struct state_entry s = tw_state_at(&f->rec.map, uc->rip);
	if ((s.flags & STATE_NOT_OPEN) && !s.insn && !f->rec.order && !tw_bits_used()) {
		switch_at_entry(t, f, uc);
		return true;
	}
	tw_context_come_by(t, uc);
	if (s.flags & STATE_NOT_OPEN)
		tw_buffer_switch(t);
	return true;
}

/* A fault of the application's own, in the cache. */
static void application_fault(struct thread *t, int signo, siginfo_t *info, struct tw_ucontext *uc)
{
	u64 host = uc->rip;
	tw_context_load(t, uc);
	tw_interrupt(t, host);
	if ((u64)info->si_addr == host) /* the address of the instruction itself: illegal, divide, breakpoint */
		info->si_addr = (void *)t->pc;
	t->signal->fault.err = uc->err;
	t->signal->fault.trapno = uc->trapno;
	t->signal->fault.cr2 = uc->cr2;
	if (!t->signal->traced || tw_signal_own(t, info))
		tw_deliver(t, signo, info, uc->fpstate, true);
	tw_context_resume_after(t, uc);
}

/*
 * Alignment checks (EFLAGS.AC, which programs toggle to distinguish a 386 from its successors) also catch the
 * engine's own unaligned stores. Such a store is executed without them: AC off, one step, AC on again.
 */
static bool alignment_fault(struct thread *t, struct tw_ucontext *uc)
{
	const struct fragment *f = tw_context_in_cache(uc->rip) && tw_instr()->records ? tw_fragment_at(uc->rip) : NULL;
	if (!f)
		return false;
	u8 buf = tw_state_at(&f->rec.map, uc->rip).flags & STATE_R11_LIVE ? f->rec.map.t_reg : BUF_REG;
	if (!tw_decode_uses_base((const u8 *)uc->rip, buf))
		return false;
	uc->eflags &= ~(u64)EFLAGS_AC;
	tw_step_start(uc);
	t->signal->unaligned_step = true;
	return true;
}

/* The stepped store faults at this address; it may have faulted before on another page. */
static void note_code_step(struct thread *t, u64 address)
{
	if (!t->signal->code_step)
		t->signal->code_step = t->signal->code_step_last = address;
	else if (address < t->signal->code_step)
		t->signal->code_step = address;
	else if (address > t->signal->code_step_last)
		t->signal->code_step_last = address;
}

/*
 * A store to a page whose code has been translated. If code elsewhere makes it, the page's fragments become stale
 * now, and the store is repeated. If code of the page itself makes it, it is single-stepped, so that what follows is
 * translated again.
 */
static bool code_write_fault(struct thread *t, struct tw_ucontext *uc, u64 address)
{
	const struct fragment *f = tw_context_in_cache(uc->rip) ? tw_fragment_at(uc->rip) : NULL;
	u64 page = address & ~(u64)(TW_PAGE - 1);
	if (!tw_memory_unwatch(address))
		return tw_memory_let_write(address); /* another thread's store came first, or a stack has grown below a watched page */
	if (!f || (!f->stale &&
	           !tw_fragment_holds(f, page, page + TW_PAGE))) { /* (stale: code of its own page may be written from now on, too) */
		tw_memory_written(address, address);
		return true;
	}
	tw_step_start(uc);
	note_code_step(t, address);
	return true;
}

/* The trap behind a single step of the engine: does what waited for it, or makes another step. */
static bool step_done(struct thread *t, struct tw_ucontext *uc)
{
	if (t->signal->unaligned_step)
		tw_step_stop(t, uc);
	else if (t->signal->code_step || (t->signal->settling && !tw_context_is_unsettled(uc->rip)))
		tw_context_come_by(t, uc);
	else
		return t->signal->settling;
	return true;
}

/*
 * The application has set TF, with popfq or in the context to which a handler returned: the machine traps after each
 * instruction here, including the engine's. If the application's pc has changed, one of its instructions has
 * completed; the popfq that sets TF does not trap. True: continue.
 */
static bool step_goes_on(struct thread *t, const struct tw_ucontext *uc)
{
	if (!tw_context_in_cache(uc->rip))
		return true; /* entering or leaving the cache: the flags are the engine's */
	const struct fragment *f = tw_fragment_at(uc->rip);
	const struct state_entry s = tw_state_at(&f->rec.map, uc->rip);
	const u64 pc = tw_state_pc(f, &s, uc->rcx, uc->rsp);
	u8 before = 0;
	const bool began = !t->signal->traps && tw_copy(&before, (void *)(pc - 1), 1) && before == POPF;
	const bool same = pc == t->signal->trapped_pc || began;
	t->signal->traps = uc->eflags & EFLAGS_TF;
	t->signal->trapped_pc = t->signal->traps ? pc : 0;
	return same;
}

/* The breakpoint at the entry of a stale fragment: its code is translated again. */
static bool stale_entry(struct thread *t, struct tw_ucontext *uc)
{
	const struct fragment *f = tw_context_in_cache(uc->rip - 1) ? tw_fragment_at(uc->rip - 1) : NULL;
	if (!f || !f->stale || (u64)f->rec.map.code != uc->rip - 1)
		return false;
	uc->rip = (u64)f->rec.map.code;
	tw_context_come_by(t, uc);
	return true;
}

/* A fault in code of the engine that expects it. */
static bool engine_fault(struct thread *t, int signo, struct tw_ucontext *uc)
{
	const struct fragment *f = tw_context_in_cache(uc->rip) ? tw_fragment_at(uc->rip) : NULL;
	if (f && tw_stamp_fault(&f->rec, uc->rip)) {
		uc->rax = uc->rdx = 0;
		uc->rip += 2;
		return true;
	}
	if (uc->rip == (u64)tw_tsc_insn)
		uc->rip = (u64)tw_tsc_fault;
	else if (uc->rip == (u64)tw_int80_insn)
		uc->rip = (u64)tw_int80_fault;
	else if (uc->rip == (u64)tw_sigreturned)
		uc->rip = (u64)tw_sigreturn_fault;
	else if ((uc->rip >= (u64)tw_copy_begin && uc->rip < (u64)tw_copy_end) || uc->rip == (u64)tw_xrstor_insn ||
	         uc->rip == (u64)tw_load_fs_insn || uc->rip == (u64)tw_load_gs_insn)
		uc->rip = (u64)tw_copy_fault;
	else
		return false;
	t->signal->engine_fault = signo;
	return true;
}

void tw_synchronous(struct thread *t, int signo, siginfo_t *info, struct tw_ucontext *uc)
{
	u64 address = (u64)info->si_addr;
	if (signo == SIGSEGV && buffer_fault(t, uc, address))
		return;
	if (signo == SIGBUS && info->si_code == BUS_ADRALN && alignment_fault(t, uc))
		return;
	if (signo == SIGTRAP && (step_done(t, uc) || stale_entry(t, uc)))
		return;
	if (signo == SIGTRAP && info->si_code == TRAP_TRACE && step_goes_on(t, uc))
		return;
	if (signo == SIGSEGV && info->si_code == SEGV_ACCERR && uc->err & FAULT_WRITE) { /* (the engine reads with its lock taken) */
		tw_lock(&tw_engine.lock);
		bool ours = code_write_fault(t, uc, address);
		tw_unlock(&tw_engine.lock);
		if (ours)
			return;
	}
	if (engine_fault(t, signo, uc))
		return;
	if (tw_context_in_cache(uc->rip)) {
		application_fault(t, signo, info, uc);
		return;
	}
	tw_engine_fail(TW_FAILURE_ENGINE, "signal %d at engine address %lx, address %lx", signo, (unsigned long)uc->rip,
	               (unsigned long)address);
	tw_death(t, signo, info, NULL);
}
