#include "engine/record/budget.h"
#include "engine/record/charge.h"
#include "engine/record/instrumentor.h"
#include "engine/record/stack.h"
#include "engine/record/window.h"
#include "engine/x86_64/glue.h"
#include <asm/unistd.h>
#include <linux/time.h>
#include <linux/time_types.h>

#define MILLION       1000000u
#define PERIOD_SHIFT  40
#define CROSSING_NS   4000u   /* what going over and back takes that the thread's own clock does not see */
#define REPEAT_NS     100000u /* after which the timer comes again if it found the thread in the engine */
#define CATCH_UP_NS   2000000u
#define LEAST_NS      20000u  /* it does not pay to record for less */
#define MOST_TOLD_NS  20000u  /* to tell one fact; what took longer was another's turn */
#define PARTS         10u     /* of the first period: a program may not run for longer */
#define SHARES        32u     /* of what there is in a period: as much is drawn at a time */
#define MOST_PER_1024 131072u /* ns for 1024 bytes of records, in the program's code */
#define ENOUGH        500u    /* executions of a point that tell how fast the program goes */
#define WARM_BYTES    (3u << 20)

static struct tw_budget_control *control(void)
{
	return &tw_engine.control->budget;
}

static bool learns(void)
{
	return control()->bare || control()->seeks;
}

static u64 larger(u64 a, u64 b)
{
	return a > b ? a : b;
}

static u64 smaller(u64 a, u64 b)
{
	return a < b ? a : b;
}

/* ---- clocks ---- */

static u64 clock(i32 which)
{
	struct __kernel_timespec now = {0, 0};
	tw_sys(__NR_clock_gettime, which, &now, 0);
	return (u64)now.tv_sec * 1000 * MILLION + (u64)now.tv_nsec;
}

/* ns for 2^20 cycles, as measured since this process first looked; until that is known, of a counter faster than any. */
static struct {
	u64 tsc, ns, scale;
} since = {.scale = 1u << 18};

static void measure(u64 now)
{
	const u64 tsc = tw_tsc();
	if (!since.ns) {
		since.tsc = tsc;
		since.ns = now;
	} else if (now - since.ns > MILLION && tsc > since.tsc && now - since.ns < 1ull << 43) {
		since.scale = ((now - since.ns) << 20) / (tsc - since.tsc);
	}
}

static u64 cycles_to_ns(u64 cycles)
{
	return (cycles >> 10) * since.scale >> 10;
}

static u64 ns_to_cycles(u64 ns)
{
	return (ns << 10) / (since.scale ? since.scale : 1) << 10;
}

/* ---- accounts ---- */

struct account {
	u64 *word, *allowance, *cpu, *cpu_then;
};

static struct account account_of(struct thread *t)
{
	struct tw_budget_control *c = control();
	struct tw_budget_thread *b = &t->record->budget;
	if (c->per_thread)
		return (struct account){&b->account, &b->allowance, &b->all_cpu, &b->cpu_then};
	return (struct account){(u64 *)&c->account, (u64 *)&c->allowance, (u64 *)&c->cpu, (u64 *)&c->cpu_then};
}

static struct tw_budget_period *figures(u64 period)
{
	return &control()->of[period % TW_BUDGET_PERIODS];
}

static u64 load(const _Atomic uint64_t *at)
{
	return __atomic_load_n((const u64 *)at, __ATOMIC_RELAXED);
}

static void add(_Atomic uint64_t *at, u64 n)
{
	__atomic_fetch_add((u64 *)at, n, __ATOMIC_RELAXED);
}

/* Of B parts of the time without instrumentation, B / (1 + B) are of the time with it. */
static u64 share_of(u64 cpu)
{
	const u64 budget = control()->budget;
	return cpu / 1000 * budget / (MILLION + budget) * 1000;
}

/*
 * What may be drawn in the period that begins: a share of the CPU time that was used since the last one began. It is never next to nothing, or a program that has slept would not be
 * recorded when it wakes. In the first there is a part of it, and more as time goes by (grow); or all, where something is learned: most of what is new comes as programs start.
 * `left`: of the last period, in which the program may have waited for a processor, or slept. It stays, but no period has more than the share of a whole one.
 */
static u64 new_allowance(struct account a, bool first, u64 left)
{
	const struct tw_budget_control *c = control();
	const u64 cpu = __atomic_load_n(a.cpu, __ATOMIC_RELAXED), then = __atomic_exchange_n(a.cpu_then, cpu, __ATOMIC_RELAXED);
	const u64 used = !first ? larger(cpu - then, c->period / 200) : learns() ? c->period : c->period / PARTS;
	const u64 share = share_of(used), most = larger(share, share_of(c->period));
	return c->is_share ? smaller(share + left, most) : c->budget;
}

/* The first period of all: there is a share of what has been used up to now, if that is more than there was. */
static void grow(struct account a, u64 period)
{
	const u64 allowance = __atomic_load_n(a.allowance, __ATOMIC_RELAXED), now = share_of(__atomic_load_n(a.cpu, __ATOMIC_RELAXED));
	if (!period && control()->is_share && now > allowance)
		__atomic_store_n(a.allowance, now, __ATOMIC_RELAXED);
}

static u32 bucket_of(u64 ns)
{
	u32 k = 0;
	for (u64 us = ns / 1000; us && k + 1 < TW_BUDGET_BUCKETS; us >>= 1)
		k++;
	return k;
}

/* A period of an account is over, in which so much more was charged than there was. */
static void note_overshoot(u64 period, u64 over)
{
	struct tw_budget_control *c = control();
	u64 largest = load(&c->largest);
	add(&c->accounts, 1);
	if (over)
		add(&c->over[bucket_of(over)], 1);
	while (over > largest) {
		if (!__atomic_compare_exchange_n((u64 *)&c->largest, &largest, over, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
			continue;
		__atomic_store_n((u64 *)&c->largest_in, period, __ATOMIC_RELAXED);
		return;
	}
}

/* The account is that of this period from now on. What was overdrawn in the last is drawn already. */
static void turn_over(struct account a, u64 word, u64 period)
{
	const u64 allowance = __atomic_load_n(a.allowance, __ATOMIC_RELAXED), drawn = word & TW_BUDGET_DRAWN;
	const u64 over = drawn > allowance ? drawn - allowance : 0, left = word && drawn < allowance ? allowance - drawn : 0;
	const u64 next = period << PERIOD_SHIFT | over;
	if (!__atomic_compare_exchange_n(a.word, &word, next, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		return;
	/* The first period may have begun before the program did: what ran in it does not tell what will run in the second. */
	__atomic_store_n(a.allowance, new_allowance(a, !word || (learns() && period == 2), left), __ATOMIC_RELAXED);
	if (word)
		note_overshoot((word >> PERIOD_SHIFT) - 1, over);
}

/* Numbers of periods in accounts are from 1, and have 24 bits. */
static i32 periods_behind(u64 word, u64 period)
{
	return (i32)((u32)(period + 1) << 8) / 256 - (i32)((u32)(word >> PERIOD_SHIFT) << 8) / 256;
}

static bool is_of(u64 word, u64 period)
{
	return !periods_behind(word, period);
}

/* Draws up to so much of what is left of the first 1/part of the period's, and returns how much that is. If others have come to a later period by now, *period is that. */
static u64 draw(struct account a, u64 *period, u32 part)
{
	u64 word = __atomic_load_n(a.word, __ATOMIC_RELAXED);
	for (;;) {
		const i32 behind = periods_behind(word, *period);
		if (behind > 0 || !word) {
			turn_over(a, word, *period + 1);
			word = __atomic_load_n(a.word, __ATOMIC_RELAXED);
			continue;
		}
		*period -= (u64)(i64)behind;
		const u64 allowance = __atomic_load_n(a.allowance, __ATOMIC_RELAXED), drawn = word & TW_BUDGET_DRAWN;
		const u64 left = drawn < allowance / part ? allowance / part - drawn : 0, share = larger(allowance / SHARES, 2 * LEAST_NS);
		const u64 n = smaller(left, share);
		if (n < LEAST_NS)
			return 0;
		if (__atomic_compare_exchange_n(a.word, &word, word + n, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
			return n;
	}
}

/* Of what was drawn in that period so much has been used: the rest is given back, what was used beyond is drawn too. */
static void settle(struct account a, u64 period, u64 drawn, u64 used)
{
	u64 word = __atomic_load_n(a.word, __ATOMIC_RELAXED);
	for (;;) {
		if (!is_of(word, period) && used <= drawn)
			return;
		const u64 next = used > drawn ? word + (used - drawn) : word - (drawn - used);
		if (__atomic_compare_exchange_n(a.word, &word, next, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
			return;
	}
}

/* ---- charging ---- */

static u64 written(const struct thread *t)
{
	const struct tw_pen here = {t->record->buffer, t->bufptr, 0, 0};
	const struct tw_pen *pen = t->record->telling ? &t->record->other : &here;
	return t->record->budget.past + smaller(pen->bufptr - (u64)pen->buffer, TW_BUFFER_BYTES);
}

/* The points have changed, and code that has them is made anew. */
static void begin_pace(struct thread *t)
{
	struct tw_budget_thread *b = &t->record->budget;
	b->points = tw_recorder.points;
	b->warm = written(t) + WARM_BYTES;
	b->bare_pace = b->record_pace = (struct tw_pace){0};
}

/* The thread has run for so many ns in translations of the mode it is in. */
static void note_pace(struct thread *t, u64 ns)
{
	struct tw_budget_thread *b = &t->record->budget;
	struct tw_pace *p = t->record->bare ? &b->bare_pace : &b->record_pace;
	const bool counts = t->record->bare || written(t) > b->warm;
	if (b->points != tw_recorder.points)
		begin_pace(t);
	else if (counts)
		*p = (struct tw_pace){p->ns + ns, p->bytes + written(t) - b->bytes, {p->n[0], p->n[1]}};
	for (u32 k = 0; k < TW_PACE_POINTS; k++) {
		p->n[k] += counts ? t->pace[k] - b->pace[k] : 0;
		b->pace[k] = t->pace[k];
	}
}

/* What was long ago counts for less. */
static void forget_pace(struct tw_pace *p)
{
	p->ns -= p->ns / 16;
	p->bytes -= p->bytes / 16;
	for (u32 k = 0; k < TW_PACE_POINTS; k++)
		p->n[k] -= p->n[k] / 16;
}

/* In how many ns bare code would have done what was recorded; 0: the points have not come often enough to tell. */
static u64 bare_time(const struct tw_budget_thread *b)
{
	const struct tw_pace *bare = &b->bare_pace, *record = &b->record_pace;
	u64 sum = 0, n = 0;
	for (u32 k = 0; k < TW_PACE_POINTS; k++) {
		if (record->n[k] < ENOUGH || bare->n[k] < ENOUGH)
			continue;
		sum += bare->ns / 1024 * record->n[k] / bare->n[k] * 1024;
		n++;
	}
	return n ? sum / n : 0;
}

/* What a byte of records costs, as far as it shows by now. */
static void weigh(struct tw_budget_thread *b)
{
	const u64 bare = bare_time(b), ns = b->record_pace.ns, kib = b->record_pace.bytes / 1024;
	if (bare && kib)
		b->per_1024 = smaller(ns > bare ? (ns - bare) / kib : 0, MOST_PER_1024) + 1;
}

/* ns for 1024 bytes of records, while nothing tells: what was found on one machine, with gzip. */
static u64 first_guess(void)
{
	switch (tw_recorder.whole->format) {
	case TW_FORMAT_CF_BIT:
		return 8192;
	case TW_FORMAT_CALL:
		return 65536;
	case TW_FORMAT_DEP_C:
	case TW_FORMAT_BB_PC:
	case TW_FORMAT_DEP06_C:
		return 512;
	default:
		return tw_recorder.verify ? 65536 : 256;
	}
}

/* What the thread has cost since it last looked, in the engine and in code that records. */
static u64 cost(const struct thread *t, u64 engine, u64 in_code)
{
	const struct tw_budget_thread *b = &t->record->budget;
	const u64 per_1024 = b->per_1024 ? b->per_1024 : first_guess();
	return engine + smaller(in_code, (written(t) - b->bytes) * per_1024 / 1024);
}

/* Charges the thread for what it did up to now, if it recorded, and begins anew. */
static void charge(struct thread *t, u64 period)
{
	struct tw_budget_thread *b = &t->record->budget;
	struct tw_budget_period *f = figures(b->period);
	const u64 cpu = clock(CLOCK_THREAD_CPUTIME_ID), run = b->begun ? cpu - b->cpu : 0;
	const u64 engine = smaller(cycles_to_ns(b->engine), run); /* it may have been another's turn meanwhile */
	add(&f->cpu, run);
	note_pace(t, run - engine);
	weigh(b);
	__atomic_fetch_add(account_of(t).cpu, run, __ATOMIC_RELAXED);
	if (!t->record->bare && b->begun) {
		const u64 used = cost(t, engine, run - engine);
		add(&f->used, used);
		add(&f->enabled, run);
		settle(account_of(t), b->period, b->granted, used);
	}
	if (period != b->period) {
		forget_pace(&b->bare_pace);
		forget_pace(&b->record_pace);
	}
	b->period = period;
	b->cpu = cpu;
	b->bytes = written(t);
	b->engine = 0;
}

/* ---- the mode ---- */

/* Is there room to record into? A thread that has waited for some waits for more. */
static bool has_room(struct thread *t)
{
	struct tw_budget_thread *b = &t->record->budget;
	const u32 others = tw_sizes()->buffers - 1;
	b->waits = tw_charge_empty_buffers(t) < (b->waits ? larger(1, others / 2) : 1);
	return !b->waits;
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

/* What fragments that record count until they are left, for the time that the thread has. Bare ones look whether the timer has come. */
static void plan_count(struct thread *t, u64 after)
{
	const u64 per_1024 = t->record->budget.per_1024 ? t->record->budget.per_1024 : first_guess();
	if (!tw_budget_tests())
		return;
	t->count = t->record->bare ? 0 : TW_COUNT_END - smaller(after * 1024 / per_1024 + 1, TW_COUNT_END);
}

static void plan_next(struct thread *t, u64 after)
{
	struct tw_budget_thread *b = &t->record->budget;
	b->look_at = tw_tsc() + ns_to_cycles(after);
	b->due = b->paused = false;
	plan_count(t, after);
	if (is_asynchronous())
		tw_timer_set(&b->stop, t->tid, CLOCK_MONOTONIC, t->record->bare ? 0 : after, 0);
	if (is_asynchronous() || tw_budget_tests())
		tw_timer_set(&b->wake, t->tid, CLOCK_THREAD_CPUTIME_ID, t->record->bare ? after : 0, after);
}

static u64 end_of(u64 period)
{
	return control()->begun + (period + 1) * control()->period;
}

/* How long the thread runs bare from now on. */
static u64 until_next(const struct tw_budget_thread *b, u64 now)
{
	const u64 left = end_of(b->period) - now;
	if (b->waits)
		return CATCH_UP_NS;
	return b->period ? left : smaller(left, control()->period / PARTS);
}

/* Goes over to the other mode. */
static void cross(struct thread *t)
{
	struct tw_budget_thread *b = &t->record->budget;
	tw_record_calls.cross(t);
	t->record->bare = !t->record->bare;
	if (t->record->bare)
		return;
	add(&control()->opened, 1);
	add(&figures(b->period)->used, CROSSING_NS);
	settle(account_of(t), b->period, 0, CROSSING_NS);
}

/* Where much is known, a thread records what follows on something new; else in the first period nothing, and later for half of what there is. */
static u64 draw_for(struct thread *t)
{
	struct tw_budget_thread *b = &t->record->budget;
	const bool wants = b->wants || control()->seeks != TW_SEEKS_NEW;
	const u64 n = wants || b->period ? draw(account_of(t), &b->period, wants ? 1 : 2) : 0;
	b->wants &= !n;
	return n;
}

static bool look(struct thread *t)
{
	struct tw_budget_thread *b = &t->record->budget;
	const u64 now = clock(CLOCK_MONOTONIC), period = (now - control()->begun) / control()->period;
	measure(now);
	charge(t, period);
	b->begun = true;
	grow(account_of(t), period);
	b->granted = has_room(t) ? draw_for(t) : 0;
	if (control()->bare) {
		settle(account_of(t), b->period, b->granted, 0);
		b->granted = 0;
	}
	const bool bare = !b->granted, crosses = bare != t->record->bare;
	if (crosses)
		cross(t);
	if (t->record->told_closed != bare) {
		tw_window_tell(t, !bare, b->waits ? TW_LEFT_OUT_BUFFER : TW_LEFT_OUT_BUDGET);
		if (!bare)
			tw_stack_tell(t);
		b->bytes = written(t);
	}
	plan_next(t, bare ? until_next(b, now) : b->granted);
	return crosses;
}

/* Have its fragments counted so far, or has the timer come, or has the engine taken what the thread had? */
static bool has_counted(const struct thread *t)
{
	const struct tw_budget_thread *b = &t->record->budget;
	return t->count >= TW_COUNT_END || (t->record->bare ? tw_tsc() >= b->look_at : cycles_to_ns(b->engine) > b->granted);
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
	const u64 began = tw_tsc();
	const bool crosses = look(t);
	t->record->budget.engine += tw_tsc() - began;
	return crosses;
}

static void stop_timers(struct thread *t)
{
	tw_timer_end(&t->record->budget.stop, t->tid);
	tw_timer_end(&t->record->budget.wake, t->tid);
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
		tw_timer_set(&b->stop, t->tid, CLOCK_MONOTONIC, REPEAT_NS, 0);
}

void tw_budget_pause(struct thread *t)
{
	struct tw_budget_thread *b = &t->record->budget;
	if (!tw_charge_is_made(t) || t->record->bare || !b->begun || !is_asynchronous())
		return;
	const u64 began = tw_tsc();
	b->paused = true;
	tw_timer_set(&b->stop, t->tid, CLOCK_MONOTONIC, 0, 0);
	b->engine += tw_tsc() - began;
}

void tw_budget_resume(struct thread *t)
{
	struct tw_budget_thread *b = &t->record->budget;
	const u64 began = tw_tsc();
	if (!b->paused || !tw_charge_is_made(t))
		return;
	b->paused = false;
	if (began >= b->look_at)
		return;
	tw_timer_set(&b->stop, t->tid, CLOCK_MONOTONIC, cycles_to_ns(b->look_at - began) + 1, 0);
	b->engine += tw_tsc() - began;
}

bool tw_budget_may_tell(struct thread *t)
{
	const struct account a = account_of(t);
	return !control()->bare ||
	       (__atomic_load_n(a.word, __ATOMIC_RELAXED) & TW_BUDGET_DRAWN) < __atomic_load_n(a.allowance, __ATOMIC_RELAXED);
}

void tw_budget_told(struct thread *t, u64 began, bool told)
{
	const u64 ns = smaller(cycles_to_ns(tw_tsc() - began), MOST_TOLD_NS);
	if (!tw_charge_is_made(t))
		return;
	add(&figures(t->record->budget.period)->used, ns);
	if (told)
		settle(account_of(t), t->record->budget.period, 0, ns);
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
