#include "engine/record/account.h"

#define MILLION      1000000u
#define PERIOD_SHIFT 40
#define PART_NS      200000000u /* length of a period's parts; shorter ones would be bursts that do not pay */
#define PARTS        10u        /* the first period has at least so many parts: a program may be short */
#define LEAST_NS     20000u     /* it does not pay to record for less */
#define PAYS         16u        /* ... nor for a smaller fraction of the allowance: the next period offers it again */
#define ENOUGH_NS    10000000u  /* for so long it does */

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

struct tw_account tw_account_of(struct thread *t)
{
	struct tw_budget_control *c = control();
	struct tw_budget_thread *b = &t->record->budget;
	if (c->per_thread)
		return (struct tw_account){&b->account, &b->allowance, &b->outstanding, &b->all_cpu, &b->cpu_then, &b->owed};
	return (struct tw_account){(u64 *)&c->account, (u64 *)&c->allowance, (u64 *)&c->granted,
	                           (u64 *)&c->cpu,     (u64 *)&c->cpu_then,  (u64 *)&c->owed};
}

struct tw_budget_period *tw_account_figures(u64 period)
{
	return &control()->of[period % TW_BUDGET_PERIODS];
}

static u64 load(const _Atomic uint64_t *at)
{
	return __atomic_load_n((const u64 *)at, __ATOMIC_RELAXED);
}

void tw_account_add(_Atomic uint64_t *at, u64 n)
{
	__atomic_fetch_add((u64 *)at, n, __ATOMIC_RELAXED);
}

/* If B is the budget relative to uninstrumented time, its share of instrumented time is B / (1 + B). */
static u64 share_of(u64 cpu)
{
	const u64 budget = control()->budget;
	return cpu / 1000 * budget / (MILLION + budget) * 1000;
}

/*
 * The allowance of the period that begins: a share of the CPU time used since the last one began. It is never close
 * to zero, or a program that has slept would not be recorded when it wakes. In the first period there is a part of
 * it, which grows with time (grow); or all of it in learning mode, since most new code comes at the start of
 * programs. `left`: what is left of the last period, in which the program may have waited for a processor or slept.
 * It is kept, but no period has more than the share of a whole one.
 */
static u64 new_allowance(struct tw_account a, bool first, u64 left)
{
	const struct tw_budget_control *c = control();
	const u64 cpu = __atomic_load_n(a.cpu, __ATOMIC_RELAXED), then = __atomic_exchange_n(a.cpu_then, cpu, __ATOMIC_RELAXED);
	const u64 used = !first ? larger(cpu - then, c->period / 200) : learns() ? c->period : c->period / PARTS;
	const u64 share = share_of(used), most = larger(share, share_of(c->period));
	return c->is_share ? smaller(share + left, most) : c->budget;
}

static u32 bucket_of(u64 ns)
{
	u32 k = 0;
	for (u64 us = ns / 1000; us && k + 1 < TW_BUDGET_BUCKETS; us >>= 1)
		k++;
	return k;
}

/* A period of an account is over; this much more was charged than its allowance. */
static void note_overshoot(u64 period, u64 over)
{
	struct tw_budget_control *c = control();
	u64 largest = load(&c->largest);
	tw_account_add(&c->accounts, 1);
	if (over)
		tw_account_add(&c->over[bucket_of(over)], 1);
	while (over > largest) {
		if (!__atomic_compare_exchange_n((u64 *)&c->largest, &largest, over, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
			continue;
		__atomic_store_n((u64 *)&c->largest_in, period, __ATOMIC_RELAXED);
		return;
	}
}

/* Moves the account to this period. What was overdrawn in the last counts as drawn. */
static void turn_over(struct tw_account a, u64 word, u64 period)
{
	const u64 allowance = __atomic_load_n(a.allowance, __ATOMIC_RELAXED), drawn = word & TW_BUDGET_DRAWN;
	const u64 over = drawn > allowance ? drawn - allowance : 0, left = word && drawn < allowance ? allowance - drawn : 0;
	const u64 next = period << PERIOD_SHIFT | over;
	if (!__atomic_compare_exchange_n(a.word, &word, next, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		return;
	__atomic_store_n(a.granted, 0, __ATOMIC_RELAXED);
	/* The first period may have begun before the program did: what ran in it does not predict the second. */
	__atomic_store_n(a.allowance, new_allowance(a, !word || (learns() && period == 2), left), __ATOMIC_RELAXED);
	if (word)
		note_overshoot((word >> PERIOD_SHIFT) - 1, over);
}

/* Period numbers in accounts start at 1 and have 24 bits. */
static i32 periods_behind(u64 word, u64 period)
{
	return (i32)((u32)(period + 1) << 8) / 256 - (i32)((u32)(word >> PERIOD_SHIFT) << 8) / 256;
}

static bool is_of(u64 word, u64 period)
{
	return !periods_behind(word, period);
}

/* In the very first period, the allowance is a share of what has been used so far; in learning mode all of it is there at once. */
static bool grows(u64 period)
{
	return !period && control()->is_share && !learns();
}

static void grow(struct tw_account a)
{
	const u64 allowance = __atomic_load_n(a.allowance, __ATOMIC_RELAXED), now = share_of(__atomic_load_n(a.cpu, __ATOMIC_RELAXED));
	if (control()->is_share && now > allowance)
		__atomic_store_n(a.allowance, now, __ATOMIC_RELAXED);
}

void tw_account_owe(struct tw_account a, u64 used)
{
	u64 word = __atomic_load_n(a.word, __ATOMIC_RELAXED), now;
	do {
		const u64 allowance = __atomic_load_n(a.allowance, __ATOMIC_RELAXED), drawn = word & TW_BUDGET_DRAWN;
		now = smaller(used, allowance - smaller(drawn, allowance));
	} while (!__atomic_compare_exchange_n(a.word, &word, word + now, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	__atomic_fetch_add(a.owed, used - now, __ATOMIC_RELAXED);
}

void tw_account_look(struct tw_account a, u64 period)
{
	const u64 word = __atomic_load_n(a.word, __ATOMIC_RELAXED);
	if (!word || periods_behind(word, period) > 0)
		turn_over(a, word, period + 1);
	if (!period)
		grow(a);
	if (__atomic_load_n(a.owed, __ATOMIC_RELAXED))
		tw_account_owe(a, __atomic_exchange_n(a.owed, 0, __ATOMIC_RELAXED));
}

/* The least to draw from an allowance: for less it does not pay to record, or to wait. */
static u64 least_drawn(u64 allowance)
{
	return larger(smaller(allowance / PAYS, ENOUGH_NS), LEAST_NS);
}

static u64 part_ns(u64 period)
{
	return period ? PART_NS : smaller(control()->period / PARTS, PART_NS);
}

/* The share of the allowance for the first `ns` of a period. */
static u64 share_until(u64 allowance, u64 ns)
{
	return smaller(allowance, allowance / 1024 * (ns * 1024 / control()->period));
}

static u64 passed_ns(u64 period, u64 now)
{
	const u64 begins = control()->begun + period * control()->period;
	return now - smaller(begins, now); /* another may have come to a period that begins only now */
}

/*
 * What may be drawn so far: the share of the part of the period that has passed, and of the next part. The first
 * period's allowance grows by itself.
 */
static u64 available(u64 allowance, u64 period, u64 now)
{
	return period && !learns() ? share_until(allowance, passed_ns(period, now) + PART_NS) : allowance;
}

u64 tw_account_more_after(u64 period, u64 now)
{
	const u64 left = control()->begun + (period + 1) * control()->period - now;
	return period && learns() ? left : smaller(left, part_ns(period));
}

u64 tw_account_draw(struct tw_account a, u64 *period, u32 part, u64 now)
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
		const u64 there = available(allowance, *period, now) / part, left = drawn < there ? there - drawn : 0,
		          least = least_drawn(allowance);
		const u64 n = left < 2 * least ? left : left / 2;
		if (left < least)
			return 0;
		if (!__atomic_compare_exchange_n(a.word, &word, word + n, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
			continue;
		__atomic_fetch_add(a.granted, n, __ATOMIC_RELAXED);
		return n;
	}
}

/* `used` of what was drawn in that period has been used: the rest is given back; what exceeds it is drawn too. */
void tw_account_settle(struct tw_account a, u64 period, u64 drawn, u64 used)
{
	u64 word = __atomic_load_n(a.word, __ATOMIC_RELAXED);
	for (;;) {
		if (!is_of(word, period) && used <= drawn)
			return;
		const u64 next = used > drawn ? word + (used - drawn) : word - (drawn - used);
		if (!__atomic_compare_exchange_n(a.word, &word, next, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
			continue;
		if (is_of(word, period) && drawn)
			__atomic_fetch_sub(a.granted, smaller(drawn, __atomic_load_n(a.granted, __ATOMIC_RELAXED)), __ATOMIC_RELAXED);
		return;
	}
}

u64 tw_account_draw_rest(struct tw_account a, u64 period, u64 now)
{
	u64 word = __atomic_load_n(a.word, __ATOMIC_RELAXED);
	for (;;) {
		const u64 allowance = __atomic_load_n(a.allowance, __ATOMIC_RELAXED);
		const u64 share = grows(period) ? allowance : share_until(allowance, passed_ns(period, now));
		const u64 drawn = word & TW_BUDGET_DRAWN, used = drawn - smaller(drawn, __atomic_load_n(a.granted, __ATOMIC_RELAXED));
		const u64 left = drawn < allowance ? allowance - drawn : 0, n = smaller(used < share ? share - used : 0, left);
		if (!is_of(word, period) || n < least_drawn(allowance))
			return 0;
		if (!__atomic_compare_exchange_n(a.word, &word, word + n, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
			continue;
		__atomic_fetch_add(a.granted, n, __ATOMIC_RELAXED);
		return n;
	}
}

bool tw_account_has(struct tw_account a)
{
	return (__atomic_load_n(a.word, __ATOMIC_RELAXED) & TW_BUDGET_DRAWN) < __atomic_load_n(a.allowance, __ATOMIC_RELAXED);
}
