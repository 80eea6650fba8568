#include "engine/signal/signal.h"
#include "engine/signal/action.h"
#include "engine/record/ask.h"
#include "engine/record/bits.h"
#include "engine/record/budget.h"
#include "engine/record/buffer.h"
#include "engine/signal/death.h"
#include "engine/code/dispatch.h"
#include "engine/signal/fault.h"
#include "engine/code/fragment.h"
#include "engine/signal/pending.h"
#include "engine/signal/show.h"
#include "engine/signal/interrupt.h"
#include "engine/code/memory.h"
#include "engine/record/tally.h"
#include "engine/thread.h"
#include "engine/code/trace.h"
#include "engine/record/window.h"
#include "engine/x86_64/decode.h"
#include "engine/signal/frame.h"
#include "engine/x86_64/glue.h"
#include "engine/record/stamp.h"
#include "engine/code/translate.h"
#include "engine/record/instrumentor.h"
#include <asm/errno.h>
#include <asm/unistd.h>
#include <linux/audit.h>
#include <linux/mman.h>

#define EFLAGS_TF       0x100u
#define EFLAGS_NT       0x4000u
#define EFLAGS_AC       0x40000u
#define EFLAGS_ID       0x200000u
#define TRAP_PROTECTION 13
#define TRAP_PAGE_FAULT 14
#define POPF            0x9d

/* The thread's own doing, by its code; a synchronous signal's number that was sent by kill and the like is asynchronous all the same. */
static bool is_fault(int signo, const siginfo_t *info)
{
	return tw_signal_is_sync(signo) && info->si_code > 0;
}

/* Of the application's system calls, of either kind: has the kernel not seen the call that pc is about to make? */
static bool before_call(u64 pc)
{
	return (pc >= (u64)tw_syscall_begin && pc <= (u64)tw_syscall_insn) || (pc >= (u64)tw_int80_begin && pc <= (u64)tw_int80_insn);
}

static bool behind_call(u64 pc)
{
	return pc == (u64)tw_syscall_end || pc == (u64)tw_int80_end;
}

/* The call at pc, or behind which pc is, is made again. */
static u64 abort_of(u64 pc)
{
	return (u64)(pc >= (u64)tw_int80_begin && pc <= (u64)tw_int80_end ? tw_int80_abort : tw_syscall_abort);
}

extern const u8 tw_text_start[], tw_data_start[]; /* engine.ld */

/* Right behind a system call of the engine's own. */
static bool behind_own_call(u64 pc)
{
	static const u8 call[] = {0x0f, 0x05};
	return pc >= (u64)tw_text_start + sizeof call && pc < (u64)tw_data_start &&
	       !memcmp((const void *)(pc - sizeof call), call, sizeof call);
}

/*
 * What looks like a fault, but was sent. A process may send itself anything (rt_tgsigqueueinfo); no instruction behind a system call faults. A child's end and input of a
 * file have codes that faults have, too; the address of a fault is that of the instruction, or that which the processor could not reach, or none.
 */
static bool is_sent_fault(const siginfo_t *info, const struct tw_ucontext *uc)
{
	const u64 address = (u64)info->si_addr;
	return behind_call(uc->rip) || behind_own_call(uc->rip) || uc->rip == (u64)tw_syscall_insn ||
	       (info->si_code <= CLD_CONTINUED && address && address != uc->rip && address != uc->cr2);
}

/* Likewise, of a system call that a filter answered. */
static bool is_forced(int signo, const siginfo_t *info)
{
	return signo == SIGSYS && info->si_code > 0;
}

static void kernel_mask(u64 mask)
{
	mask &= ~TW_SYNC_SIGNALS;
	tw_sys4(__NR_rt_sigprocmask, SIG_SETMASK, &mask, NULL, 8);
}

static bool is_blocked(const struct thread *t, int signo)
{
	return tw_signal_mask(t) >> (signo - 1) & 1;
}

void tw_signal_set_mask(struct thread *t, u64 mask)
{
	__atomic_store_n(&t->signal->mask, mask & ~TW_UNBLOCKABLE_SIGNALS, __ATOMIC_SEQ_CST);
	tw_signal_show(t);
	if (!t->signal->deferred.signo && !tw_pending_release(t, t->signal->mask))
		kernel_mask(t->signal->mask); /* else it follows when the deferred signal is delivered */
}

void tw_signal_thread(struct thread *t)
{
	tw_action_thread(t);
	tw_pending_thread(t);
	stack_t ss = {.ss_sp = (u8 *)t + THREAD_STACK_TOP, .ss_flags = 0, .ss_size = THREAD_BYTES - THREAD_STACK_TOP};
	tw_sys(__NR_sigaltstack, &ss, NULL, 0);
	kernel_mask(~0ull);
}

void tw_signal_no_deferred(struct thread *t)
{
	t->signal->deferred.signo = 0;
	t->has_deferred &= ~(u64)TW_DEFERRED_SIGNAL;
}

void tw_signal_forget(struct thread *t)
{
	tw_signal_no_deferred(t);
	tw_pending_forget(t);
}

bool tw_engine_mapped(u64 address)
{
	unsigned char vec;
	return !tw_failed(tw_sys(__NR_mincore, address & ~4095ull, 4096, &vec));
}

/* ---- delivery ---- */

/* There may be code on the stack: then pages of it are watched. */
static bool push_frame(struct thread *t, int signo, const siginfo_t *info, const struct ksigaction *a, const void *xstate)
{
	if (tw_frame_push(t, signo, info, a, xstate))
		return true;
	tw_lock(&tw_engine.lock);
	bool again = tw_memory_unwatch_all();
	tw_unlock(&tw_engine.lock);
	return again && tw_frame_push(t, signo, info, a, xstate);
}

static void deliver(struct thread *t, int signo, const siginfo_t *info, const void *xstate, bool forced);

/* There is no stack for the handler: SIGSEGV comes instead, whose handler may have another. */
static void no_frame(struct thread *t, int signo, const void *xstate)
{
	siginfo_t info;
	if (signo == SIGSEGV)
		tw_death(t, SIGSEGV, NULL, xstate);
	memset(&info, 0, sizeof info);
	info.si_signo = SIGSEGV;
	info.si_code = SI_KERNEL;
	deliver(t, SIGSEGV, &info, xstate, true);
}

/*
 * Makes the application's handler the next thing that runs. t->pc, t->regs, t->flags are the interrupted state; `xstate` is the kernel's image of
 * the vector registers then, or NULL: they are live. The kernel's mask is the caller's to set to t->signal->mask, once this is done: a signal
 * let in before would be delivered on top of this one. `forced`: it is a fault of the thread's own, which it dies of where it is blocked or ignored.
 */
static void deliver(struct thread *t, int signo, const siginfo_t *info, const void *xstate, bool forced)
{
	const bool blocked = forced && is_blocked(t, signo);
	const struct ksigaction a = tw_action_take(t, signo, !blocked);
	if (a.handler == (u64)SIG_IGN && !forced)
		return;
	if (!tw_action_has_handler(&a) || blocked) {
		if (signo == SIGCHLD || signo == SIGURG || signo == SIGWINCH || signo == SIGCONT)
			return;
		if (signo == SIGTSTP || signo == SIGTTIN || signo == SIGTTOU)
			tw_death_by_default(t, signo, NULL); /* stops, and goes on here after SIGCONT */
		else if (forced || !tw_death_spares(t))
			tw_death(t, signo, info, xstate);
		return;
	}
	struct tw_signal e = {(u32)signo, info->si_code, t->pc, a.handler, (u64)info->si_addr};
	tw_fault_handled(t, signo, info);
	if (!push_frame(t, signo, info, &a, xstate)) {
		no_frame(t, signo, xstate);
		return;
	}
	tw_buffer_event(t, TW_EVENT_SIGNAL, &e, sizeof e, NULL, 0);
	tw_buffer_keyframe(t);
	t->signal->mask = tw_signal_mask(t) | (a.mask & ~TW_UNBLOCKABLE_SIGNALS);
	if (!(a.flags & SA_NODEFER))
		t->signal->mask |= 1ull << (signo - 1);
	tw_signal_show(t);
}

void tw_signal_deliver_deferred(struct thread *t)
{
	do {
		siginfo_t info = t->signal->deferred.info;
		int signo = (int)t->signal->deferred.signo;
		tw_signal_no_deferred(t);
		deliver(t, signo, &info, NULL, is_forced(signo, &info));
		t->signal->waiting = false;
	} while (tw_pending_release(t, t->signal->mask));
	kernel_mask(t->signal->mask);
}

bool tw_signal_own(struct thread *t, siginfo_t *info)
{
	t->signal->own_signal = info->si_signo;
	tw_sys4(__NR_rt_tgsigqueueinfo, t->pid, t->tid, info->si_signo, info);
	const bool came = !t->signal->own_signal;
	t->signal->own_signal = 0;
	return came;
}

/* A fault that the engine has found. */
static void deliver_found(struct thread *t, siginfo_t *info)
{
	if (t->signal->traced && !tw_signal_own(t, info))
		return;
	deliver(t, info->si_signo, info, NULL, true);
	kernel_mask(t->signal->mask);
}

void tw_signal_force(struct thread *t, int signo, u64 error)
{
	siginfo_t info;
	memset(&info, 0, sizeof info);
	info.si_signo = signo;
	info.si_code = SI_KERNEL;
	t->signal->fault.trapno = TRAP_PROTECTION;
	t->signal->fault.err = error;
	deliver_found(t, &info);
}

static void deliver_fault(struct thread *t, int signo, int code, u64 address)
{
	siginfo_t info;
	memset(&info, 0, sizeof info);
	info.si_signo = signo;
	info.si_code = code;
	info.si_addr = (void *)address;
	deliver_found(t, &info);
}

void tw_signal_page_fault(struct thread *t, u64 address, u64 error)
{
	const bool canonical = (i64)(address << 16) >> 16 == (i64)address;
	t->signal->fault.trapno = canonical ? TRAP_PAGE_FAULT : TRAP_PROTECTION;
	t->signal->fault.err = canonical ? error | FAULT_USER : 0;
	t->signal->fault.cr2 = canonical ? address : t->signal->fault.cr2;
	deliver_fault(t, SIGSEGV, !canonical ? SI_KERNEL : error & FAULT_PRESENT ? SEGV_ACCERR : SEGV_MAPERR, canonical ? address : 0);
}

void tw_signal_bus_error(struct thread *t, u64 address, u64 error)
{
	t->signal->fault.trapno = TRAP_PAGE_FAULT;
	t->signal->fault.err = error | FAULT_USER;
	t->signal->fault.cr2 = address;
	deliver_fault(t, SIGBUS, BUS_ADRERR, address);
}

void tw_signal_no_code(struct thread *t, u64 at, bool beyond_file)
{
	if (beyond_file)
		tw_signal_bus_error(t, at, FAULT_FETCH);
	else
		tw_signal_page_fault(t, at, FAULT_FETCH | (tw_engine_mapped(at) ? FAULT_PRESENT : 0));
}

void tw_signal_refused_call(struct thread *t, int code, int error)
{
	siginfo_t info;
	memset(&info, 0, sizeof info);
	info.si_signo = SIGSYS;
	info.si_code = code;
	info.si_errno = error;
	info.si_call_addr = (void *)t->pc;
	info.si_syscall = (int)t->regs[TW_RAX];
	info.si_arch = AUDIT_ARCH_X86_64;
	t->regs[TW_RCX] = t->pc;
	t->regs[TW_R11] = t->flags;
	deliver(t, SIGSYS, &info, NULL, true);
	tw_signal_set_mask(t, t->signal->mask);
}

void tw_signal_requeue(struct thread *t)
{
	siginfo_t info = t->signal->deferred.info;
	const u32 signo = t->signal->deferred.signo;
	tw_signal_no_deferred(t);
	if (signo)
		tw_sys4(__NR_rt_tgsigqueueinfo, t->pid, t->tid, signo, &info);
	tw_pending_requeue(t);
}

void tw_signal_return(struct thread *t)
{
	u64 mask = t->signal->mask;
	const bool whole = tw_frame_pop(t, &mask);
	t->signal->traps = t->flags & EFLAGS_TF;
	t->signal->trapped_pc = t->signal->traps ? t->pc : 0;
	tw_signal_set_mask(t, mask);
	tw_buffer_event(t, TW_EVENT_SIGRETURN, NULL, 0, NULL, 0);
	tw_buffer_keyframe(t);
	if (!whole)
		tw_signal_force(t, SIGSEGV, 0);
}

u64 tw_signal_reentered(struct thread *t)
{
	tw_interrupt(t, t->resume_host);
	return tw_resume(t);
}

/* ---- the handler ---- */

/* The kernel's mask while the thread runs the application. */
static u64 running_mask(const struct thread *t)
{
	return (t->signal->mask | (t->signal->deferred.signo ? ~0ull : 0)) & ~TW_SYNC_SIGNALS;
}

/*
 * The next instruction in the cache is made as a single step. Until then no signal comes that could do without: one that always came first would keep
 * the step from ever being made.
 */
static void start_step(struct tw_ucontext *uc)
{
	uc->eflags |= EFLAGS_TF;
	uc->sigmask = ~TW_SYNC_SIGNALS;
}

/* The step, if there is one, is over, made or not: flags are the application's again. */
static void stop_step(struct thread *t, struct tw_ucontext *uc)
{
	if (!t->signal->unaligned_step && !t->signal->code_step && !t->signal->settling)
		return;
	uc->eflags = (uc->eflags & ~(u64)EFLAGS_TF) | (t->signal->unaligned_step ? EFLAGS_AC : 0);
	uc->sigmask = running_mask(t);
	t->signal->unaligned_step = t->signal->settling = false;
	if (t->signal->code_step) {
		tw_lock(&tw_engine.lock);
		tw_memory_written(t->signal->code_step, t->signal->code_step_last);
		tw_unlock(&tw_engine.lock);
	}
	t->signal->code_step = 0;
}

/* Takes the interrupted state as the application's: the thread does not simply go on where it was. */
static void load_context(struct thread *t, struct tw_ucontext *uc)
{
	stop_step(t, uc);
	tw_frame_registers(t->regs, uc);
	t->flags = uc->eflags;
	t->signal->interrupted = 0;
}

/* The thread goes on in tw_resume_cache when the handler returns, with everything else as the kernel saved it. */
static void resume_after(struct thread *t, struct tw_ucontext *uc)
{
	uc->rip = (u64)tw_resume_cache;
	uc->rsp = t->stack_top;
	uc->eflags = 2;
	uc->sigmask = running_mask(t);
}

static bool in_cache(u64 host)
{
	return host >= ARENA_CACHE && host < ARENA_CACHE_END;
}

/* The thread leaves the cache where it is, and goes on by way of the dispatcher. */
static void come_by(struct thread *t, struct tw_ucontext *uc)
{
	load_context(t, uc);
	tw_interrupt(t, uc->rip);
	resume_after(t, uc);
}

static bool is_unsettled(u64 host)
{
	return tw_state_at(&tw_fragment_at(host)->rec.map, host).flags & STATE_UNSETTLED;
}

bool tw_signal_leave_cache(struct thread *t, const u64 *regs, u64 host, u64 flags)
{
	if (is_unsettled(host) || t->signal->unaligned_step || t->signal->code_step || t->signal->settling)
		return false;
	memcpy(t->regs, regs, sizeof t->regs);
	t->flags = flags;
	tw_interrupt(t, host);
	return true;
}

/* The fragment's tag store ran into a guard: switch buffers with exact state, then make the store again. */
static void switch_at_entry(struct thread *t, const struct fragment *f, struct tw_ucontext *uc)
{
	load_context(t, uc);
	t->regs[BUF_REG] = t->app_r11;
	t->bufptr = uc->r11;
	t->upper = f->rec.upper_in;
	tw_buffer_switch(t);
	if (tw_trace_found(t) || tw_window_is_due() || tw_budget_is_due(t)) {
		t->pc = f->rec.pc;
		resume_after(t, uc);
		return;
	}
	uc->r11 = t->bufptr;
	uc->rip =
	    (u64)(f->kind == FRAGMENT_CODE ? f->rec.map.code : f->target->rec.map.code); /* the new buffer's keyframe has the upper half */
}

/*
 * A store of a record or a tag ran into a guard page of the thread's buffer. A record that has been begun stops here, before the instruction the store
 * belongs to: the program goes on with that one in the next buffer.
 */
static bool buffer_fault(struct thread *t, struct tw_ucontext *uc, u64 address)
{
	const struct fragment *f = in_cache(uc->rip) ? tw_fragment_at(uc->rip) : NULL;
	if (!f || !tw_instr()->records || !tw_buffer_guard(t, address))
		return false;
	const struct state_entry s = tw_state_at(&f->rec.map, uc->rip);
	if ((s.flags & STATE_NOT_OPEN) && !s.insn && !f->rec.order && !tw_bits_used()) {
		switch_at_entry(t, f, uc);
		return true;
	}
	come_by(t, uc);
	if (s.flags & STATE_NOT_OPEN)
		tw_buffer_switch(t);
	return true;
}

/* A fault of the application's own, in the cache. */
static void application_fault(struct thread *t, int signo, siginfo_t *info, struct tw_ucontext *uc)
{
	u64 host = uc->rip;
	load_context(t, uc);
	tw_interrupt(t, host);
	if ((u64)info->si_addr == host) /* the address of the instruction itself: illegal, divide, breakpoint */
		info->si_addr = (void *)t->pc;
	t->signal->fault.err = uc->err;
	t->signal->fault.trapno = uc->trapno;
	t->signal->fault.cr2 = uc->cr2;
	if (!t->signal->traced || tw_signal_own(t, info))
		deliver(t, signo, info, uc->fpstate, true);
	resume_after(t, uc);
}

/*
 * Alignment checks (EFLAGS.AC, which programs flip to tell a 386 from its successors) catch the engine's own stores, which are not aligned. One such
 * store is made without: AC off, one step, AC on again.
 */
static bool alignment_fault(struct thread *t, struct tw_ucontext *uc)
{
	const struct fragment *f = in_cache(uc->rip) && tw_instr()->records ? tw_fragment_at(uc->rip) : NULL;
	if (!f)
		return false;
	u8 buf = tw_state_at(&f->rec.map, uc->rip).flags & STATE_R11_LIVE ? f->rec.map.t_reg : BUF_REG;
	if (!tw_decode_uses_base((const u8 *)uc->rip, buf))
		return false;
	uc->eflags &= ~(u64)EFLAGS_AC;
	start_step(uc);
	t->signal->unaligned_step = true;
	return true;
}

/* The store that is stepped faults at this address; it may have faulted on another of its pages before. */
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
 * A store to a page that code has been translated from. Made by code elsewhere, that page's fragments become stale now and the store is made again.
 * Made by code of the page itself, it is made as a single step, so that what follows is translated anew.
 */
static bool code_write_fault(struct thread *t, struct tw_ucontext *uc, u64 address)
{
	const struct fragment *f = in_cache(uc->rip) ? tw_fragment_at(uc->rip) : NULL;
	u64 page = address & ~(u64)(TW_PAGE - 1);
	if (!(uc->err & FAULT_WRITE))
		return false;
	if (!tw_memory_unwatch(address))
		return tw_memory_let_write(address); /* another thread's store came first, or a stack has grown below a watched page */
	if (!f || !tw_fragment_holds(f, page, page + TW_PAGE)) {
		tw_memory_written(address, address);
		return true;
	}
	start_step(uc);
	note_code_step(t, address);
	return true;
}

/* Where the state in the cache is not the application's, goes on in steps until it is. False: it is. */
static bool settle(struct thread *t, struct tw_ucontext *uc)
{
	if (!is_unsettled(uc->rip))
		return false;
	start_step(uc);
	t->signal->settling = true;
	return true;
}

/* The trap behind a step of the engine's: what waited for it is done, or another step is to be made. */
static bool step_done(struct thread *t, struct tw_ucontext *uc)
{
	if (t->signal->unaligned_step)
		stop_step(t, uc);
	else if (t->signal->code_step || (t->signal->settling && !is_unsettled(uc->rip)))
		come_by(t, uc);
	else
		return t->signal->settling;
	return true;
}

/*
 * The application has set TF, with popfq or in the context that a handler returned to: the machine traps after each instruction here, the engine's own
 * too. One of the application's has been completed when its pc is another; behind the popfq that set TF there is no trap. True: go on.
 */
static bool step_goes_on(struct thread *t, const struct tw_ucontext *uc)
{
	if (!in_cache(uc->rip))
		return true; /* on the way out of the cache or into it: in between, the flags are the engine's */
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

/* The breakpoint at a stale fragment's entry: the code is translated anew. */
static bool stale_entry(struct thread *t, struct tw_ucontext *uc)
{
	const struct fragment *f = in_cache(uc->rip - 1) ? tw_fragment_at(uc->rip - 1) : NULL;
	if (!f || !f->stale || (u64)f->rec.map.code != uc->rip - 1)
		return false;
	uc->rip = (u64)f->rec.map.code;
	come_by(t, uc);
	return true;
}

/* A fault of code of the engine's own that is prepared for it. */
static bool engine_fault(struct tw_ucontext *uc)
{
	const struct fragment *f = in_cache(uc->rip) ? tw_fragment_at(uc->rip) : NULL;
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
	return true;
}

static void synchronous(struct thread *t, int signo, siginfo_t *info, struct tw_ucontext *uc)
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
	if (signo == SIGSEGV && info->si_code == SEGV_ACCERR) {
		tw_lock(&tw_engine.lock);
		bool ours = code_write_fault(t, uc, address);
		tw_unlock(&tw_engine.lock);
		if (ours)
			return;
	}
	if (engine_fault(uc))
		return;
	if (in_cache(uc->rip)) {
		application_fault(t, signo, info, uc);
		return;
	}
	tw_engine_fail(TW_FAILURE_ENGINE, "signal %d at engine address %lx, address %lx", signo, (unsigned long)uc->rip,
	               (unsigned long)address);
	tw_death(t, signo, info, NULL);
}

/* Keeps the signal until the engine is done; everything else stays blocked until then. One that came first goes first. */
static void pend(struct thread *t, int signo, const siginfo_t *info, struct tw_ucontext *uc)
{
	uc->sigmask = ~TW_SYNC_SIGNALS;
	if (t->signal->deferred.signo) {
		tw_sys4(__NR_rt_tgsigqueueinfo, t->pid, t->tid, signo, info);
		return;
	}
	t->signal->deferred.info = *info;
	t->signal->deferred.signo = (u32)signo;
	t->has_deferred |= TW_DEFERRED_SIGNAL;
}

/* A signal that is not to be noticed: a system call it broke off is made again, unless it has been by another. */
static void unnoticed(const struct thread *t, struct tw_ucontext *uc)
{
	const bool broken_off = behind_call(uc->rip) && uc->rax == (u64)-EINTR;
	if ((broken_off || before_call(uc->rip)) && !t->signal->deferred.signo)
		uc->rip = abort_of(uc->rip);
}

static void asynchronous(struct thread *t, int signo, const siginfo_t *info, struct tw_ucontext *uc)
{
	u64 pc = uc->rip;
	if (in_cache(pc) && !settle(t, uc)) {
		load_context(t, uc);
		tw_interrupt(t, pc);
		deliver(t, signo, info, uc->fpstate, is_forced(signo, info));
		resume_after(t, uc);
		return;
	}
	pend(t, signo, info, uc);
	if (before_call(pc)) {
		uc->rip = abort_of(pc);
	} else if (pc >= (u64)tw_enter_begin && pc < (u64)tw_enter_end) {
		t->resume_host = t->host_target;
		t->host_target = (u64)tw_reenter;
	}
}

/* A synchronous signal's number that was sent: dropped, kept pending, or delivered as any other. A mark says that there may be one pending. */
static void sent(struct thread *t, int signo, const siginfo_t *info, struct tw_ucontext *uc)
{
	siginfo_t kept;
	const bool waits = t->signal->deferred.signo || is_blocked(t, signo), is_mark = tw_pending_is_mark(info);
	const bool dropped = !waits && !is_mark && (t->signal->actions->ignored >> (signo - 1) & 1);
	tw_pending_seen |= dropped;
	if (waits && !is_mark)
		tw_pending_keep(t, signo, info);
	if (waits || dropped || (is_mark && !tw_pending_take(t, signo, &kept)))
		unnoticed(t, uc);
	else
		asynchronous(t, signo, is_mark ? &kept : info, uc);
}

/* A timer of the thread's, or the collector asks it: where it computes in the cache, it comes by the dispatcher. A system call it broke off is made again. */
static void tick(struct thread *t, struct tw_ucontext *uc)
{
	unnoticed(t, uc);
	tw_budget_tick(t);
	tw_ask_tick(t);
	if ((tw_window_is_due() || tw_budget_is_due(t) || tw_ask_is_due(t)) && in_cache(uc->rip) && !settle(t, uc))
		come_by(t, uc);
}

/* Flags as C code expects them: the kernel leaves the application's AC on. NT and ID stay: sigreturn would not set them again. */
static inline void set_own_flags(void)
{
	__asm__ volatile("pushfq; andl %0, (%%rsp); popfq" : : "i"(EFLAGS_NT | EFLAGS_ID) : "cc", "memory");
}

/* For a tracer. A signal that comes while another is being handled changes nothing. */
static void note_interrupted(struct thread *t, const struct tw_ucontext *uc)
{
	if (in_cache(uc->rip))
		t->signal->interrupted = (u64)uc;
	else if (uc->rsp - (u64)t >= THREAD_BYTES || uc->rsp <= t->stack_top)
		t->signal->interrupted = 0;
}

void tw_signal_handler(int signo, siginfo_t *info, struct tw_ucontext *uc)
{
	struct thread *t = tw_thread_self();
	set_own_flags();
	note_interrupted(t, uc);
	if (tw_timer_is_tick(signo, info)) {
		tick(t, uc);
		return;
	}
	if (signo == t->signal->own_signal) {
		t->signal->own_signal = 0;
		return;
	}
	if (is_fault(signo, info) && !is_sent_fault(info, uc)) {
		synchronous(t, signo, info, uc);
		return;
	}
	if (tw_signal_is_sync(signo))
		sent(t, signo, info, uc);
	else
		asynchronous(t, signo, info, uc);
}

/* ---- the application's calls ---- */

i64 tw_signal_procmask(struct thread *t, int how, u64 set, u64 old, u64 size)
{
	u64 m, before = t->signal->mask;
	if (size != 8)
		return -EINVAL;
	if (set) {
		if (!tw_copy(&m, (void *)set, 8))
			return -EFAULT;
		switch (how) {
		case SIG_BLOCK:
			m |= t->signal->mask;
			break;
		case SIG_UNBLOCK:
			m = t->signal->mask & ~m;
			break;
		case SIG_SETMASK:
			break;
		default:
			return -EINVAL;
		}
		tw_signal_set_mask(t, m);
	}
	if (old && !tw_copy((void *)old, &before, 8))
		return -EFAULT;
	return 0;
}

i64 tw_signal_altstack(struct thread *t, u64 ss, u64 old)
{
	stack_t s, o;
	const bool on = tw_frame_on_altstack(t, t->regs[TW_RSP]);
	memset(&o, 0, sizeof o);
	o.ss_sp = (void *)t->signal->altstack.sp;
	o.ss_size = t->signal->altstack.size;
	o.ss_flags = (int)(t->signal->altstack.flags | (on ? SS_ONSTACK : 0) | (t->signal->altstack.size ? 0 : SS_DISABLE));
	if (ss) {
		if (!tw_copy(&s, (void *)ss, sizeof s))
			return -EFAULT;
		const int mode = s.ss_flags & ~(int)SS_AUTODISARM_BIT;
		if (on)
			return -EPERM;
		if (mode && mode != SS_DISABLE && mode != SS_ONSTACK)
			return -EINVAL;
		if (mode != SS_DISABLE && s.ss_size < MINSIGSTKSZ)
			return -ENOMEM;
		t->signal->altstack.sp = mode == SS_DISABLE ? 0 : (u64)s.ss_sp;
		t->signal->altstack.size = mode == SS_DISABLE ? 0 : s.ss_size;
		t->signal->altstack.flags = mode == SS_DISABLE ? 0 : (u32)s.ss_flags & SS_AUTODISARM_BIT;
	}
	if (old && !tw_copy((void *)old, &o, sizeof o))
		return -EFAULT;
	return 0;
}
