#include "engine/engine.h"
#include "engine/bits.h"
#include "engine/buffer.h"
#include "engine/emulate.h"
#include "engine/fragment.h"
#include "engine/int80.h"
#include "engine/signal.h"
#include "engine/snapshot.h"
#include "engine/syscall.h"
#include "engine/trace.h"
#include "engine/window.h"
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

/* The fragment to go on with at t->pc. Under the lock. NULL: nothing can run there. */
static struct fragment *next_fragment(struct thread *t, struct exit *x, u32 context)
{
	if (tw_fragment_make_room(t))
		x = NULL;
	if (tw_window_look(t)) {
		x = NULL;
		context = tw_engine.instr->context;
	}
	tw_trace_join(t);
	return tw_fragment_get(t->pc, context, x);
}

/* Into the cache by f. */
static u64 into(struct thread *t, const struct fragment *f)
{
	tw_buffer_upper(t, f);
	if (tw_bits_used())
		tw_bits_enter(t, f);
	give_registers(t);
	return (u64)f->code;
}

/*
 * Enters at t->pc with t->regs: signals first, then the fragment. `x`: the exit to link to it, or NULL. A pc where nothing can run is the application's fault.
 */
static u64 enter(struct thread *t, struct exit *x, u32 context)
{
	for (;;) {
		while (t->pending.signo) {
			tw_signal_deliver_pending(t);
			x = NULL;
			context = tw_engine.instr->context;
		}
		if (tw_emulate_vsyscall(t)) {
			x = NULL;
			context = tw_engine.instr->context;
			continue;
		}
		tw_lock(&tw_engine.lock);
		struct fragment *f = next_fragment(t, x, context);
		tw_unlock(&tw_engine.lock);
		if (f)
			return into(t, f);
		tw_signal_page_fault(t, t->pc, FAULT_FETCH | (tw_engine_mapped(t->pc) ? FAULT_PRESENT : 0));
		x = NULL;
		context = tw_engine.instr->context;
	}
}

/* The same after a system call or an emulated instruction, by which the cache was left at x: without the lock where it went on as it does now. */
static u64 enter_again(struct thread *t, struct exit *x)
{
	const struct fragment *f = NULL;
	if (!t->pending.signo && !tw_trace_found(t) && tw_window_steady(t))
		f = tw_fragment_again(t, x);
	return f ? into(t, f) : enter(t, x, tw_engine.instr->context);
}

u64 tw_resume(struct thread *t)
{
	return enter(t, NULL, tw_engine.instr->context);
}

u64 tw_dispatch(struct thread *t)
{
	struct exit *x = (struct exit *)t->exit;
	if (x->kind == EXIT_REENTER)
		return tw_signal_reentered(t);
	take_registers(t);
	if (tw_form_now() == TW_FORM_PLAIN) /* else the cache keeps it */
		t->upper = x->upper;
	if (x->kind != EXIT_INDIRECT && x->kind != EXIT_RETURN)
		t->pc = x->pc;
	if (tw_bits_used())
		tw_bits_left(t, x);
	switch (x->kind) {
	case EXIT_SYSCALL:
	case EXIT_INT80:
		tw_fragment_publish(t);
		tw_fragment_left(t);
		if (x->kind == EXIT_SYSCALL)
			tw_syscall(t);
		else
			tw_int80(t);
		tw_snapshot_look(t);
		return enter_again(t, x);
	case EXIT_EMULATE:
		tw_emulate(t);
		return enter_again(t, x);
	case EXIT_INDIRECT:
	case EXIT_RETURN:
		return enter(t, x, tw_engine.instr->context);
	default:
		return enter(t, x, x->context);
	}
}
