#include "analyzers/segments.h"
#include "base/array.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_ROOM = 4096 };

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
	if (!items || s->n >= TW_SEGMENT_SLOW - 1)
		return NULL;
	struct tw_segment *g = &items[s->n++];
	*g = (struct tw_segment){
	    .blocks = stretch->blocks + begin, .n_blocks = end - begin, .first_ref = first_ref, .n_refs = end_ref - first_ref};
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

/* Blocks that do not start here have only references: no permanent stretch is like that. */
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

/* Segments first met one after another often run one after another: their counts are side by side. */
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

int tw_segments_count(struct tw_segments *s, uint32_t node, uint32_t segment, uint64_t runs)
{
	if (s->n_counts >= s->counts_room / 2 && grow_counts(s))
		return TW_ERR_MEMORY;
	struct tw_segment_count *at = count_place(s->counts, s->counts_room, node, segment);
	s->n_counts += !at->segment;
	at->node = node;
	at->segment = segment + 1;
	at->runs += runs;
	return 0;
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
	for (uint32_t i = 0, next; i < g->n_blocks && !error; i = next) {
		const uint32_t block = tw_contexts_united(c, s->numbers[g->numbers + i]);
		uint64_t insns = 0;
		for (next = i; next < g->n_blocks && tw_contexts_united(c, s->numbers[g->numbers + next]) == block; next++)
			insns += g->blocks[next].n_insns;
		const uint32_t end = next < g->n_blocks ? g->blocks[next].first_ref : g->first_ref + g->n_refs;
		error = add_part(c, n->node, block, n->runs * (next - i), n->runs * insns, n->runs * (end - g->blocks[i].first_ref));
	}
	return error;
}

/* The counts in order of nodes, so that what belongs together in the tree is made together. NULL: no memory. */
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
	int error = settle_counts(s, c);
	free(s->counts);
	s->counts = NULL;
	s->n_counts = s->counts_room = 0;
	return error;
}

void tw_segments_free(struct tw_segments *s)
{
	free(s->items);
	free(s->of_stretch);
	free(s->numbers);
	free(s->counts);
	memset(s, 0, sizeof *s);
}
