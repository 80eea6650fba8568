#include "analyze/callstack.h"
#include "base/array.h"
#include "recording/recording.h"

#include <stdlib.h>
#include <string.h>

static const struct tw_call_site nobody = {.in = {TW_CALL_NOWHERE, 0}};

/* ---- the table ---- */

static uint32_t hash(const struct tw_call_site *site, struct tw_context to)
{
	uint64_t h = site->pc * 0x9e3779b97f4a7c15ull;
	h = (h ^ (h >> 29) ^ to.function ^ (uint64_t)site->in.function << 32) * 0xbf58476d1ce4e5b9ull;
	h = (h ^ (h >> 32) ^ site->image ^ (uint64_t)to.level << 62 ^ (uint64_t)site->in.level << 63) * 0x94d049bb133111ebull;
	return (uint32_t)(h >> 32);
}

static int same(struct tw_context a, struct tw_context b)
{
	return a.function == b.function && a.level == b.level;
}

static int is_call(const struct tw_call *c, const struct tw_call_site *site, struct tw_context to)
{
	return c->pc == site->pc && c->image == site->image && same(c->in, site->in) && same(c->to, to);
}

/* The slot of a call, or the free one for it. */
static uint32_t *find_slot(const struct tw_call_table *t, const struct tw_call_site *site, struct tw_context to)
{
	uint32_t at = hash(site, to) & (t->n_slots - 1);
	while (t->slots[at] && !is_call(&t->items[t->slots[at] - 1], site, to))
		at = (at + 1) & (t->n_slots - 1);
	return &t->slots[at];
}

static int grow(struct tw_call_table *t)
{
	uint32_t room = t->room ? 2 * t->room : 4096;
	struct tw_call *items = realloc(t->items, room * sizeof *items);
	if (!items)
		return 0;
	t->items = items;
	uint32_t *slots = calloc(2 * (size_t)room, sizeof *slots);
	if (!slots)
		return 0;
	free(t->slots);
	t->slots = slots;
	t->room = room;
	t->n_slots = 2 * room;
	for (uint32_t i = 0; i < t->n; i++) {
		const struct tw_call *c = &items[i];
		struct tw_call_site site = {c->in, c->image, c->pc, NULL};
		*find_slot(t, &site, c->to) = i + 1;
	}
	return 1;
}

/* The number of a call, which is added if necessary; TW_CALL_NOWHERE: no memory. */
static uint32_t find_call(struct tw_call_table *t, const struct tw_call_site *site, struct tw_context to)
{
	if (site->guess && *site->guess < t->n && is_call(&t->items[*site->guess], site, to))
		return *site->guess;
	if (t->n == t->room && !grow(t))
		return TW_CALL_NOWHERE;
	uint32_t *slot = find_slot(t, site, to);
	if (!*slot) {
		t->items[t->n] = (struct tw_call){.in = site->in, .image = site->image, .pc = site->pc, .to = to};
		*slot = ++t->n;
	}
	if (site->guess)
		*site->guess = *slot - 1;
	return *slot - 1;
}

void tw_call_table_free(struct tw_call_table *t)
{
	free(t->items);
	free(t->slots);
	memset(t, 0, sizeof *t);
}

/* ---- frames ---- */

void tw_callstack_init(struct tw_callstack *s, struct tw_call_table *table)
{
	*s = (struct tw_callstack){.table = table};
}

void tw_callstack_free(struct tw_callstack *s)
{
	free(s->frames);
	free(s->active);
	memset(s, 0, sizeof *s);
}

static int has_function(const struct tw_frame *f)
{
	return f->context.function != TW_CALL_NOWHERE;
}

static int make_active(struct tw_callstack *s, uint32_t function)
{
	if (function < s->n_active)
		return 1;
	uint32_t(*active)[2] = tw_array_zeros(s->active, function, &s->n_active, sizeof *active);
	if (active)
		s->active = active;
	return active != NULL;
}

static struct tw_frame *add_frame(struct tw_callstack *s)
{
	struct tw_frame *frames = tw_array_room(s->frames, s->n, &s->room, sizeof *frames);
	if (!frames)
		return NULL;
	s->frames = frames;
	return &s->frames[s->n++];
}

/* A frame at the bottom of a stack; its function will be the first block's. */
static int add_bottom(struct tw_callstack *s, const struct tw_arrival *interrupted)
{
	struct tw_frame *f = add_frame(s);
	if (!f)
		return TW_ERR_MEMORY;
	*f = (struct tw_frame){
	    .slot = UINT64_MAX,
	    .context = {TW_CALL_NOWHERE, 0},
	    .bottom = 1,
	    .handler = interrupted != NULL,
	    .call = TW_CALL_NOWHERE,
	    .site = nobody,
	    .cost = s->cost,
	};
	if (interrupted)
		f->interrupted = *interrupted;
	return 0;
}

/* Adds `by` to the number of active frames of each function on the topmost stack. */
static void count_active(struct tw_callstack *s, uint32_t by)
{
	for (size_t i = s->n; i-- > 0;) {
		const struct tw_frame *f = &s->frames[i];
		if (has_function(f))
			s->active[f->context.function][f->context.level] += by;
		if (f->bottom)
			break;
	}
}

/* Gives a frame its function. */
static int settle(struct tw_callstack *s, struct tw_frame *f, const struct tw_call_place *place)
{
	if (!make_active(s, place->function))
		return TW_ERR_MEMORY;
	uint32_t *active = s->active[place->function];
	f->context = (struct tw_context){place->function, active[0] != 0};
	f->counts = active[f->context.level]++ == 0;
	f->kind = place->kind;
	f->lazy = place->lazy;
	return 0;
}

static int push(struct tw_callstack *s, const struct tw_call_place *place, uint64_t slot, uint64_t back, const struct tw_call_site *site)
{
	struct tw_frame *f = add_frame(s);
	if (!f)
		return TW_ERR_MEMORY;
	/*
	 * Field by field: clearing all of it first takes longer than everything else. `interrupted` is not set: only
	 * handlers' frames have it.
	 */
	f->slot = slot;
	f->back = back;
	f->bottom = f->handler = 0;
	f->call = TW_CALL_NOWHERE;
	f->site = *site;
	f->cost = s->cost;
	return settle(s, f, place);
}

/*
 * Notes in the table how the top frame was reached, and whether by a call. Stubs do not count as called: their cost
 * is charged to the instruction that went there.
 */
static int note_call(struct tw_callstack *s, uint32_t image, uint64_t pc, int is_call)
{
	struct tw_frame *f = &s->frames[s->n - 1];
	if (f->site.in.function == TW_CALL_NOWHERE)
		return 0;
	int stub = f->kind == TW_CALL_STUB;
	f->call = find_call(s->table, &f->site, stub ? nobody.in : f->context);
	if (f->call == TW_CALL_NOWHERE)
		return TW_ERR_MEMORY;
	struct tw_call *c = &s->table->items[f->call];
	if (!c->calls) {
		c->to_image = image;
		c->to_pc = pc;
	}
	c->calls += !stub && is_call;
	f->counts &= !stub;
	return 0;
}

static struct tw_cost difference(const struct tw_cost *a, const struct tw_cost *b)
{
	return (struct tw_cost){
	    .insns = a->insns - b->insns,
	    .refs = a->refs - b->refs,
	    .reads = a->reads - b->reads,
	    .writes = a->writes - b->writes,
	    .conditional = a->conditional - b->conditional,
	    .indirect = a->indirect - b->indirect,
	};
}

static void pop(struct tw_callstack *s)
{
	const struct tw_frame *f = &s->frames[--s->n];
	if (has_function(f))
		s->active[f->context.function][f->context.level]--;
	if (f->call != TW_CALL_NOWHERE && f->counts) {
		struct tw_cost cost = difference(&s->cost, &f->cost);
		tw_cost_add(&s->table->items[f->call].cost, &cost);
	}
	if (f->handler) {
		s->cost = f->cost;
		count_active(s, 1);
	}
}

void tw_callstack_charge(struct tw_callstack *s, const struct tw_cost *since)
{
	struct tw_cost cost = difference(&s->cost, since);
	tw_cost_add(&s->table->items[tw_callstack_top(s)->call].cost, &cost);
}

/* Removes frames whose return addresses are at or below `slot`: the stack pointer is above them now. */
static void unwind(struct tw_callstack *s, uint64_t slot)
{
	while (!tw_callstack_top(s)->bottom && tw_callstack_top(s)->slot <= slot)
		pop(s);
}

static void unwind_to(struct tw_callstack *s, size_t frame)
{
	while (s->n > frame + 1)
		pop(s);
}

/* ---- where control goes ---- */

/* The topmost frame of a function, among those that return together with the top one, or (`any`) among all; s->n: none. */
static size_t find_frame(const struct tw_callstack *s, uint32_t function, int any)
{
	uint64_t slot = tw_callstack_top(s)->slot;
	for (size_t i = s->n; i-- > 0;) {
		const struct tw_frame *f = &s->frames[i];
		if (!any && f->slot != slot)
			break;
		if (f->context.function == function)
			return i;
		if (!any && f->bottom)
			break;
	}
	return s->n;
}

/* A stub or resolver continues at its target: removes it, and makes its caller call the target. */
static int enter_through(struct tw_callstack *s, const struct tw_call_place *place)
{
	struct tw_frame through = *tw_callstack_top(s);
	struct tw_call_place to = *place;
	if (through.lazy && to.kind == TW_CALL_FUNCTION)
		to.kind = TW_CALL_RESOLVER;
	pop(s);
	return push(s, &to, through.slot, through.back, &through.site);
}

/* A jump leads to another function. */
static int enter_by_jump(struct tw_callstack *s, const struct tw_call_place *place, const struct tw_arrival *arrival,
                         const struct tw_call_site *site, int *entered)
{
	const struct tw_frame *top = tw_callstack_top(s);
	*entered = 1;
	if (top->kind != TW_CALL_FUNCTION && top->site.in.function != TW_CALL_NOWHERE)
		return enter_through(s, place);
	size_t frame = find_frame(s, place->function, 0);
	if (frame == s->n && arrival->cause != TW_ARRIVAL_JUMP && !place->entry)
		frame = find_frame(s, place->function, 1);
	if (frame < s->n) {
		*entered = 0;
		unwind_to(s, frame);
		return 0;
	}
	return push(s, place, top->slot, top->back, site);
}

static int enter_by_call(struct tw_callstack *s, const struct tw_call_place *place, const struct tw_arrival *arrival,
                         const struct tw_call_site *site)
{
	uint64_t slot = arrival->slot;
	if (slot == UINT64_MAX)
		slot = tw_callstack_top(s)->slot - 1;
	else
		unwind(s, slot);
	return push(s, place, slot, arrival->back, site);
}

/* Control returned to pc: removes the topmost frame that returns there, and all above it. */
static void unwind_back(struct tw_callstack *s, uint64_t pc)
{
	size_t i = s->n;
	while (i > 0 && !s->frames[i - 1].bottom && s->frames[i - 1].back != pc)
		i--;
	if (i > 0 && !s->frames[i - 1].bottom)
		unwind(s, s->frames[i - 1].slot);
}

/* Does the first function of a thread return to one that was never entered? A return to the start of a function is a jump. */
static int leaves_bottom(const struct tw_callstack *s, const struct tw_call_place *place, const struct tw_arrival *arrival)
{
	const struct tw_frame *top = tw_callstack_top(s);
	const int returned = arrival->cause == TW_ARRIVAL_BACK || arrival->cause == TW_ARRIVAL_RETURN;
	return returned && top->bottom && !top->handler && !place->entry && top->context.function != place->function;
}

static int replace_bottom(struct tw_callstack *s, const struct tw_call_place *place)
{
	struct tw_frame *f = &s->frames[s->n - 1];
	s->active[f->context.function][f->context.level]--;
	f->cost = s->cost;
	return settle(s, f, place);
}

/* With stack switches, a return or indirect jump into the middle of a function continues it: it was called before. */
static int goes_on(const struct tw_call_place *place, const struct tw_arrival *arrival)
{
	return !place->entry && arrival->cause != TW_ARRIVAL_CALL && arrival->cause != TW_ARRIVAL_JUMP;
}

int tw_callstack_enter(struct tw_callstack *s, const struct tw_call_place *place, uint32_t image, uint64_t pc,
                       const struct tw_arrival *arrival, const struct tw_call_site *site)
{
	int entered = 1, error;
	if (!tw_callstack_is_settled(s))
		return settle(s, &s->frames[s->n - 1], place);
	if (arrival->cause == TW_ARRIVAL_RETURN)
		unwind_back(s, pc);
	if (leaves_bottom(s, place, arrival))
		return replace_bottom(s, place);
	if (arrival->cause == TW_ARRIVAL_CALL) {
		error = enter_by_call(s, place, arrival, site);
	} else if (tw_callstack_top(s)->context.function == place->function) {
		return 0;
	} else {
		error = enter_by_jump(s, place, arrival, site, &entered);
	}
	if (!error && entered)
		error = note_call(s, image, pc, !goes_on(place, arrival));
	return error;
}

void tw_callstack_return(struct tw_callstack *s, uint64_t slot)
{
	const size_t n = s->n;
	unwind(s, slot);
	if (s->in_parts && s->n == n && !tw_callstack_top(s)->bottom)
		pop(s);
}

int tw_callstack_signal(struct tw_callstack *s, const struct tw_arrival *interrupted)
{
	count_active(s, (uint32_t)-1);
	return add_bottom(s, interrupted);
}

void tw_callstack_sigreturn(struct tw_callstack *s, struct tw_arrival *interrupted)
{
	size_t i = s->n;
	while (i > 0 && !s->frames[i - 1].handler)
		i--;
	if (!i)
		return;
	*interrupted = s->frames[i - 1].interrupted;
	while (s->n >= i)
		pop(s);
}

/* ---- threads ---- */

int tw_callstack_begin(struct tw_callstack *s, const struct tw_callstack *parent)
{
	memset(&s->cost, 0, sizeof s->cost);
	if (!parent || !parent->n)
		return add_bottom(s, NULL);
	for (size_t i = 0; i < parent->n; i++) {
		struct tw_frame *f = add_frame(s);
		if (!f || (has_function(&parent->frames[i]) && !make_active(s, parent->frames[i].context.function)))
			return TW_ERR_MEMORY;
		*f = parent->frames[i];
		memset(&f->cost, 0, sizeof f->cost);
	}
	count_active(s, 1);
	return 0;
}

void tw_callstack_finish(struct tw_callstack *s)
{
	while (s->n)
		pop(s);
}
