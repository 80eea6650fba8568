#include "analyzers/segments.h"
#include "base/array.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_ROOM = 4096, WAITING = sizeof((struct tw_segments *)NULL)->wait / sizeof((struct tw_segments *)NULL)->wait[0] };

/* ---- dividing stretches ---- */

static int ends_segment(const struct tw_block_run *run)
{
	const struct tw_block *b = &tw_descriptor_blocks(run->descriptor)[run->block];
	return b->end == TW_END_RETURN || b->end == TW_END_CALL || b->end == TW_END_ICALL;
}

static int number_block(struct tw_segments *s, struct tw_contexts *c, uint32_t program, uint32_t thread, uint64_t pc)
{
	uint32_t *numbers = tw_array_room(s->numbers, s->n_numbers, &s->numbers_room, sizeof *numbers);
	uint32_t number = tw_contexts_block(c, program, thread, pc);
	s->numbers = numbers ? numbers : s->numbers;
	if (!numbers || number == TW_CONTEXT_NONE || s->n_numbers >= UINT32_MAX)
		return TW_ERR_MEMORY;
	numbers[s->n_numbers++] = number;
	return 0;
}

/* Its blocks' numbers, of `program`. */
static int number_segment(struct tw_segments *s, struct tw_contexts *c, struct tw_segment *g, uint32_t program, uint32_t thread,
                          uint64_t before)
{
	int error = 0;
	g->numbers = (uint32_t)s->n_numbers;
	g->program = program;
	if (!g->n_blocks)
		return number_block(s, c, program, thread, before);
	for (uint32_t i = 0; i < g->n_blocks && !error; i++)
		error = number_block(s, c, program, thread, g->blocks[i].pc);
	return error;
}

/* Adds blocks begin to end of a stretch, the references from first_ref to end_ref theirs. */
static struct tw_segment *add(struct tw_segments *s, const struct tw_stretch *stretch, uint32_t begin, uint32_t end, uint32_t first_ref,
                              uint32_t end_ref)
{
	struct tw_segment *items = tw_array_room(s->items, s->n, &s->room, sizeof *items);
	s->items = items ? items : s->items;
	struct tw_segment_recent *recent = tw_array_zeros(s->recent, 2 * s->n + 1, &s->recent_room, sizeof *recent);
	s->recent = recent ? recent : s->recent;
	if (!items || !recent || s->n >= TW_SEGMENT_SLOW - 1)
		return NULL;
	struct tw_segment *g = &items[s->n++];
	*g = (struct tw_segment){.blocks = stretch->blocks + begin,
	                         .n_blocks = end - begin,
	                         .first_ref = first_ref,
	                         .n_refs = end_ref - first_ref,
	                         .node = TW_CONTEXT_NONE,
	                         .node_before = TW_CONTEXT_NONE};
	uint32_t last_begins = first_ref;
	if (end > begin) {
		const struct tw_block_run *last = &stretch->blocks[end - 1];
		const struct tw_block *b = &tw_descriptor_blocks(last->descriptor)[last->block];
		g->ends = last->n_insns == b->n_insns ? b->end : TW_END_FALL;
		g->back = b->pc + b->bytes;
		last_begins = last->first_ref;
	}
	g->last_ref = end_ref > last_begins ? end_ref - 1 : TW_CONTEXT_NONE;
	return g;
}

/* Blocks that do not begin here have references alone: nothing that stays is like that. */
static int is_slow(const struct tw_stretch *stretch)
{
	for (uint32_t i = 0; i < stretch->n_blocks; i++)
		if (!stretch->blocks[i].n_insns)
			return 1;
	return 0;
}

static int divide(struct tw_segments *s, struct tw_contexts *c, const struct tw_stretch *stretch, uint32_t program, uint32_t thread,
                  uint32_t before)
{
	uint32_t leading = stretch->n_blocks ? stretch->blocks[0].first_ref : stretch->n_refs;
	uint64_t before_pc = before == TW_CONTEXT_NONE ? 0 : c->blocks[before].pc;
	int error = 0;
	if (leading || !stretch->n_blocks) {
		struct tw_segment *g = add(s, stretch, 0, 0, 0, leading);
		error = g ? number_segment(s, c, g, program, thread, before_pc) : TW_ERR_MEMORY;
	}
	for (uint32_t i = 0, begin = 0; i < stretch->n_blocks && !error; i++) {
		if (i + 1 < stretch->n_blocks && !ends_segment(&stretch->blocks[i]))
			continue;
		uint32_t end_ref = i + 1 < stretch->n_blocks ? stretch->blocks[i + 1].first_ref : stretch->n_refs;
		struct tw_segment *g = add(s, stretch, begin, i + 1, stretch->blocks[begin].first_ref, end_ref);
		error = g ? number_segment(s, c, g, program, thread, 0) : TW_ERR_MEMORY;
		begin = i + 1;
	}
	if (!error)
		s->items[s->n - 1].is_last = 1;
	return error;
}

/* Another program, perhaps of a forked process, runs the code: as its blocks. */
static int renumber(struct tw_segments *s, struct tw_contexts *c, uint32_t first, uint32_t program, uint32_t thread)
{
	int error = 0;
	for (struct tw_segment *g = &s->items[first];; g++) {
		error = number_segment(s, c, g, program, thread, c->blocks[tw_segment_first(s, g)].pc);
		if (error || g->is_last)
			return error;
	}
}

uint32_t tw_segments_of(struct tw_segments *s, struct tw_contexts *c, const struct tw_stretch *stretch, uint32_t program, uint32_t thread,
                        uint32_t before)
{
	uint32_t number = stretch->number;
	if (number >= s->stretches_room) {
		uint32_t *of = tw_array_zeros(s->of_stretch, number, &s->stretches_room, sizeof *of);
		if (!of)
			return TW_SEGMENT_NONE;
		s->of_stretch = of;
	}
	uint32_t first = s->of_stretch[number];
	if (first == TW_SEGMENT_SLOW)
		return first;
	if (!first) {
		if (is_slow(stretch))
			return s->of_stretch[number] = TW_SEGMENT_SLOW;
		first = (uint32_t)s->n + 1;
		if (divide(s, c, stretch, program, thread, before))
			return TW_SEGMENT_NONE;
		s->of_stretch[number] = first;
	}
	first--;
	if (s->items[first].program != program && renumber(s, c, first, program, thread))
		return TW_SEGMENT_NONE;
	return first;
}

/* ---- counting ---- */

/* Segments that were met one after another often run one after another: their counts stand side by side. */
static uint32_t count_slot(uint32_t node, uint32_t segment)
{
	enum { SIDE_BY_SIDE = 4 };
	uint64_t h = ((uint64_t)node << 32 | segment / SIDE_BY_SIDE) * 0x9e3779b97f4a7c15ull;
	return (uint32_t)(h >> 32) * SIDE_BY_SIDE + segment % SIDE_BY_SIDE;
}

static struct tw_segment_count *count_place(struct tw_segment_count *counts, uint32_t room, uint32_t node, uint32_t segment)
{
	for (uint32_t i = count_slot(node, segment);; i++) {
		struct tw_segment_count *at = &counts[i & (room - 1)];
		if (!at->segment || (at->segment == segment + 1 && at->node == node))
			return at;
	}
}

static int grow_counts(struct tw_segments *s)
{
	uint32_t room = s->counts_room ? 2 * s->counts_room : FIRST_ROOM;
	struct tw_segment_count *counts = room ? tw_array_table(room, sizeof *counts) : NULL;
	if (!counts)
		return TW_ERR_MEMORY;
	for (uint32_t i = 0; i < s->counts_room; i++)
		if (s->counts[i].segment)
			*count_place(counts, room, s->counts[i].node, s->counts[i].segment - 1) = s->counts[i];
	free(s->counts);
	s->counts = counts;
	s->counts_room = room;
	return 0;
}

/* segment: + 1; 0 is nothing. */
static int count_now(struct tw_segments *s, const struct tw_segment_count *c)
{
	if (!c->segment)
		return 0;
	if (s->n_counts >= s->counts_room / 2 && grow_counts(s))
		return TW_ERR_MEMORY;
	struct tw_segment_count *at = count_place(s->counts, s->counts_room, c->node, c->segment - 1);
	s->n_counts += !at->segment;
	at->node = c->node;
	at->segment = c->segment;
	at->runs += c->runs;
	return 0;
}

int tw_segments_count_elsewhere(struct tw_segments *s, uint32_t node, uint32_t segment, uint64_t runs)
{
	struct tw_segment *g = &s->items[segment];
	const struct tw_segment_count now = {.node = g->node_before, .segment = segment + 1, .runs = g->runs_before};
	const int is_before = g->node_before == node;
	g->node_before = g->node;
	g->runs_before = g->runs;
	g->node = node;
	g->runs = runs;
	if (is_before)
		g->runs += now.runs;
	if (is_before || !now.runs)
		return 0;
	const uint32_t i = s->waiting++ % WAITING;
	const struct tw_segment_count old = s->wait[i];
	s->wait[i] = now;
	if (s->counts_room)
		__builtin_prefetch(&s->counts[count_slot(now.node, segment) & (s->counts_room - 1)], 1);
	return count_now(s, &old);
}

static int count_waiting(struct tw_segments *s)
{
	int error = 0;
	for (uint32_t i = 0; i < WAITING && !error; i++) {
		error = count_now(s, &s->wait[i]);
		s->wait[i].segment = 0;
	}
	for (size_t i = 0; i < s->n && !error; i++) {
		struct tw_segment *g = &s->items[i];
		error = g->runs ? count_now(s, &(struct tw_segment_count){g->node, (uint32_t)i + 1, g->runs}) : 0;
		if (!error && g->runs_before)
			error = count_now(s, &(struct tw_segment_count){g->node_before, (uint32_t)i + 1, g->runs_before});
		g->node = g->node_before = TW_CONTEXT_NONE;
		g->runs = g->runs_before = 0;
	}
	return error;
}

static struct tw_segment_call *call_place(struct tw_segment_call *calls, uint32_t room, uint32_t parent, uint32_t site, uint32_t entry)
{
	uint64_t h = (((uint64_t)parent << 32 | site) * 0x9e3779b97f4a7c15ull ^ entry) * 0xc2b2ae3d27d4eb4full;
	for (uint32_t i = (uint32_t)(h >> 32);; i++) {
		struct tw_segment_call *at = &calls[i & (room - 1)];
		if (!at->site || (at->parent == parent && at->site == site + 1 && at->entry == entry))
			return at;
	}
}

static int grow_calls(struct tw_segments *s)
{
	uint32_t room = s->calls_room ? 2 * s->calls_room : FIRST_ROOM;
	struct tw_segment_call *calls = room ? tw_array_table(room, sizeof *calls) : NULL;
	if (!calls)
		return TW_ERR_MEMORY;
	for (uint32_t i = 0; i < s->calls_room; i++) {
		const struct tw_segment_call *c = &s->calls[i];
		if (c->site)
			*call_place(calls, room, c->parent, c->site - 1, c->entry) = *c;
	}
	free(s->calls);
	s->calls = calls;
	s->calls_room = room;
	return 0;
}

/* What a segment called last, or before, goes among the calls, where there is a place for it. */
static void settle_recent(struct tw_segments *s, uint32_t site, struct tw_segment_recent *r)
{
	if (r->entry)
		call_place(s->calls, s->calls_room, r->parent, site, r->entry - 1)->calls += r->calls;
	r->entry = 0;
}

uint32_t tw_segments_call_another(struct tw_segments *s, struct tw_contexts *c, uint32_t parent, uint32_t site, uint32_t entry)
{
	struct tw_segment_recent *last = &s->recent[2 * (size_t)site], *before = last + 1;
	const struct tw_segment_recent was = *last;
	if (before->parent == parent && before->entry == entry + 1 && before->calls < UINT32_MAX) {
		*last = *before;
		*before = was;
		last->calls++;
		return last->node;
	}
	settle_recent(s, site, before);
	*before = was;
	*last = (struct tw_segment_recent){0};
	if (s->n_calls >= s->calls_room / 2 && grow_calls(s))
		return TW_CONTEXT_NONE;
	struct tw_segment_call *at = call_place(s->calls, s->calls_room, parent, site, entry);
	if (!at->site) {
		uint32_t node = tw_contexts_node(c, parent, tw_segment_last(s, &s->items[site]), tw_segment_first(s, &s->items[entry]));
		if (node == TW_CONTEXT_NONE)
			return node;
		*at = (struct tw_segment_call){.parent = parent, .site = site + 1, .entry = entry, .node = node};
		s->n_calls++;
	}
	*last = (struct tw_segment_recent){.parent = parent, .entry = entry + 1, .node = at->node, .calls = 1};
	return at->node;
}

/* ---- into the tree ---- */

static int add_part(struct tw_contexts *c, uint32_t node, uint32_t block, uint64_t runs, uint64_t insns, uint64_t refs)
{
	uint32_t part = tw_contexts_part(c, node, block);
	if (part == TW_CONTEXT_NONE)
		return TW_ERR_MEMORY;
	c->parts[part].runs += runs;
	c->parts[part].cost.insns += insns;
	c->parts[part].cost.refs += refs;
	return 0;
}

static int settle_count(struct tw_segments *s, struct tw_contexts *c, const struct tw_segment_count *n)
{
	struct tw_segment *g = &s->items[n->segment - 1];
	const struct tw_context_block entry = c->blocks[c->nodes[n->node].entry];
	int error =
	    g->program == entry.program ? 0 : number_segment(s, c, g, entry.program, entry.thread, c->blocks[tw_segment_first(s, g)].pc);
	if (!error && !g->n_blocks)
		error = add_part(c, n->node, tw_segment_first(s, g), 0, 0, n->runs * g->n_refs);
	for (uint32_t i = 0; i < g->n_blocks && !error; i++) {
		uint32_t end = i + 1 < g->n_blocks ? g->blocks[i + 1].first_ref : g->first_ref + g->n_refs;
		error = add_part(c, n->node, s->numbers[g->numbers + i], n->runs, n->runs * g->blocks[i].n_insns,
		                 n->runs * (end - g->blocks[i].first_ref));
	}
	return error;
}

/* The counts by node, so that what belongs together in the tree is made together. NULL: no memory. */
static uint32_t *order_counts(const struct tw_segments *s, const struct tw_contexts *c)
{
	uint32_t *order = malloc((s->n_counts + 1u) * sizeof *order), *begins = calloc(c->n_nodes + 1, sizeof *begins);
	for (uint32_t i = 0; order && begins && i < s->counts_room; i++)
		if (s->counts[i].segment)
			begins[s->counts[i].node + 1]++;
	for (size_t i = 1; order && begins && i < c->n_nodes; i++)
		begins[i] += begins[i - 1];
	for (uint32_t i = 0; order && begins && i < s->counts_room; i++)
		if (s->counts[i].segment)
			order[begins[s->counts[i].node]++] = i;
	if (!begins) {
		free(order);
		order = NULL;
	}
	free(begins);
	return order;
}

static void expect_count(const struct tw_segments *s, const struct tw_contexts *c, const struct tw_segment_count *n)
{
	const struct tw_segment *g = &s->items[n->segment - 1];
	for (uint32_t i = 0; i < g->n_blocks; i++)
		tw_contexts_expect_part(c, n->node, s->numbers[g->numbers + i]);
}

static int settle_counts(struct tw_segments *s, struct tw_contexts *c)
{
	enum { AHEAD = 8 };
	uint32_t *order = order_counts(s, c);
	int error = order ? 0 : TW_ERR_MEMORY;
	for (uint32_t i = 0; i < s->n_counts && !error; i++) {
		if (i + 2 * AHEAD < s->n_counts)
			__builtin_prefetch(&s->counts[order[i + 2 * AHEAD]]);
		if (i + AHEAD < s->n_counts)
			expect_count(s, c, &s->counts[order[i + AHEAD]]);
		error = settle_count(s, c, &s->counts[order[i]]);
	}
	free(order);
	return error;
}

int tw_segments_settle(struct tw_segments *s, struct tw_contexts *c)
{
	int error = count_waiting(s);
	error = error ? error : settle_counts(s, c);
	for (size_t i = 0; i < s->n; i++)
		for (size_t k = 0; k < 2; k++)
			settle_recent(s, (uint32_t)i, &s->recent[2 * i + k]);
	for (uint32_t i = 0; i < s->calls_room && !error; i++)
		if (s->calls[i].calls)
			c->nodes[s->calls[i].node].calls += s->calls[i].calls;
	free(s->counts);
	free(s->calls);
	s->counts = NULL;
	s->calls = NULL;
	s->n_counts = s->counts_room = s->n_calls = s->calls_room = 0;
	return error;
}

void tw_segments_free(struct tw_segments *s)
{
	free(s->items);
	free(s->recent);
	free(s->of_stretch);
	free(s->numbers);
	free(s->counts);
	free(s->calls);
	memset(s, 0, sizeof *s);
}
