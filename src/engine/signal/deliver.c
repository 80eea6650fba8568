#include "engine/signal/deliver.h"
#include "engine/code/dispatch.h"
#include "engine/code/memory.h"
#include "engine/record/buffer.h"
#include "engine/signal/action.h"
#include "engine/signal/death.h"
#include "engine/signal/fault.h"
#include "engine/signal/frame.h"
#include "engine/signal/interrupt.h"
#include "engine/signal/mask.h"
#include "engine/signal/pending.h"
#include "engine/signal/show.h"
#include "engine/signal/signal.h"
#include <asm/unistd.h>
#include <linux/audit.h>
#include <linux/mman.h>

#define EFLAGS_TF       0x100u
#define TRAP_PROTECTION 13
#define TRAP_PAGE_FAULT 14

bool tw_engine_mapped(u64 address)
{
	unsigned char vec;
	return !tw_failed(tw_sys(__NR_mincore, address & ~4095ull, 4096, &vec));
}

bool tw_deliver_is_forced(int signo, const siginfo_t *info)
{
	return signo == SIGSYS && info->si_code > 0;
}

/* Code may lie on the stack: pages of the stack are then watched. */
static bool push_frame(struct thread *t, int signo, const siginfo_t *info, const struct ksigaction *a, const void *xstate)
{
	if (tw_frame_push(t, signo, info, a, xstate))
		return true;
	tw_lock(&tw_engine.lock);
	bool again = tw_memory_unwatch_all();
	tw_unlock(&tw_engine.lock);
	return again && tw_frame_push(t, signo, info, a, xstate);
}

/* There is no stack for the handler: delivers SIGSEGV instead, whose handler may have another. */
static void no_frame(struct thread *t, int signo, const void *xstate)
{
	siginfo_t info;
	if (signo == SIGSEGV)
		tw_death(t, SIGSEGV, NULL, xstate);
	memset(&info, 0, sizeof info);
	info.si_signo = SIGSEGV;
	info.si_code = SI_KERNEL;
	tw_deliver(t, SIGSEGV, &info, xstate, true);
}

void tw_deliver(struct thread *t, int signo, const siginfo_t *info, const void *xstate, bool forced)
{
	const bool blocked = forced && tw_mask_blocks(t, signo);
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
		tw_deliver(t, signo, &info, NULL, tw_deliver_is_forced(signo, &info));
		t->signal->waiting = false;
	} while (tw_pending_release(t, t->signal->mask));
	tw_mask_kernel(t->signal->mask);
}

/* ---- faults that the engine has found ---- */

/* SIGTRAP is blocked in its own handler, which this may be. */
bool tw_signal_own(struct thread *t, siginfo_t *info)
{
	const u64 bit = 1ull << (info->si_signo - 1);
	u64 before = 0;
	tw_sys4(__NR_rt_sigprocmask, SIG_UNBLOCK, &bit, &before, 8);
	t->signal->own_signal = info->si_signo;
	tw_sys4(__NR_rt_tgsigqueueinfo, t->pid, t->tid, info->si_signo, info);
	tw_sys4(__NR_rt_sigprocmask, SIG_SETMASK, &before, NULL, 8);
	const bool came = !t->signal->own_signal;
	t->signal->own_signal = 0;
	return came;
}

/* A fault that the engine has found. */
static void deliver_found(struct thread *t, siginfo_t *info)
{
	if (t->signal->traced && !tw_signal_own(t, info))
		return;
	tw_deliver(t, info->si_signo, info, NULL, true);
	tw_mask_kernel(t->signal->mask);
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

/* SIGBUS for an address whose page is beyond the end of its file; delivered like a page fault. */
static void deliver_bus_error(struct thread *t, u64 address, u64 error)
{
	t->signal->fault.trapno = TRAP_PAGE_FAULT;
	t->signal->fault.err = error | FAULT_USER;
	t->signal->fault.cr2 = address;
	deliver_fault(t, SIGBUS, BUS_ADRERR, address);
}

/* Does a read there fault with SIGSEGV, although it may be executed: nothing is there any more, or a guard (madvise)? */
static bool is_guarded(const struct thread *t, u64 at)
{
	u8 byte;
	return !tw_copy(&byte, (const void *)at, sizeof byte) && t->signal->engine_fault == SIGSEGV;
}

void tw_signal_no_code(struct thread *t, u64 at, bool beyond_file)
{
	if (!beyond_file)
		tw_signal_page_fault(t, at, FAULT_FETCH | (tw_engine_mapped(at) ? FAULT_PRESENT : 0));
	else if (is_guarded(t, at))
		tw_signal_page_fault(t, at, FAULT_FETCH);
	else
		deliver_bus_error(t, at, FAULT_FETCH);
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
	tw_deliver(t, SIGSYS, &info, NULL, true);
	tw_signal_set_mask(t, t->signal->mask);
}

/* ---- going on ---- */

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
