#include "engine/code/dispatch.h"
#include "engine/record/ask.h"
#include "engine/record/bits.h"
#include "engine/record/budget.h"
#include "engine/record/buffer.h"
#include "engine/record/calls.h"
#include "engine/code/flush.h"
#include "engine/code/memory.h"
#include "engine/code/fragments.h"
#include "engine/code/pace.h"
#include "engine/code/private.h"
#include "engine/code/resolve.h"
#include "engine/code/snapshot.h"
#include "engine/code/snapshot_tables.h"
#include "engine/code/stale.h"
#include "engine/code/trace.h"
#include "engine/record/window.h"
#include "engine/record/instrumentor.h"
#include "engine/record/charge.h"
#include "engine/counts.h"
#include "engine/x86_64/glue.h"

/* Turns thread.regs as the glue saved them into the application's: r11 held the buffer pointer. */
static void take_registers(struct thread *t)
{
	if (!tw_instr()->records)
		return;
	t->bufptr = t->regs[BUF_REG];
	t->regs[BUF_REG] = t->app_r11;
}

/* The other way, before entering at a fragment's entry. */
static void give_registers(struct thread *t)
{
	if (!tw_instr()->records)
		return;
	t->app_r11 = t->regs[BUF_REG];
	t->regs[BUF_REG] = t->bufptr;
}

/* Format cf_bit: where the walk stands when the cache has been left by x. */
static void leave_walk(struct thread *t, const struct exit *x)
{
	const bool calls = x->kind == EXIT_SYSCALL || x->kind == EXIT_INT80;
	if (x->kind == EXIT_INDIRECT || x->kind == EXIT_RETURN)
		tw_bits_left(t, 0, false);
	else if (x->kind == EXIT_EMULATE)
		tw_bits_left(t, x->from->pc_fall, true);
	else
		tw_bits_left(t, x->pc, calls);
}

/* The fragment to continue with at t->pc. Under the lock. NULL: nothing can run there. */
static struct fragment *next_fragment(struct thread *t, struct exit *x, u32 context)
{
	if (t->pc == tw_translator.program_entry)
		tw_snapshot_started();
	if (tw_flush_make_room(t))
		x = NULL;
	const bool there = tw_budget_at_translation() && tw_fragment_plain(t->pc);
	const bool window = tw_window_look(t), budget = !there && tw_budget_look(t), pace = tw_pace_follow(t);
	if (window || budget || pace) {
		x = NULL;
		context = tw_instr()->context;
	}
	const u64 back = tw_calls_look(t);
	if (back)
		tw_fragment_invalidate(back, back + 1);
	const u64 began = tw_charge_begin(t);
	if (tw_trace_found(t)) {
		const u64 joined = tw_tsc();
		tw_trace_join(t);
		tw_count_cycles(TW_COUNT_JOINING_CYCLES, joined, tw_tsc());
	}
	const u64 found = tw_tsc();
	struct fragment *f = tw_resolve(t->pc, context, x);
	tw_count_cycles(TW_COUNT_FINDING_CYCLES, found, tw_tsc());
	tw_charge_end(t, began);
	return f;
}

/* Into the cache by f. */
static u64 into(struct thread *t, const struct fragment *f)
{
	tw_buffer_upper(t, &f->rec);
	if (tw_bits_used())
		tw_bits_enter(t, &f->rec);
	give_registers(t);
	return (u64)f->rec.map.code;
}

/*
 * Enters at t->pc with t->regs: signals first, then the fragment. `x`: the exit to link to it, or NULL. A pc where
 * nothing can run is a fault of the application.
 */
static u64 enter(struct thread *t, struct exit *x, u32 context)
{
	for (;;) {
		tw_ask_look(t);
		while (t->has_deferred) {
			tw_code_calls.deliver_deferred(t);
			x = NULL;
			context = tw_instr()->context;
		}
		if (tw_code_calls.emulate_vsyscall(t)) {
			x = NULL;
			context = tw_instr()->context;
			continue;
		}
		tw_budget_wait(t);
		tw_lock(&tw_engine.lock);
		struct fragment *f = next_fragment(t, x, context);
		bool beyond_file = false;
		const u64 end = f ? 0 : tw_memory_code_end(t->pc, &beyond_file);
		tw_unlock(&tw_engine.lock);
		if (f)
			return into(t, f);
		tw_code_calls.no_code(t, end, beyond_file);
		x = NULL;
		context = tw_instr()->context;
	}
}

/*
 * The same after a system call or an emulated instruction, for which the cache was left at x: without the lock if
 * execution continues as last time.
 */
static u64 enter_again(struct thread *t, struct exit *x)
{
	const struct fragment *f = NULL;
	if (!t->has_deferred && !tw_ask_is_due(t) && !tw_trace_found(t) && tw_window_steady(t) && tw_budget_steady(t))
		f = tw_flush_again(t, x);
	return f ? into(t, f) : enter(t, x, tw_instr()->context);
}

u64 tw_resume(struct thread *t)
{
	tw_count_by(t->tid, TW_COUNT_RESUMED, 1);
	return enter(t, NULL, tw_instr()->context);
}

/* Why the cache was left. */
static enum tw_count why(const struct exit *x)
{
	switch (x->kind) {
	case EXIT_SYSCALL:
	case EXIT_INT80:
		return TW_COUNT_SYSCALLS;
	case EXIT_EMULATE:
		return TW_COUNT_EMULATED;
	case EXIT_INDIRECT:
	case EXIT_RETURN:
		return TW_COUNT_NOT_FOUND;
	default:
		return TW_COUNT_UNLINKED;
	}
}

u64 tw_dispatch(struct thread *t)
{
	struct exit *x = (struct exit *)t->exit;
	tw_count_by(t->tid, why(x), 1);
	take_registers(t);
	if (tw_form_now() == TW_FORM_PLAIN) /* else the cache keeps it */
		t->upper = x->upper;
	if (x->kind != EXIT_INDIRECT && x->kind != EXIT_RETURN)
		t->pc = x->pc;
	if (tw_bits_used())
		leave_walk(t, x);
	switch (x->kind) {
	case EXIT_SYSCALL:
	case EXIT_INT80:
		tw_private_publish(t);
		tw_flush_left_cache(t);
		tw_budget_pause(t);
		if (x->kind == EXIT_SYSCALL)
			tw_code_calls.syscall(t);
		else
			tw_code_calls.int80(t);
		tw_budget_resume(t);
		tw_snapshot_look(t);
		return enter_again(t, x);
	case EXIT_EMULATE:
		tw_code_calls.emulate(t);
		return enter_again(t, x);
	case EXIT_INDIRECT:
	case EXIT_RETURN:
		return enter(t, x, tw_instr()->context);
	default:
		return enter(t, x, x->context);
	}
}
