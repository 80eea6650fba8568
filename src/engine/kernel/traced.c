#include "engine/kernel/traced.h"
#include "engine/record/slot.h"
#include "engine/signal/signal.h"
#include <asm/errno.h>
#include <asm/signal.h>
#include <asm/unistd.h>

enum { SYSCALL_BYTES = 2 };

bool tw_traced_is_restart(i64 result)
{
	return result == -512 || result == -513 || result == -514 || result == -516;
}

void tw_traced_replace(struct thread *t)
{
	struct tw_traced *d = &t->kernel->traced;
	if (!d->replaced)
		return;
	d->replaced = false;
	memcpy(t->regs, d->regs, sizeof t->regs);
	t->pc = d->pc;
	t->flags = d->flags;
	if (d->number != -1 && tw_traced_is_restart((i64)t->regs[TW_RAX])) {
		t->regs[TW_RAX] = (u64)d->number;
		t->pc -= SYSCALL_BYTES;
	}
}

/* Shows the stop to threads that cannot look into this one: a thread that waits for it gets another status. */
static void tell(const struct thread *t, bool stops)
{
	if (t->record->slot == NO_SLOT)
		return;
	u32 *trace = (u32 *)&tw_slot_of(t)->trace;
	if (stops)
		__atomic_fetch_or(trace, TW_TRACE_STOPPED, __ATOMIC_SEQ_CST);
	else
		__atomic_fetch_and(trace, ~(u32)TW_TRACE_STOPPED, __ATOMIC_SEQ_CST);
}

/* If nobody traces it any more, the signal is delivered, and this stop was the last. */
static void stop(struct thread *t, enum tw_traced_stop kind)
{
	struct tw_traced *d = &t->kernel->traced;
	siginfo_t info;
	memset(&info, 0, sizeof info);
	info.si_signo = SIGTRAP;
	info.si_code = SIGTRAP;
	info.si_pid = (i32)t->pid;
	d->stop = (u8)kind;
	tell(t, true);
	if (tw_signal_own(t, &info))
		d->stops = false;
	tell(t, false);
	d->stop = TW_TRACED_NOT;
	tw_traced_replace(t);
}

/* To itself, perhaps: they come after the stop behind it. */
static bool sends_signals(i64 number)
{
	return number == __NR_kill || number == __NR_tkill || number == __NR_tgkill || number == __NR_rt_sigqueueinfo ||
	       number == __NR_rt_tgsigqueueinfo;
}

void tw_traced_syscall(struct thread *t, void (*make)(struct thread *t))
{
	struct tw_traced *d = &t->kernel->traced;
	d->number = (i64)t->regs[TW_RAX];
	t->regs[TW_RCX] = t->pc;
	t->regs[TW_R11] = t->flags;
	t->regs[TW_RAX] = (u64)-ENOSYS;
	stop(t, TW_TRACED_ENTRY);
	const i64 number = d->number;
	const u32 tid = t->tid;
	const u64 all = ~TW_SYNC_SIGNALS;
	if (number != -1) { /* else the tracer has given the result */
		if (sends_signals(number))
			tw_sys4(__NR_rt_sigprocmask, SIG_SETMASK, &all, NULL, 8);
		t->regs[TW_RAX] = (u64)number;
		make(t);
		if (t->tid != tid) /* a child, which begins */
			return;
		tw_traced_replace(t);
	}
	if (number == __NR_rt_sigreturn)
		d->number = -1;
	if (d->stops)
		stop(t, TW_TRACED_EXIT);
	if (sends_signals(number))
		tw_signal_set_mask(t, t->signal->mask);
}

void tw_traced_clone(const struct thread *t)
{
	if (t->record->slot != NO_SLOT && t->record->promised != NO_SLOT)
		__atomic_store_n((u32 *)&tw_engine.control->slot[t->record->promised].trace, tw_slot_of(t)->trace & TW_TRACE_GOOD,
		                 __ATOMIC_SEQ_CST);
}
