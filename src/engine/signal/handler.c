#include "engine/signal/signal.h"
#include "engine/record/ask.h"
#include "engine/record/budget.h"
#include "engine/record/due.h"
#include "engine/signal/context.h"
#include "engine/signal/deliver.h"
#include "engine/signal/frame.h"
#include "engine/signal/interrupt.h"
#include "engine/signal/mask.h"
#include "engine/signal/pending.h"
#include "engine/signal/synchronous.h"
#include "engine/thread.h"
#include "engine/x86_64/glue.h"
#include <asm/errno.h>
#include <asm/unistd.h>

#define EFLAGS_NT 0x4000u
#define EFLAGS_ID 0x200000u

/* Caused by the thread's own code. If kill or the like sends a synchronous signal's number, that is asynchronous all the same. */
static bool is_fault(int signo, const siginfo_t *info)
{
	return tw_signal_is_sync(signo) && info->si_code > 0;
}

/* Is pc before the instruction of an application's system call, of either kind, so that the kernel has not seen the call? */
static bool before_call(u64 pc)
{
	return (pc >= (u64)tw_syscall_begin && pc <= (u64)tw_syscall_insn) || (pc >= (u64)tw_int80_begin && pc <= (u64)tw_int80_insn);
}

static bool behind_call(u64 pc)
{
	return pc == (u64)tw_syscall_end || pc == (u64)tw_int80_end;
}

/* Where to continue so that the call at or before pc is made again. */
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
 * Looks like a fault, but was sent. A process may send itself anything (rt_tgsigqueueinfo), but no instruction right
 * behind a system call faults. SIGCHLD-like and SIGIO-like codes coincide with those of faults. A fault's address is
 * the instruction's, the one that the processor could not access, or none.
 */
static bool is_sent_fault(const siginfo_t *info, const struct tw_ucontext *uc)
{
	const u64 address = (u64)info->si_addr;
	return behind_call(uc->rip) || behind_own_call(uc->rip) || uc->rip == (u64)tw_syscall_insn ||
	       (info->si_code <= CLD_CONTINUED && address && address != uc->rip && address != uc->cr2);
}

/* Keeps the signal until the engine is done; all others stay blocked until then. A signal that was kept before goes first. */
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

/* The kernel has interrupted the call and moved pc back to it (SA_RESTART): the value that `syscall` leaves in rcx shows it. */
static bool is_restarted(const struct tw_ucontext *uc)
{
	return uc->rip == (u64)tw_syscall_insn && uc->rcx == (u64)tw_syscall_end;
}

/*
 * For a signal that the program must not notice: repeats a system call that it interrupted, unless another signal has
 * interrupted it too.
 */
static void unnoticed(struct thread *t, struct tw_ucontext *uc)
{
	const bool broken_off = (behind_call(uc->rip) && uc->rax == (u64)-EINTR) || is_restarted(uc);
	if ((broken_off || before_call(uc->rip)) && !t->signal->deferred.signo) {
		uc->rip = abort_of(uc->rip);
		t->signal->broken_off |= broken_off;
	}
}

static void asynchronous(struct thread *t, int signo, const siginfo_t *info, struct tw_ucontext *uc)
{
	u64 pc = uc->rip;
	if (tw_context_in_cache(pc) && !tw_context_settle(t, uc)) {
		tw_context_load(t, uc);
		tw_interrupt(t, pc);
		tw_deliver(t, signo, info, uc->fpstate, tw_deliver_is_forced(signo, info));
		tw_context_resume_after(t, uc);
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

/*
 * A synchronous signal's number that was sent: drops it, keeps it pending, or delivers it like any other. A mark says
 * that one may be pending.
 */
static void sent(struct thread *t, int signo, const siginfo_t *info, struct tw_ucontext *uc)
{
	siginfo_t kept;
	const bool waits = t->signal->deferred.signo || tw_mask_blocks(t, signo), is_mark = tw_pending_is_mark(info);
	const bool dropped = !waits && !is_mark && (t->signal->actions->ignored >> (signo - 1) & 1);
	tw_pending_seen |= dropped;
	if (waits && !is_mark)
		tw_pending_keep(t, signo, info);
	if (waits || dropped || (is_mark && !tw_pending_take(t, signo, &kept)))
		unnoticed(t, uc);
	else
		asynchronous(t, signo, is_mark ? &kept : info, uc);
}

/*
 * One of the thread's timers, or the collector asks. If the thread runs in the cache, it is sent to the dispatcher.
 * An interrupted system call is repeated.
 */
static void tick(struct thread *t, struct tw_ucontext *uc)
{
	unnoticed(t, uc);
	tw_budget_tick(t);
	tw_ask_tick(t);
	if (tw_is_due(t) && tw_context_in_cache(uc->rip) && !tw_context_settle(t, uc))
		tw_context_come_by(t, uc);
}

/* Sets flags as C code expects them: the kernel leaves the application's AC on. NT and ID stay, since sigreturn would not restore them. */
static inline void set_own_flags(void)
{
	__asm__ volatile("pushfq; andl %0, (%%rsp); popfq" : : "i"(EFLAGS_NT | EFLAGS_ID) : "cc", "memory");
}

/* For a tracer. A nested signal changes nothing. */
static void note_interrupted(struct thread *t, const struct tw_ucontext *uc)
{
	if (tw_context_in_cache(uc->rip))
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
		tw_synchronous(t, signo, info, uc);
		return;
	}
	if (tw_signal_is_sync(signo))
		sent(t, signo, info, uc);
	else
		asynchronous(t, signo, info, uc);
}
