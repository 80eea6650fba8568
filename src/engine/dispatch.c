#include "engine/engine.h"
#include "engine/buffer.h"
#include "engine/emulate.h"
#include "engine/fragment.h"
#include "engine/signal.h"
#include "engine/syscall.h"
#include "engine/x86_64/glue.h"
#include "engine/x86_64/translate.h"
#include "instrument/instrumentor.h"
#include <asm/signal.h>

/* What tw_reenter leaves by. */
struct exit tw_exit_reenter = {.kind = EXIT_REENTER};

/* thread.regs as the glue saved them, made the application's: r11 held the buffer pointer. */
static void take_registers(struct thread *t)
{
	if (!tw_engine.instr->records)
		return;
	t->bufptr = t->regs[BUF_REG];
	t->regs[BUF_REG] = t->app_r11;
}

/* The other way, before entering at a fragment's entry. */
static void give_registers(struct thread *t)
{
	if (!tw_engine.instr->records)
		return;
	t->app_r11 = t->regs[BUF_REG];
	t->regs[BUF_REG] = t->bufptr;
}

/*
 * Enters at t->pc: signals first, then the fragment. `x`: the exit to link to it, or NULL. A pc where nothing can run is the application's fault.
 */
static u64 enter(struct thread *t, struct exit *x, u16 context)
{
	for (;;) {
		while (t->pending.signo) {
			tw_signal_deliver_pending(t);
			x = NULL;
			context = tw_engine.instr->exit_context(NULL, NULL);
		}
		tw_lock(&tw_engine.lock);
		if (tw_fragment_make_room(t))
			x = NULL;
		struct fragment *f = tw_fragment_get(t->pc, context, x);
		if (f) {
			tw_unlock(&tw_engine.lock);
			tw_buffer_upper(t, f->number >> 16);
			give_registers(t);
			return (u64)f->code;
		}
		tw_unlock(&tw_engine.lock);
		tw_signal_fault(t, SIGSEGV, tw_engine_mapped(t->pc) ? SEGV_ACCERR : SEGV_MAPERR, t->pc);
		x = NULL;
		context = tw_engine.instr->exit_context(NULL, NULL);
	}
}

u64 tw_resume(struct thread *t)
{
	return enter(t, NULL, tw_engine.instr->exit_context(NULL, NULL));
}

u64 tw_dispatch(struct thread *t)
{
	struct exit *x = (struct exit *)t->exit;
	u16 context;
	if (x->kind == EXIT_REENTER)
		return tw_signal_reentered(t);
	take_registers(t);
	t->upper = x->upper;
	if (x->kind != EXIT_INDIRECT && x->kind != EXIT_RETURN)
		t->pc = x->pc;
	switch (x->kind) {
	case EXIT_SYSCALL:
		context = x->context;
		tw_fragment_left(t);
		tw_syscall(t);
		return enter(t, NULL, context);
	case EXIT_EMULATE:
		context = x->context;
		tw_emulate(t);
		return enter(t, NULL, context);
	case EXIT_INDIRECT:
	case EXIT_RETURN:
		return enter(t, x, tw_engine.instr->exit_context(NULL, NULL));
	default:
		return enter(t, x, x->context);
	}
}
