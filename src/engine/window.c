#include "engine/window.h"
#include "engine/buffer.h"
#include "engine/fragment.h"
#include "engine/symbols.h"
#include "engine/x86_64/glue.h"
#include "instrument/instrumentor.h"
#include <asm/unistd.h>
#include <linux/time.h>

#define MAX_PLACES 64
#define TICK_NS    4000000 /* of a thread's CPU time */
#define TICK_MAGIC 0x77696e646f77ll
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
	const struct instrumentor *closed; /* of closed mode */
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

void tw_window_init(void)
{
	tw_engine.recorder = tw_engine.instr;
	w.used = where(START)->kind || where(STOP)->kind;
	if (!w.used || !tw_engine.instr->records)
		return;
	w.closed = &tw_instrument_none;
	w.open = where(START)->kind == TW_WHERE_NONE;
	if (where(START)->kind == TW_WHERE_COUNT)
		w.closed = &tw_instrument_count;
	if (!w.open)
		tw_engine.instr = w.closed;
	for (enum side s = START; s <= STOP; s++)
		if (where(s)->kind == TW_WHERE_ADDRESS)
			add_place(s, where(s)->value);
}

void tw_window_close_for_good(void)
{
	w.used = w.open = false;
	w.changes++;
	tw_engine.instr = &tw_instrument_none;
}

/* ---- functions ---- */

/* Is the file the module that is asked for, by its path or its name, which may leave out ".so" and what follows? */
static bool is_module(const char *path, const char *module)
{
	const char *name = tw_base_name(path);
	if (!*module || tw_streq(path, module) || tw_streq(name, module))
		return true;
	return tw_starts_with(name, module) && tw_starts_with(name + strlen(module), ".so");
}

static void look_up(enum side side, const char *path, u64 address, u64 length, u64 offset)
{
	const struct tw_where *at = where(side);
	u64 found[MAX_PLACES];
	if (at->kind != TW_WHERE_FUNCTION || !is_module(path, at->module))
		return;
	u32 n = tw_symbols_find(path, at->function, found, MAX_PLACES);
	for (u32 i = 0; i < n; i++)
		if (found[i] >= offset && found[i] - offset < length)
			add_place(side, address + found[i] - offset);
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

bool tw_window_keeps(const struct thread *t, u16 event)
{
	bool detail = event == TW_EVENT_SYSCALL || event == TW_EVENT_SIGNAL || event == TW_EVENT_SIGRETURN || event == TW_EVENT_SEGBASE ||
	              event == TW_EVENT_UNMAP;
	return !detail || !t->told_closed;
}

static void change(struct thread *t, bool open)
{
	tw_fragment_switch(t, open ? tw_engine.recorder : w.closed);
	w.open = open;
	w.changes++;
	if (open)
		__atomic_fetch_add((u32 *)&control()->opened, 1, __ATOMIC_RELAXED);
}

/* Draws a share of the instructions that may still be executed, and returns whether there were any. What was drawn before has been executed. */
static bool draw(struct thread *t)
{
	u64 limit = where(START)->value;
	u64 executed = t->count ? t->count - (TW_COUNT_END - t->drawn) : 0;
	u64 done = __atomic_add_fetch((u64 *)&control()->counted, executed, __ATOMIC_RELAXED);
	u64 left = done < limit ? limit - done : 0;
	t->drawn = left < QUOTA ? left : QUOTA;
	t->count = TW_COUNT_END - t->drawn;
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

static void set_timer(struct thread *t, bool wanted)
{
	struct sigevent e;
	struct itimerspec every = {{0, TICK_NS}, {0, TICK_NS}};
	if (wanted == (t->timer_tid == t->tid))
		return;
	if (!wanted) {
		tw_sys(__NR_timer_delete, t->timer, 0, 0);
		t->timer_tid = 0;
		return;
	}
	memset(&e, 0, sizeof e);
	e.sigev_notify = SIGEV_SIGNAL | SIGEV_THREAD_ID;
	e.sigev_signo = SIGTRAP;
	e.sigev_value.sival_ptr = (void *)TICK_MAGIC;
	e._sigev_un._tid = (int)t->tid;
	t->timer_tid = t->tid;
	if (!tw_failed(tw_sys(__NR_timer_create, CLOCK_THREAD_CPUTIME_ID, &e, &t->timer)))
		tw_sys4(__NR_timer_settime, t->timer, 0, &every, NULL);
}

/* Is something waited for that does not show in the code? */
static bool waits(enum side side)
{
	u32 kind = where(side)->kind;
	bool noticed = kind == TW_WHERE_TIME || (kind == TW_WHERE_COUNT && side == STOP);
	return noticed && !(w.taken >> side & 1);
}

bool tw_window_is_tick(int signo, const siginfo_t *info)
{
	return signo == SIGTRAP && info->si_code == SI_TIMER && info->si_ptr == (void *)TICK_MAGIC;
}

bool tw_window_is_due(void)
{
	return w.used && (__atomic_load_n((u32 *)&control()->due, __ATOMIC_RELAXED) & ~w.taken);
}

static void tell(struct thread *t)
{
	struct tw_window e = {w.open, 0, t->pc, tw_buffer_time(t)};
	tw_call_flush(t);
	t->told_closed = !w.open;
	tw_buffer_event(t, TW_EVENT_WINDOW, &e, sizeof e, NULL, 0);
	if (w.open)
		tw_buffer_keyframe(t);
}

bool tw_window_steady(const struct thread *t)
{
	return !w.used && t->window == w.changes;
}

bool tw_window_look(struct thread *t)
{
	if (w.used) {
		bool start = is_due(t, START), stop = is_due(t, STOP);
		if (start)
			w.closed = &tw_instrument_none; /* nothing is counted any more */
		if (stop)
			w.places[START].n = 0;
		bool place = tw_window_stops_at(t->pc);
		if (w.open ? stop || place : place || (start && !stop))
			change(t, !w.open);
		set_timer(t, waits(START) || waits(STOP));
		if (t->told_closed == w.open)
			tell(t);
	}
	bool changed = t->window != w.changes;
	t->window = w.changes;
	return changed;
}
