#include "engine/signal/fault.h"
#include "engine/record/buffer.h"

#define TRAP_PAGE_FAULT 14

static u32 access_of(const struct thread *t)
{
	if (t->signal->fault.trapno != TRAP_PAGE_FAULT)
		return TW_ACCESS_UNKNOWN;
	if (t->signal->fault.err & FAULT_FETCH)
		return TW_ACCESS_EXECUTE;
	return t->signal->fault.err & FAULT_WRITE ? TW_ACCESS_WRITE : TW_ACCESS_READ;
}

static void tell(struct thread *t, int signo, const siginfo_t *info, u32 fatal)
{
	struct tw_fault e = {.number = (u32)signo, .code = info ? info->si_code : 0, .pc = t->pc, .fatal = fatal};
	const bool memory = signo == SIGSEGV || signo == SIGBUS;
	if (info && memory && info->si_code > 0) {
		e.access = access_of(t);
		e.address = (u64)info->si_addr;
	} else if (info && info->si_code <= 0) {
		e.sender = (u32)info->si_pid;
	}
	memcpy(e.regs, t->regs, sizeof e.regs);
	tw_buffer_event(t, TW_EVENT_FAULT, &e, sizeof e, NULL, 0);
}

void tw_fault_fatal(struct thread *t, int signo, const siginfo_t *info)
{
	tell(t, signo, info, 1);
}

void tw_fault_handled(struct thread *t, int signo, const siginfo_t *info)
{
	const bool undone = signo == SIGSEGV || signo == SIGBUS || signo == SIGFPE || signo == SIGILL;
	if (undone && info->si_code > 0 && tw_buffer_keeps(t, TW_EVENT_SIGNAL))
		tell(t, signo, info, 0);
}
