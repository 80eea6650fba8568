#include "channel/switch.h"
#include "channel/machine.h"

#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>
#include <x86intrin.h>

/* ps per record, and per byte: if threads count them themselves; if they go through the channel, to new memory. */
enum { RECORD = 300, COUNTED_BYTE = 25, STORED_BYTE = 120 };

/* Records in 1024 bytes, as long as none have been counted. */
enum { USUAL = 128 };

#define MILLION  1000000u
#define LEAST_NS 50000u    /* between two looks */
#define MOST_NS  1000000u  /* while it is on */
#define NEAR_NS  10000000u /* of CPU time, during which known code is recorded after something new was found */
enum { PARTS = 10 };       /* of the first period: a program may not run for longer */
enum { PROCESSES = 4096 };

/* CPU time of a process, when it was last looked at. */
struct process {
	uint32_t pid, look;
	uint64_t cpu;
};

struct tw_switching {
	uint8_t *base;
	struct tw_control *control;
	struct tw_burst burst;
	uint32_t look;           /* how often it was looked */
	int waits;               /* threads have too few empty buffers */
	struct tw_switched done; /* counted */
	uint64_t written, now;
	uint64_t period, cpu, drawn, allowance; /* of the budget: the period; CPU time in it so far; charged to it; its allowance */
	uint64_t owed;                          /* what the recorder took (displaced.h) when nothing was left */
	uint64_t told[TW_SLOTS];                /* bytes that threads had counted themselves */
	uint64_t found, found_at; /* the last time that known code met something new: by its clock; CPU time of all processes then */
	int is_near;              /* that was not long ago */
	struct process process[PROCESSES];
};

static void set(struct tw_switching *s, int on, enum tw_left_out why)
{
	tw_version_switch_set(s->control, on, why, __rdtsc());
}

struct tw_switching *tw_switching_new(void *base, const struct tw_burst *burst)
{
	struct tw_switching *s = calloc(1, sizeof *s);
	if (!s)
		return NULL;
	s->base = base;
	s->control = base;
	s->burst = *burst;
	s->period = UINT64_MAX;
	const uint32_t start = s->control->window.start.kind;
	const int waits = start == TW_WHERE_TIME || start == TW_WHERE_FUNCTION || s->control->budget.period;
	atomic_store(&s->control->window.shut, start == TW_WHERE_FUNCTION);
	set(s, !waits, s->control->budget.period ? TW_LEFT_OUT_BUDGET : TW_LEFT_OUT_WINDOW);
	return s;
}

void tw_switching_free(struct tw_switching *s)
{
	free(s);
}

/* ---- what they take ---- */

static struct process *find_process(struct tw_switching *s, uint32_t pid)
{
	uint32_t k = pid % PROCESSES;
	for (uint32_t n = 0; n < PROCESSES && s->process[k].pid && s->process[k].pid != pid; n++)
		k = (k + 1) % PROCESSES;
	if (s->process[k].pid != pid)
		s->process[k] = (struct process){.pid = pid};
	return &s->process[k];
}

/* CPU time of the process; 0: it has ended. */
static uint64_t cpu_of(uint32_t pid)
{
	struct timespec now;
	clockid_t clock;
	if (clock_getcpuclockid((pid_t)pid, &clock) || clock_gettime(clock, &now))
		return 0;
	return (uint64_t)now.tv_sec * 1000 * MILLION + (uint64_t)now.tv_nsec;
}

/* The same since it was last looked at. */
static uint64_t take_process(struct tw_switching *s, uint32_t pid)
{
	struct process *p = find_process(s, pid);
	if (p->look == s->look)
		return 0;
	p->look = s->look;
	const uint64_t cpu = cpu_of(pid);
	if (!cpu)
		return 0;
	const uint64_t took = cpu - (cpu < p->cpu ? 0 : p->cpu); /* else it is another of that number */
	p->cpu = cpu;
	return took;
}

static int is_zero(const uint8_t *page)
{
	return !page[0] && !memcmp(page, page + 1, TW_PAGE - 1);
}

/* Pages of the buffer that a thread is writing, in bytes: what it has not reached is zero. */
static uint64_t count_pages(const struct tw_switching *s, uint32_t slot)
{
	const uint32_t b = atomic_load(&s->control->slot[slot].current);
	const uint8_t *data = tw_channel_buffer(s->base, slot, b);
	uint32_t from = 0, to = TW_BUFFER_BYTES / TW_PAGE;
	if (atomic_load(&s->control->slot[slot].buffer[b].state) != TW_BUFFER_EMPTY)
		return 0;
	while (from < to) {
		const uint32_t half = (from + to) / 2;
		if (is_zero(data + half * TW_PAGE))
			to = half;
		else
			from = half + 1;
	}
	return (uint64_t)from * TW_PAGE;
}

/* What threads count themselves is in their slots. */
static uint64_t take_counted(struct tw_switching *s, uint32_t slot)
{
	const struct tw_slot *of = &s->control->slot[slot];
	if (of->counted_bytes)
		s->done = (struct tw_switched){of->counted_bytes, of->counted_records};
	const uint64_t now = s->control->slot[slot].written, before = s->told[slot];
	s->told[slot] = now;
	return now < before ? now : now - before;
}

struct taken {
	uint64_t cpu, bytes; /* ns, since the last look */
	uint32_t slots, full, filling;
};

static void look_at_slot(struct tw_switching *s, uint32_t k, struct taken *t, uint64_t *written)
{
	const struct tw_slot *slot = &s->control->slot[k];
	const uint32_t buffers = s->control->sizes.buffers;
	uint32_t full = 0;
	t->cpu += take_process(s, slot->pid);
	if (s->control->flags & TW_FLAG_TALLY)
		t->bytes += take_counted(s, k);
	else
		*written += count_pages(s, k);
	for (uint32_t b = 0; b < buffers; b++)
		full += atomic_load(&slot->buffer[b].state) == TW_BUFFER_FULL;
	t->full += full + 1 >= buffers;
	t->filling += full > buffers / 2;
}

static struct taken take(struct tw_switching *s, const struct tw_switched *done)
{
	struct taken t = {0};
	uint64_t written = done->bytes;
	if (done->bytes)
		s->done = *done;
	s->look++;
	for (uint32_t k = 0; k < tw_channel_slots_used(s->control); k++)
		if (atomic_load(&s->control->slot[k].state) == TW_SLOT_ACTIVE)
			look_at_slot(s, k, &t, &written);
	if (!(s->control->flags & TW_FLAG_TALLY)) {
		t.bytes = written > s->written ? written - s->written : 0;
		s->written = written > s->written ? written : s->written;
	}
	return t;
}

/* ---- the budget ---- */

/* A share of B relative to the time without instrumentation is B / (1 + B) of the time with it. */
static uint64_t share_of(const struct tw_budget_control *b, uint64_t cpu)
{
	return b->is_share ? cpu / 1000 * b->budget / (MILLION + b->budget) * 1000 : b->budget;
}

static unsigned bucket_of(uint64_t ns)
{
	unsigned k = 0;
	for (uint64_t us = ns / 1000; us && k + 1 < TW_BUDGET_BUCKETS; us >>= 1)
		k++;
	return k;
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* What is charged beyond what there was is taken from the next period. */
static void turn_over(struct tw_switching *s, uint64_t period)
{
	struct tw_budget_control *b = &s->control->budget;
	const uint64_t over = s->drawn > s->allowance ? s->drawn - s->allowance : 0, least = b->period / 200;
	if (s->drawn) {
		atomic_fetch_add(&b->accounts, 1);
		if (over)
			atomic_fetch_add(&b->over[bucket_of(over)], 1);
		if (over > atomic_load(&b->largest)) {
			atomic_store(&b->largest, over);
			atomic_store(&b->largest_in, s->period);
		}
	}
	const uint64_t share = share_of(b, period ? (s->cpu > least ? s->cpu : least) : b->period / PARTS), paid = smaller(s->owed, share);
	s->allowance = share - paid;
	s->owed -= paid;
	s->period = period;
	s->drawn = over;
	s->cpu = 0;
}

/* ns. */
static uint64_t cost_of(const struct tw_switching *s, uint64_t bytes)
{
	const double per_byte = s->done.bytes ? (double)s->done.records / (double)s->done.bytes : USUAL / 1024.0;
	const int byte = s->control->flags & TW_FLAG_TALLY ? COUNTED_BYTE : STORED_BYTE;
	return (uint64_t)((double)bytes * (RECORD * per_byte + byte) / 1000);
}

static void charge(struct tw_switching *s, const struct taken *t, int was_on)
{
	struct tw_budget_control *b = &s->control->budget;
	struct tw_budget_period *f = &b->of[s->period % TW_BUDGET_PERIODS];
	const uint64_t used = smaller(cost_of(s, t->bytes), t->cpu), displaced = t->bytes * atomic_load(&b->displaced_per_1024) / 1024;
	atomic_fetch_add(&b->displaced, displaced);
	atomic_fetch_add(&f->cpu, t->cpu + displaced);
	atomic_fetch_add(&f->used, used + displaced);
	atomic_fetch_add(&f->enabled, was_on ? t->cpu : 0);
	s->cpu += t->cpu + displaced;
	s->drawn += used;
	const uint64_t now = smaller(displaced, s->allowance - smaller(s->drawn, s->allowance));
	s->drawn += now;
	s->owed += displaced - now;
	if (!s->period && share_of(b, s->cpu) > s->allowance)
		s->allowance = share_of(b, s->cpu);
}

/* When the rest of the budget will be used up, at the rate since the last look. */
static uint64_t time_left(const struct tw_switching *s, uint64_t before, uint64_t took)
{
	const uint64_t used = s->drawn - before, left = s->allowance - s->drawn;
	const double ns = used ? (double)left / (double)used * (double)took : MOST_NS;
	return ns > MOST_NS ? MOST_NS : ns < LEAST_NS ? LEAST_NS : (uint64_t)ns;
}

static void look_at_budget(struct tw_switching *s, const struct tw_switched *done, uint64_t *next)
{
	struct tw_budget_control *b = &s->control->budget;
	const uint64_t now = tw_machine_ns(), passed = now - b->begun, period = passed / b->period, took = now - s->now;
	const int was_on = atomic_load(&tw_channel_switch(s->control)->on) != 0;
	if (s->period == UINT64_MAX)
		turn_over(s, period);
	if (was_on && took < LEAST_NS && period == s->period) {
		*next = LEAST_NS;
		return;
	}
	const struct taken t = take(s, done);
	const uint64_t before = s->drawn;
	charge(s, &t, was_on);
	const uint64_t wait = s->drawn < s->allowance ? time_left(s, before, took) : 0;
	if (period != s->period)
		turn_over(s, period);
	s->now = now;
	s->waits = s->waits ? t.filling != 0 : t.full != 0;
	const int on = s->drawn < s->allowance && !s->waits;
	if (on && !was_on)
		atomic_fetch_add(&b->opened, 1);
	if (!on && was_on)
		atomic_fetch_add(s->waits ? &b->behind : &b->spent, 1);
	set(s, on, s->waits ? TW_LEFT_OUT_BUFFER : TW_LEFT_OUT_BUDGET);
	const uint64_t end = (period + 1) * b->period - passed, off = period ? end : b->period / PARTS;
	const uint64_t until = !on ? (s->waits && off > MOST_NS ? MOST_NS : off) : was_on && wait ? wait : LEAST_NS;
	*next = until < *next ? until : *next;
}

/* ---- what is known ---- */

static int is_seen_before(const struct tw_switching *s, uint32_t slot)
{
	for (uint32_t k = 0; k < slot; k++)
		if (s->control->slot[k].pid == s->control->slot[slot].pid && atomic_load(&s->control->slot[k].state) == TW_SLOT_ACTIVE)
			return 1;
	return 0;
}

/* CPU time of all processes that are there now. */
static uint64_t cpu_of_all(const struct tw_switching *s)
{
	uint64_t cpu = 0;
	for (uint32_t k = 0; k < tw_channel_slots_used(s->control); k++)
		if (atomic_load(&s->control->slot[k].state) == TW_SLOT_ACTIVE && !is_seen_before(s, k))
			cpu += cpu_of(s->control->slot[k].pid);
	return cpu;
}

/* It is left out again some time after something new was found. */
static void look_at_known(struct tw_switching *s, uint64_t *next)
{
	struct tw_version_switch *w = tw_channel_switch(s->control);
	const uint64_t found = atomic_load(&w->found);
	s->is_near |= found != s->found;
	const uint64_t cpu = s->is_near ? cpu_of_all(s) : 0;
	if (found != s->found || cpu < s->found_at)
		s->found_at = cpu;
	s->found = found;
	s->is_near = s->is_near && cpu - s->found_at < NEAR_NS;
	atomic_store(&w->known, s->is_near ? atomic_load(&w->on) : 0);
	if (s->is_near && *next > NEAR_NS)
		*next = NEAR_NS;
}

/* ---- all of it ---- */

static void look_at_switch(struct tw_switching *s, uint64_t passed, const struct tw_switched *done, uint64_t *next)
{
	const struct tw_window_control *w = &s->control->window;
	const uint64_t opened = w->start.kind == TW_WHERE_TIME ? w->start.value : 0;
	if (s->control->budget.period) {
		look_at_budget(s, done, next);
		return;
	}
	const int is_time = passed >= opened && !(atomic_load(&w->due) & 2) && tw_burst_is_on(&s->burst, passed - opened, next);
	uint32_t shut;
	do { /* a program may come by one of the functions meanwhile */
		shut = atomic_load(&w->shut);
		set(s, is_time && !shut, TW_LEFT_OUT_WINDOW);
	} while (atomic_load(&w->shut) != shut);
}

void tw_switching_look(struct tw_switching *s, uint64_t passed, const struct tw_switched *done, uint64_t *next)
{
	look_at_switch(s, passed, done, next);
	if (s->control->flags & TW_FLAG_LEARN)
		look_at_known(s, next);
}
