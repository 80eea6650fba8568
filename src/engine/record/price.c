#include "engine/record/price.h"
#include "engine/record/instrumentor.h"

#define MOST_PER_1024 131072u  /* ns for 1024 bytes of records, in the program's code */
#define ENOUGH        500u     /* executions of a point that tell how fast the program goes */
#define LEAST_NS      2000000u /* ... in so long */
#define WARM_BYTES    (3u << 20)

static u64 smaller(u64 a, u64 b)
{
	return a < b ? a : b;
}

u64 tw_price_written(const struct thread *t)
{
	const struct tw_pen here = {t->record->buffer, t->bufptr, 0, 0};
	const struct tw_pen *pen = t->record->telling ? &t->record->other : &here;
	return t->record->budget.past + smaller(pen->bufptr - (u64)pen->buffer, TW_BUFFER_BYTES);
}

/* Estimated ns that bare code would have needed for what was recorded; 0: the points have not come often enough. */
static u64 bare_time(const struct tw_budget_thread *b)
{
	const struct tw_pace *bare = &b->bare_pace, *record = &b->record_pace;
	u64 sum = 0, n = 0;
	for (u32 k = 0; k < TW_PACE_POINTS; k++) {
		if (record->n[k] < ENOUGH || bare->n[k] < ENOUGH || record->ns < LEAST_NS || bare->ns < LEAST_NS)
			continue;
		sum += bare->ns / 1024 * record->n[k] / bare->n[k] * 1024;
		n++;
	}
	return n ? sum / n : 0;
}

/*
 * The points have changed, and code with points is made again. Earlier measurements are kept: a frequent point is
 * counted for a few ms only, too short for more than a guess.
 */
static void begin_pace(struct thread *t)
{
	struct tw_budget_thread *b = &t->record->budget;
	const u64 bare = bare_time(b);
	if (bare) {
		b->cost_before += (i64)(b->record_pace.ns - bare);
		b->bytes_before += b->record_pace.bytes;
	}
	b->points = tw_recorder.points;
	b->warm = tw_price_written(t) + WARM_BYTES;
	b->bare_pace = b->record_pace = (struct tw_pace){0};
}

static void forget(struct tw_pace *p)
{
	p->ns -= p->ns / 16;
	p->bytes -= p->bytes / 16;
	for (u32 k = 0; k < TW_PACE_POINTS; k++)
		p->n[k] -= p->n[k] / 16;
}

/* Updates the cost of a byte of records from what is known so far. */
static void weigh(struct tw_budget_thread *b)
{
	const u64 bare = bare_time(b), kib = (b->bytes_before + b->record_pace.bytes) / 1024;
	const i64 cost = b->cost_before + (i64)(b->record_pace.ns - bare);
	if (bare && kib)
		b->per_1024 = smaller(cost > 0 ? (u64)cost / kib : 0, MOST_PER_1024) + 1;
}

void tw_price_note(struct thread *t, u64 ns)
{
	struct tw_budget_thread *b = &t->record->budget;
	struct tw_pace *p = t->record->bare ? &b->bare_pace : &b->record_pace;
	const bool counts = t->record->bare || tw_price_written(t) > b->warm;
	if (b->points != tw_recorder.points)
		begin_pace(t);
	else if (counts)
		*p = (struct tw_pace){p->ns + ns, p->bytes + tw_price_written(t) - b->bytes, {p->n[0], p->n[1]}};
	for (u32 k = 0; k < TW_PACE_POINTS; k++) {
		p->n[k] += counts ? t->pace[k] - b->pace[k] : 0;
		b->pace[k] = t->pace[k];
	}
	weigh(b);
}

/* ns for 1024 bytes of records until measured: found on one machine, with gzip. */
static u64 first_guess(void)
{
	switch (tw_recorder.whole->format) {
	case TW_FORMAT_CF_BIT:
		return 8192;
	case TW_FORMAT_CALL:
		return 65536;
	case TW_FORMAT_DEP_C:
	case TW_FORMAT_DEP_S:
	case TW_FORMAT_BB_PC:
	case TW_FORMAT_DEP06_C:
		return 512;
	default:
		return tw_recorder.verify ? 65536 : 256;
	}
}

void tw_price_forget(struct thread *t)
{
	forget(&t->record->budget.bare_pace);
	forget(&t->record->budget.record_pace);
	t->record->budget.cost_before -= t->record->budget.cost_before / 16;
	t->record->budget.bytes_before -= t->record->budget.bytes_before / 16;
}

u64 tw_price_per_1024(const struct thread *t)
{
	const u64 known = t->record->budget.per_1024;
	return known ? known : first_guess();
}

u64 tw_price_cost(const struct thread *t, u64 engine, u64 in_code)
{
	return engine + smaller(in_code, (tw_price_written(t) - t->record->budget.bytes) * tw_price_per_1024(t) / 1024);
}
