#include "engine/record/window.h"
#include "engine/record/buffer.h"
#include "engine/record/symbols.h"
#include "engine/record/log.h"
#include "engine/record/instrumentor.h"
#include <linux/time.h>

#define MAX_PLACES 64
#define TICK_NS    4000000  /* of a thread's CPU time */
#define QUOTA      1000000u /* instructions a thread may execute before it comes by */

enum side { START, STOP };

/* Where the mode changes. */
struct places {
	u32 n;
	u64 pc[MAX_PLACES];
};

static struct {
	bool used, open;
	u32 taken;   /* of control.window.due: these have been followed */
	u32 changes; /* of the mode */
	struct places places[2];
	const struct instrumentor *bare, *closed; /* ... of closed mode: the bare one, unless instructions are counted */
} w;

static struct tw_window_control *control(void)
{
	return &tw_engine.control->window;
}

static const struct tw_where *where(enum side side)
{
	return side == START ? &control()->start : &control()->stop;
}

static void add_place(enum side side, u64 pc)
{
	struct places *p = &w.places[side];
	if (p->n < MAX_PLACES)
		p->pc[p->n++] = pc;
	__atomic_fetch_or((u32 *)&control()->found, 1u << side, __ATOMIC_RELAXED);
}

void tw_window_init(const struct instrumentor *bare, const struct instrumentor *counting)
{
	w.bare = tw_recorder.bare = bare;
	tw_recorder.whole = tw_recorder.instr;
	w.used = where(START)->kind || where(STOP)->kind || control()->limited;
	if (!w.used || !tw_recorder.instr->records)
		return;
	w.closed = bare;
	w.open = where(START)->kind == TW_WHERE_NONE;
	if (where(START)->kind == TW_WHERE_COUNT)
		w.closed = counting;
	if (!w.open)
		tw_recorder.instr = w.closed;
	for (enum side s = START; s <= STOP; s++)
		if (where(s)->kind == TW_WHERE_ADDRESS)
			add_place(s, where(s)->value);
}

void tw_window_close_for_good(void)
{
	w.used = w.open = false;
	w.changes++;
	tw_recorder.instr = w.bare;
}

/* ---- functions ---- */

/* Does the name end in ".so"? */
static bool ends_in_so(const char *name)
{
	const u64 n = strlen(name);
	return n > 3 && tw_streq(name + n - 3, ".so");
}

/* Is the file the requested module, by path or by name? The name may omit what follows ".so", and ".so" itself. */
static bool is_module(const char *path, const char *module)
{
	const char *name = tw_base_name(path);
	if (!*module || tw_streq(path, module) || tw_streq(name, module))
		return true;
	if (!tw_starts_with(name, module))
		return false;
	const char *rest = name + strlen(module);
	return tw_starts_with(rest, ".so") || (rest[0] == '.' && ends_in_so(module));
}

static void look_up(enum side side, const char *path, u64 address, u64 length, u64 offset)
{
	const struct tw_where *at = where(side);
	struct tw_symbol found[MAX_PLACES];
	if (at->kind != TW_WHERE_FUNCTION || !is_module(path, at->module))
		return;
	if (!at->function[0])
		found[0].offset = at->value;
	u32 n = at->function[0] ? tw_symbols_find(path, at->function, found, MAX_PLACES) : 1;
	for (u32 i = 0; i < n; i++)
		if (found[i].offset >= offset && found[i].offset - offset < length)
			add_place(side, address + found[i].offset - offset);
}

void tw_window_mapped(const char *path, u64 address, u64 length, u64 offset)
{
	if (!w.used || path[0] != '/')
		return;
	look_up(START, path, address, length, offset);
	look_up(STOP, path, address, length, offset);
}

/* ---- changing ---- */

static bool is_place(const struct places *p, u64 pc)
{
	for (u32 i = 0; i < p->n; i++)
		if (p->pc[i] == pc)
			return true;
	return false;
}

bool tw_window_stops_at(u64 pc)
{
	return w.used && is_place(&w.places[w.open ? STOP : START], pc);
}

static void change(struct thread *t, bool open)
{
	tw_record_calls.use(t, open ? tw_recorder.whole : w.closed);
	w.open = open;
	w.changes++;
	if (open)
		__atomic_fetch_add((u32 *)&control()->opened, 1, __ATOMIC_RELAXED);
}

/* Draws a share of the instructions that may still be executed; returns whether any are left. What was drawn before has been executed. */
static bool draw(struct thread *t)
{
	u64 limit = where(START)->value;
	u64 executed = t->count ? t->count - (TW_COUNT_END - t->record->drawn) : 0;
	u64 done = __atomic_add_fetch((u64 *)&control()->counted, executed, __ATOMIC_RELAXED);
	u64 left = done < limit ? limit - done : 0;
	t->record->drawn = left < QUOTA ? left : QUOTA;
	t->count = TW_COUNT_END - t->record->drawn;
	return left;
}

/* Is the side's time come, or its count reached? Followed once. */
static bool is_due(struct thread *t, enum side side)
{
	u32 bit = 1u << side;
	bool counts = side == START && where(START)->kind == TW_WHERE_COUNT;
	if (w.taken & bit)
		return false;
	if (counts && (!t->count || t->count >= TW_COUNT_END) && !draw(t))
		__atomic_fetch_or((u32 *)&control()->due, bit, __ATOMIC_RELAXED);
	if (!(__atomic_load_n((u32 *)&control()->due, __ATOMIC_RELAXED) & bit))
		return false;
	w.taken |= bit;
	return true;
}

/* Is something waited for that does not show in the code? */
static bool waits(enum side side)
{
	u32 kind = where(side)->kind;
	bool noticed = kind == TW_WHERE_TIME || (side == STOP && (kind == TW_WHERE_COUNT || control()->limited));
	return noticed && !(w.taken >> side & 1);
}

bool tw_window_is_due(void)
{
	return w.used && (__atomic_load_n((u32 *)&control()->due, __ATOMIC_RELAXED) & ~w.taken);
}

void tw_window_tell(struct thread *t, bool open, u32 reason)
{
	struct tw_window e = {open, reason, t->pc, tw_buffer_time(t)};
	tw_log_flush(t);
	t->record->told_closed = !open;
	tw_buffer_event(t, TW_EVENT_WINDOW, &e, sizeof e, NULL, 0);
	if (open)
		tw_buffer_keyframe(t);
}

bool tw_window_steady(const struct thread *t)
{
	return !w.used && t->record->window == w.changes;
}

bool tw_window_look(struct thread *t)
{
	if (w.used) {
		bool start = is_due(t, START), stop = is_due(t, STOP);
		if (start)
			w.closed = w.bare; /* nothing is counted any more */
		if (stop)
			w.places[START].n = 0;
		bool place = tw_window_stops_at(t->pc);
		if (w.open ? stop || place : place || (start && !stop))
			change(t, !w.open);
		const u64 every = waits(START) || waits(STOP) ? TICK_NS : 0;
		tw_timer_every(&t->record->timer, t->tid, CLOCK_THREAD_CPUTIME_ID, every);
		if (t->record->told_closed == w.open)
			tw_window_tell(t, w.open, TW_LEFT_OUT_WINDOW);
	}
	bool changed = t->record->window != w.changes;
	t->record->window = w.changes;
	return changed;
}
