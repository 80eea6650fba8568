#include "engine/record/budget.h"
#include "engine/record/account.h"
#include "engine/record/buffer.h"
#include "engine/record/charge.h"
#include "engine/record/cycles.h"
#include "engine/record/price.h"
#include "engine/record/stack.h"
#include "engine/record/window.h"
#include "engine/x86_64/glue.h"
#include <linux/time.h>

#define CROSSING_NS 4000u   /* cost of a switch to recording and back that the thread's own clock does not see */
#define REPEAT_NS   100000u /* after which the timer comes again if it interrupted the engine */
#define CATCH_UP_NS 2000000u
/* ... or this fraction of the period: after each switch, the program's code and the engine's have left the caches. */
#define CATCH_UPS    128u
#define LONGEST      4u     /* times what was drawn, for which it records */
#define MOST_TOLD_NS 20000u /* to tell one fact; what took longer was another's turn */

static struct tw_budget_control *control(void)
{
	return &tw_engine.control->budget;
}

static u64 larger(u64 a, u64 b)
{
	return a > b ? a : b;
}

static u64 smaller(u64 a, u64 b)
{
	return a < b ? a : b;
}

/* ---- charging ---- */

/* CPU time, in ns, that the recorder takes from the program for what the thread has written since the last look (channel/displaced.h). */
static u64 displaced_by(const struct thread *t)
{
	const u64 per_1024 = __atomic_load_n((const u64 *)&control()->displaced_per_1024, __ATOMIC_RELAXED);
	return (tw_price_written(t) - t->record->budget.bytes) * per_1024 / 1024;
}

/* Charges the thread for what it has done so far, if it recorded, and starts a new count. */
static void charge(struct thread *t, u64 period)
{
	struct tw_budget_thread *b = &t->record->budget;
	struct tw_budget_period *f = tw_account_figures(b->period);
	const u64 cpu = tw_cycles_clock(CLOCK_THREAD_CPUTIME_ID), run = b->begun ? cpu - b->cpu : 0;
	const u64 engine = smaller(b->engine, run);
	const bool records = !t->record->bare && b->begun;
	const u64 displaced = records ? displaced_by(t) : 0;
	tw_account_add(&f->cpu, run + b->waited + displaced);
	tw_price_note(t, run - engine);
	__atomic_fetch_add(tw_account_of(t).cpu, run + b->waited + displaced, __ATOMIC_RELAXED);
	if (records) {
		const u64 used = tw_price_cost(t, engine, run - engine) + b->waited;
		tw_account_add(&f->used, used + displaced);
		tw_account_add(&f->enabled, run + b->waited);
		b->of_late = (struct tw_budget_late){b->of_late.run * 3 / 4 + run + b->waited, b->of_late.used * 3 / 4 + used};
		tw_account_settle(tw_account_of(t), b->period, b->granted, used);
		if (displaced) {
			tw_account_add(&control()->displaced, displaced);
			tw_account_owe(tw_account_of(t), displaced);
		}
	}
	if (period != b->period)
		tw_price_forget(t);
	b->period = period;
	b->cpu = cpu;
	b->bytes = tw_price_written(t);
	b->engine = b->waited = 0;
}

/* ---- the mode ---- */

/* A thread that ran out of buffers resumes recording when this many are empty. */
static u32 enough_room(void)
{
	return (u32)larger(1, (tw_sizes()->buffers - 1) * 3 / 4);
}

/* Is there room to record into? A thread that had to stop for lack of room waits until there is more. */
static bool has_room(const struct thread *t)
{
	return tw_charge_empty_buffers(t) >= (t->record->budget.waits ? enough_room() : 1);
}

static bool is_asynchronous(void)
{
	return control()->switches == TW_SWITCH_ASYNCHRONOUS;
}

bool tw_budget_tests(void)
{
	return control()->period && (control()->switches == TW_SWITCH_TRACE_VERSION || tw_budget_tests_rarely());
}

bool tw_budget_tests_rarely(void)
{
	return control()->switches == TW_SWITCH_TRACE_VERSION_CONDITIONAL;
}

bool tw_budget_at_translation(void)
{
	return control()->switches == TW_SWITCH_TRACE_CONDITIONAL;
}

/*
 * Sets the count after which recording fragments leave, according to the thread's time. Bare fragments check whether
 * the timer has fired.
 */
static void plan_count(struct thread *t, u64 after)
{
	const u64 per_1024 = tw_price_per_1024(t);
	if (!tw_budget_tests())
		return;
	t->count = t->record->bare ? 0 : TW_COUNT_END - smaller(after * 1024 / per_1024 + 1, TW_COUNT_END);
}

static void plan_next(struct thread *t, u64 after)
{
	struct tw_budget_thread *b = &t->record->budget;
	b->look_at = tw_tsc() + tw_cycles_of_ns(after);
	b->due = b->paused = false;
	b->repeat = REPEAT_NS;
	plan_count(t, after);
	if (is_asynchronous())
		tw_timer_set(&b->stop, t->tid, CLOCK_MONOTONIC, t->record->bare ? 0 : after, 0);
	if (is_asynchronous() || tw_budget_tests())
		tw_timer_set(&b->wake, t->tid, CLOCK_THREAD_CPUTIME_ID, t->record->bare ? after : 0, after);
}

/* How long the thread runs bare from now on. */
static u64 until_next(const struct tw_budget_thread *b, u64 now)
{
	return b->waits ? larger(CATCH_UP_NS, control()->period / CATCH_UPS) : tw_account_more_after(b->period, now);
}

/*
 * How long to record for the amount drawn: longer if recording has cost only a part of its duration. But half of what
 * was left stays in the account, in reserve for a cost above the expected one.
 */
static u64 recording_time(const struct tw_budget_thread *b)
{
	const u64 cost = larger(b->of_late.used, 1), run = larger(b->of_late.run, cost);
	return smaller(b->granted * run / cost * 3 / 4, LONGEST * b->granted);
}

/* Goes over to the other mode. */
static void cross(struct thread *t)
{
	struct tw_budget_thread *b = &t->record->budget;
	tw_record_calls.cross(t);
	t->record->bare = !t->record->bare;
	if (t->record->bare)
		return;
	tw_account_add(&tw_account_figures(b->period)->used, CROSSING_NS);
	tw_account_settle(tw_account_of(t), b->period, 0, CROSSING_NS);
}

static bool wants_some(const struct tw_budget_thread *b)
{
	return b->wants || control()->seeks != TW_SEEKS_NEW;
}

/*
 * In learning mode, a thread records what follows on something new. Otherwise it draws nothing in the first period,
 * and later half of what there is.
 */
static u64 draw_for(struct thread *t, u64 now)
{
	struct tw_budget_thread *b = &t->record->budget;
	const bool wants = wants_some(b);
	const u64 n = wants || b->period ? tw_account_draw(tw_account_of(t), &b->period, wants ? 1 : 2, now) : 0;
	b->wants &= !n;
	return n;
}

/* Charges the thread for what it has done so far, and moves its account to the current period. Returns the time. */
static u64 come_to_now(struct thread *t)
{
	const u64 now = tw_cycles_clock(CLOCK_MONOTONIC), period = (now - control()->begun) / control()->period;
	tw_cycles_measure(now);
	charge(t, period);
	t->record->budget.granted = 0;
	tw_account_look(tw_account_of(t), period);
	return now;
}

static void charge_wait(struct thread *t, u64 drawn, u64 ns)
{
	const struct tw_account a = tw_account_of(t);
	struct tw_budget_period *f = tw_account_figures(t->record->budget.period);
	tw_account_settle(a, t->record->budget.period, drawn, ns);
	tw_account_add(&f->used, ns);
	tw_account_add(&f->cpu, ns);
	__atomic_fetch_add(a.cpu, ns, __ATOMIC_RELAXED);
	tw_account_add(&control()->waited, ns);
}

void tw_budget_wait(struct thread *t)
{
	struct tw_budget_thread *b = &t->record->budget;
	if (tw_budget_steady(t) || !b->begun || control()->bare || !wants_some(b) || tw_budget_at_translation() || has_room(t))
		return;
	const u64 now = come_to_now(t), drawn = tw_account_draw_rest(tw_account_of(t), b->period, now);
	if (!drawn)
		return;
	charge_wait(t, drawn, smaller(tw_buffer_await(t, enough_room(), drawn), drawn)); /* beyond that it waited for a processor */
	b->waits = !tw_charge_empty_buffers(t);
}

static bool look(struct thread *t)
{
	struct tw_budget_thread *b = &t->record->budget;
	const u64 now = come_to_now(t);
	const bool first = !b->begun;
	b->begun = true;
	b->waits = !has_room(t);
	b->granted = b->waits ? 0 : draw_for(t, now);
	if (control()->bare) {
		tw_account_settle(tw_account_of(t), b->period, b->granted, 0);
		b->granted = 0;
	}
	const bool bare = !b->granted, crosses = bare != t->record->bare;
	if (!bare && (first || crosses))
		tw_account_add(&control()->opened, 1);
	if (bare && (first || crosses) && (b->waits || wants_some(b)))
		tw_account_add(b->waits ? &control()->behind : &control()->spent, 1);
	if (crosses)
		cross(t);
	if (t->record->told_closed != bare) {
		tw_window_tell(t, !bare, b->waits ? TW_LEFT_OUT_BUFFER : TW_LEFT_OUT_BUDGET);
		if (!bare)
			tw_stack_tell(t);
		b->bytes = tw_price_written(t);
	}
	plan_next(t, bare ? until_next(b, now) : recording_time(b));
	return crosses;
}

/* Have its fragments counted to the end, has the timer fired, or has the engine used up what the thread had? */
static bool has_counted(const struct thread *t)
{
	const struct tw_budget_thread *b = &t->record->budget;
	return t->count >= TW_COUNT_END || (t->record->bare ? tw_tsc() >= b->look_at : b->engine > b->granted);
}

bool tw_budget_steady(const struct thread *t)
{
	const struct tw_budget_thread *b = &t->record->budget;
	if (!tw_charge_is_made(t))
		return true;
	return b->begun && !b->due && (tw_budget_tests() ? !has_counted(t) : tw_tsc() < b->look_at);
}

bool tw_budget_look(struct thread *t)
{
	if (tw_budget_steady(t))
		return false;
	const u64 began = tw_cycles_clock(CLOCK_THREAD_CPUTIME_ID);
	const bool crosses = look(t);
	t->record->budget.engine += tw_cycles_clock(CLOCK_THREAD_CPUTIME_ID) - began;
	return crosses;
}

static void stop_timers(struct thread *t)
{
	tw_timer_end(&t->record->budget.stop, t->tid);
	tw_timer_end(&t->record->budget.wake, t->tid);
}

/* Doubles each time: if setting the timer takes longer than its interval, it would fire in the handler forever. */
static u64 next_repeat(struct tw_budget_thread *b)
{
	const u64 now = b->repeat;
	b->repeat *= 2;
	return now;
}

void tw_budget_tick(struct thread *t)
{
	struct tw_budget_thread *b = &t->record->budget;
	b->due = tw_charge_is_made(t) && is_asynchronous();
	if (tw_charge_is_made(t) && !is_asynchronous() && t->record->bare)
		t->count = TW_COUNT_END;                /* the next fragment finds it so */
	if (control()->period && !tw_charge_is_made(t)) /* recording has ended */
		stop_timers(t);
	else if (b->due && b->begun && !b->paused && !t->record->bare)
		tw_timer_set(&b->stop, t->tid, CLOCK_MONOTONIC, next_repeat(b), 0);
}

void tw_budget_pause(struct thread *t)
{
	struct tw_budget_thread *b = &t->record->budget;
	if (!tw_charge_is_made(t) || t->record->bare || !b->begun || !is_asynchronous())
		return;
	const u64 began = tw_charge_begin(t);
	b->paused = true;
	tw_timer_set(&b->stop, t->tid, CLOCK_MONOTONIC, 0, 0);
	tw_charge_end(t, began);
}

void tw_budget_resume(struct thread *t)
{
	struct tw_budget_thread *b = &t->record->budget;
	const u64 now = tw_tsc();
	if (!b->paused || !tw_charge_is_made(t))
		return;
	b->paused = false;
	if (now >= b->look_at)
		return;
	const u64 began = tw_charge_begin(t);
	tw_timer_set(&b->stop, t->tid, CLOCK_MONOTONIC, tw_cycles_to_ns(b->look_at - now) + 1, 0);
	tw_charge_end(t, began);
}

bool tw_budget_may_tell(struct thread *t)
{
	return !control()->bare || tw_account_has(tw_account_of(t));
}

void tw_budget_told(struct thread *t, u64 began, bool told)
{
	const u64 ns = smaller(tw_cycles_to_ns(tw_tsc() - began), MOST_TOLD_NS);
	if (!tw_charge_is_made(t))
		return;
	tw_account_add(&tw_account_figures(t->record->budget.period)->used, ns);
	if (told)
		tw_account_settle(tw_account_of(t), t->record->budget.period, 0, ns);
}

bool tw_budget_seeks(void)
{
	return control()->seeks != TW_SEEKS_NOTHING;
}

void tw_budget_want(struct thread *t)
{
	struct tw_budget_thread *b = &t->record->budget;
	if (control()->seeks == TW_SEEKS_NEW && tw_charge_is_made(t) && t->record->bare)
		b->wants = b->due = true;
}

void tw_budget_attach(struct thread *t)
{
	t->record->budget = (struct tw_budget_thread){0};
	if (!control()->period || t->record->recording)
		return;
	t->record->bare = true;
	t->record->window--; /* it does not go on by what it knows (tw_window_steady) */
}

void tw_budget_detach(struct thread *t)
{
	struct tw_budget_thread *b = &t->record->budget;
	if (!tw_charge_is_made(t) || !b->begun)
		return;
	charge(t, b->period);
	stop_timers(t);
}
