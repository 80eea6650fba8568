#include "analyzers/cct_steps.h"
#include "base/array.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_ROOM = 4096 };

/* ---- tables ---- */

static uint32_t place_hash(uint32_t node, uint32_t stretch, uint32_t before)
{
	const uint64_t h = (((uint64_t)node << 32 | stretch) * 0x9e3779b97f4a7c15ull ^ before) * 0xc2b2ae3d27d4eb4full;
	return (uint32_t)(h >> 32);
}

static struct tw_cct_step_place *place_of(struct tw_cct_step_place *places, uint32_t room, uint32_t node, uint32_t stretch, uint32_t before)
{
	for (uint32_t i = place_hash(node, stretch, before);; i++) {
		struct tw_cct_step_place *at = &places[i & (room - 1)];
		if (!at->step || (at->node == node && at->stretch == stretch && at->before == before))
			return at;
	}
}

static int grow_places(struct tw_cct_steps *s)
{
	const uint32_t room = s->places_room ? 2 * s->places_room : FIRST_ROOM;
	struct tw_cct_step_place *places = room ? tw_array_table(room, sizeof *places) : NULL;
	if (!places)
		return TW_ERR_MEMORY;
	for (uint32_t i = 0; i < s->places_room; i++) {
		const struct tw_cct_step_place *p = &s->places[i];
		if (p->step)
			*place_of(places, room, p->node, p->stretch, p->before) = *p;
	}
	free(s->places);
	s->places = places;
	s->places_room = room;
	return 0;
}

static struct tw_cct_link *link_of(struct tw_cct_link *links, uint32_t room, uint32_t from, const struct tw_stretch *next)
{
	const uint64_t h = ((uintptr_t)next ^ (uint64_t)from << 32) * 0x9e3779b97f4a7c15ull;
	for (uint32_t i = (uint32_t)(h >> 32);; i++) {
		struct tw_cct_link *at = &links[i & (room - 1)];
		if (!at->to || (at->from == from && at->next == next))
			return at;
	}
}

static int grow_links(struct tw_cct_steps *s)
{
	const uint32_t room = s->links_room ? 2 * s->links_room : FIRST_ROOM;
	struct tw_cct_link *links = room ? tw_array_table(room, sizeof *links) : NULL;
	if (!links)
		return TW_ERR_MEMORY;
	for (uint32_t i = 0; i < s->links_room; i++)
		if (s->links[i].to)
			*link_of(links, room, s->links[i].from, s->links[i].next) = s->links[i];
	free(s->links);
	s->links = links;
	s->links_room = room;
	return 0;
}

/* ---- adding ---- */

uint32_t tw_cct_steps_add(struct tw_cct_steps *s, const struct tw_cct_step *step, const struct tw_cct_turn *turns, uint32_t before)
{
	if (step->begins != TW_CCT_GOES_ON)
		before = step->begins == TW_CCT_CALLED ? TW_SEGMENT_SLOW : TW_SEGMENT_NONE;
	if (2 * s->n >= s->places_room && grow_places(s))
		return TW_CCT_STEP_NONE;
	struct tw_cct_step_place *place = place_of(s->places, s->places_room, step->node, step->stretch, before);
	if (place->step) {
		const struct tw_cct_step *is = &s->items[place->step - 1];
		const int is_same = is->n_turns == step->n_turns && !memcmp(s->turns + is->turns, turns, step->n_turns * sizeof *turns);
		return is_same ? place->step - 1 : TW_CCT_STEP_NONE;
	}
	struct tw_cct_step *items = tw_array_room(s->items, s->n, &s->room, sizeof *items);
	s->items = items ? items : s->items;
	struct tw_cct_turn *all = tw_array_room(s->turns, s->n_turns + step->n_turns, &s->turns_room, sizeof *all);
	s->turns = all ? all : s->turns;
	if (!items || !all || s->n >= UINT32_MAX / 4 || s->n_turns >= UINT32_MAX / 4)
		return TW_CCT_STEP_NONE;
	items[s->n] = *step;
	items[s->n].turns = (uint32_t)s->n_turns;
	memcpy(all + s->n_turns, turns, step->n_turns * sizeof *turns);
	s->n_turns += step->n_turns;
	*place = (struct tw_cct_step_place){step->node, step->stretch, before, (uint32_t)++s->n};
	return (uint32_t)s->n - 1;
}

/* The step that came next becomes the first to be looked at. */
static void bring_forward(struct tw_cct_step *from, const struct tw_stretch *stretch, uint32_t to)
{
	from->next[1] = from->next[0];
	from->to[1] = from->to[0];
	from->next[0] = stretch;
	from->to[0] = to;
}

static int add_link(struct tw_cct_steps *s, uint32_t from, const struct tw_stretch *stretch, uint32_t to)
{
	if (2 * (size_t)s->n_links >= s->links_room && grow_links(s))
		return TW_ERR_MEMORY;
	struct tw_cct_link *link = link_of(s->links, s->links_room, from, stretch);
	s->n_links += !link->to;
	*link = (struct tw_cct_link){stretch, from, to + 1};
	return 0;
}

int tw_cct_steps_link(struct tw_cct_steps *s, uint32_t from, const struct tw_stretch *stretch, uint32_t to)
{
	struct tw_cct_step *f = &s->items[from];
	int error = 0;
	for (int i = 0; i < 2; i++) {
		if (f->next[i] != stretch)
			continue;
		f->to[i] = to;
		return f->has_more ? add_link(s, from, stretch, to) : 0;
	}
	if (f->next[1] && !f->has_more) {
		f->has_more = 1;
		for (int i = 0; i < 2 && !error; i++)
			error = add_link(s, from, f->next[i], f->to[i]);
	}
	if (f->has_more && !error)
		error = add_link(s, from, stretch, to);
	bring_forward(f, stretch, to);
	return error;
}

/* ---- following ---- */

/* The step to which a stretch leads if neither of the last two matches; TW_CCT_STEP_NONE: it has not come next yet. */
static uint32_t find_next(struct tw_cct_steps *s, struct tw_cct_step *from, const struct tw_stretch *stretch)
{
	if (!from->has_more)
		return TW_CCT_STEP_NONE;
	const struct tw_cct_link *link = link_of(s->links, s->links_room, (uint32_t)(from - s->items), stretch);
	if (!link->to)
		return TW_CCT_STEP_NONE;
	bring_forward(from, stretch, link->to - 1);
	return link->to - 1;
}

static inline uint64_t address(uint16_t ref, const struct tw_cct_at *at)
{
	if (ref == TW_CCT_REF_BEFORE)
		return at->last_ref;
	return ref == TW_CCT_REF_NONE ? 0 : at->addr[ref];
}

/* Pushes a call, or pops a return, if that is the usual case. */
static inline int call(struct tw_cct_stack *stack, uint32_t node, uint64_t slot, uint64_t back)
{
	if (!tw_cct_stack_calls_above(stack, slot) || stack->n >= stack->room)
		return 0;
	stack->frames[stack->n++] = (struct tw_context_frame){node, TW_CONTEXT_NONE, slot, back};
	return 1;
}

static inline int come_back(struct tw_cct_stack *stack, uint32_t node, uint64_t slot, uint64_t pc)
{
	if (!tw_cct_stack_returns_top(stack, slot, pc) || stack->frames[stack->n - 2].node != node)
		return 0;
	stack->n--;
	return 1;
}

/* Undoes the calls and returns of a step: `off` are the frames that it has popped, of the n that there were. */
static void take_back(struct tw_cct_stack *stack, size_t n, const struct tw_context_frame *off, unsigned n_off)
{
	for (unsigned i = 0; i < n_off; i++)
		stack->frames[n - 1 - i] = off[i];
	stack->n = n;
}

/* The calls and returns within a step: all of them, or none. */
static int turn_within(const struct tw_cct_steps *s, struct tw_cct_stack *stack, const struct tw_cct_step *to, const struct tw_cct_at *at)
{
	struct tw_context_frame off[TW_CCT_TURNS_MOST];
	const struct tw_cct_turn *turn = s->turns + to->turns, *end = turn + to->n_turns;
	const size_t n = stack->n;
	unsigned n_off = 0;
	for (; turn < end; turn++) {
		const uint64_t slot = address(turn->ref, at);
		if (!turn->back && stack->n == n - n_off)
			off[n_off++] = stack->frames[stack->n - 1];
		if (!(turn->back ? call(stack, turn->node, slot, turn->back) : come_back(stack, turn->node, slot, turn->pc)))
			break;
	}
	if (turn < end)
		take_back(stack, n, off, n_off);
	return turn == end;
}

/* The call or return between two steps. */
static inline int turn_between(struct tw_cct_stack *stack, const struct tw_cct_step *from, const struct tw_cct_step *to, uint64_t slot,
                               const struct tw_stretch *stretch)
{
	if (from->end == TW_END_RETURN)
		return come_back(stack, to->node, slot, stack->has_refs ? 0 : stretch->blocks->pc);
	return call(stack, to->node, slot, from->back);
}

static inline int turn(const struct tw_cct_steps *s, struct tw_cct_stack *stack, const struct tw_cct_step *from,
                       const struct tw_cct_step *to, const struct tw_cct_at *at, const struct tw_stretch *stretch)
{
	const int turns = from->ends_turned && to->begins != TW_CCT_GOES_ON;
	if (!to->n_turns)
		return !turns || turn_between(stack, from, to, at->last_ref, stretch);
	const size_t n = stack->n;
	const struct tw_context_frame top = stack->frames[n - 1];
	if (turns && !turn_between(stack, from, to, at->last_ref, stretch))
		return 0;
	if (turn_within(s, stack, to, at))
		return 1;
	take_back(stack, n, &top, turns && from->end == TW_END_RETURN);
	return 0;
}

size_t tw_cct_steps_follow(struct tw_cct_steps *s, struct tw_cct_stack *stack, const struct tw_stretch *const *stretches, size_t n,
                           struct tw_cct_at *at)
{
	struct tw_cct_step *items = s->items, *from = &items[at->step];
	size_t i = 0;
	for (; i < n; i++) {
		const struct tw_stretch *stretch = stretches[i];
		uint32_t number;
		if (__builtin_expect(from->next[0] == stretch, 1))
			number = from->to[0];
		else if (from->next[1] == stretch)
			number = from->to[1];
		else if ((number = find_next(s, from, stretch)) == TW_CCT_STEP_NONE)
			break;
		struct tw_cct_step *to = &items[number];
		if ((from->ends_turned || to->n_turns) && !turn(s, stack, from, to, at, stretch))
			break;
		to->runs++;
		if (to->ends_turned)
			at->last_ref = address(to->last_ref, at);
		at->addr += to->n_refs;
		from = to;
	}
	at->step = (uint32_t)(from - items);
	return i;
}

/* ---- counts ---- */

static int settle_step(const struct tw_cct_steps *s, const struct tw_cct_step *step, struct tw_segments *segments, struct tw_contexts *c)
{
	const struct tw_cct_turn *turn = s->turns + step->turns, *end = turn + step->n_turns;
	const uint32_t first = tw_segments_expected(segments, step->stretch);
	uint32_t node = step->node, k = 0;
	int error = 0;
	c->nodes[node].calls += step->begins == TW_CCT_CALLED ? step->runs : 0;
	do {
		if (turn < end && turn->segment == k) {
			node = turn->node;
			c->nodes[node].calls += turn->back ? step->runs : 0;
			turn++;
		}
		error = tw_segments_count(segments, node, first + k, step->runs);
	} while (!error && !segments->items[first + k++].is_last);
	return error;
}

static int settle_all(const struct tw_cct_steps *s, struct tw_segments *segments, struct tw_contexts *c)
{
	int error = 0;
	for (size_t i = 0; i < s->n && !error; i++)
		error = s->items[i].runs ? settle_step(s, &s->items[i], segments, c) : 0;
	return error;
}

int tw_cct_steps_settle(struct tw_cct_steps *s, struct tw_segments *segments, struct tw_contexts *c)
{
	const int error = settle_all(s, segments, c);
	tw_cct_steps_free(s);
	return error;
}

/* ---- keeping those that run most ---- */

/* How many bits its runs have. */
static unsigned bits_of(const struct tw_cct_step *step)
{
	return step->runs ? 64 - (unsigned)__builtin_clzll(step->runs) : 0;
}

/* By step its number among those that are kept, or TW_CCT_STEP_NONE. NULL: no memory. */
static uint32_t *choose_kept(const struct tw_cct_steps *s)
{
	size_t by_bits[65] = {0}, n = 0;
	uint32_t *number = malloc((s->n + 1) * sizeof *number), next = 0;
	unsigned least = 65;
	for (size_t i = 0; i < s->n; i++)
		by_bits[bits_of(&s->items[i])]++;
	while (least > 1 && n + by_bits[least - 1] <= s->n / 2)
		n += by_bits[--least];
	for (size_t i = 0; number && i < s->n; i++)
		number[i] = bits_of(&s->items[i]) >= least ? next++ : TW_CCT_STEP_NONE;
	return number;
}

/* What came next, as far as it is kept. */
static void renumber_next(struct tw_cct_step *step, const uint32_t *number)
{
	unsigned n = 0;
	for (unsigned i = 0; i < 2; i++) {
		const uint32_t to = step->next[i] ? number[step->to[i]] : TW_CCT_STEP_NONE;
		if (to == TW_CCT_STEP_NONE)
			continue;
		step->next[n] = step->next[i];
		step->to[n++] = to;
	}
	for (; n < 2; n++)
		step->next[n] = NULL;
}

/* Numbers are in the order of the steps, and so are their positions: each moves down, if at all. */
static void move_kept(struct tw_cct_steps *s, const uint32_t *number)
{
	size_t n = 0, n_turns = 0;
	for (size_t i = 0; i < s->n; i++) {
		struct tw_cct_step step = s->items[i];
		if (number[i] == TW_CCT_STEP_NONE)
			continue;
		memmove(s->turns + n_turns, s->turns + step.turns, step.n_turns * sizeof *s->turns);
		step.turns = (uint32_t)n_turns;
		step.runs = 0;
		renumber_next(&step, number);
		n_turns += step.n_turns;
		s->items[n++] = step;
	}
	s->n = n;
	s->n_turns = n_turns;
}

/* The places and links of what is kept. */
static void put_kept(struct tw_cct_steps *s, const uint32_t *number, struct tw_cct_step_place *places, struct tw_cct_link *links)
{
	s->n_links = 0;
	for (uint32_t i = 0; i < s->places_room; i++) {
		struct tw_cct_step_place p = s->places[i];
		if (!p.step || number[p.step - 1] == TW_CCT_STEP_NONE)
			continue;
		p.step = number[p.step - 1] + 1;
		*place_of(places, s->places_room, p.node, p.stretch, p.before) = p;
	}
	for (uint32_t i = 0; i < s->links_room; i++) {
		struct tw_cct_link l = s->links[i];
		if (!l.to || number[l.to - 1] == TW_CCT_STEP_NONE || number[l.from] == TW_CCT_STEP_NONE)
			continue;
		l.from = number[l.from];
		l.to = number[l.to - 1] + 1;
		*link_of(links, s->links_room, l.from, l.next) = l;
		s->n_links++;
	}
}

int tw_cct_steps_thin(struct tw_cct_steps *s, struct tw_segments *segments, struct tw_contexts *c)
{
	int error = settle_all(s, segments, c);
	uint32_t *number = error ? NULL : choose_kept(s);
	struct tw_cct_step_place *places = tw_array_table(s->places_room + 1u, sizeof *places);
	struct tw_cct_link *links = tw_array_table(s->links_room + 1u, sizeof *links);
	if (!number || !places || !links) {
		free(number);
		free(places);
		free(links);
		return error ? error : TW_ERR_MEMORY;
	}
	put_kept(s, number, places, links);
	move_kept(s, number);
	free(s->places);
	free(s->links);
	s->places = places;
	s->links = links;
	free(number);
	return 0;
}

void tw_cct_steps_free(struct tw_cct_steps *s)
{
	free(s->items);
	free(s->turns);
	free(s->places);
	free(s->links);
	memset(s, 0, sizeof *s);
}
