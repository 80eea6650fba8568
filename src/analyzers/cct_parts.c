/*
 * cct of recordings of only parts of a process: programs instrumented by trackway cc. The C library and all other
 * code that was not compiled so are not recorded. A call, or a return, may lead there, and that code may call
 * recorded code, any number of times, before it returns. The recording shows this only by what runs next: the code
 * after the call, or the start of a function.
 */
#include "analyzers/cct_parts.h"
#include "base/array.h"
#include "names/names.h"

int tw_cct_parts_begins(struct tw_cct_state *s, uint32_t block, uint64_t pc)
{
	enum { UNKNOWN, NO, YES };
	uint8_t *known = tw_array_zeros(s->begins, block, &s->begins_room, sizeof *known);
	struct tw_names *names = tw_cct_names(s);
	struct tw_code_name name;
	s->begins = known ? known : s->begins;
	if (!known || !names)
		return TW_ERR_MEMORY;
	if (known[block] == UNKNOWN) {
		tw_names_code(names, tw_names_image(names, s->thread), pc, &name);
		known[block] = tw_names_begins(names, pc, &name) ? YES : NO;
	}
	return known[block] == YES;
}

/* The target of the previous block's jump or call; 0: unknown. */
static uint64_t target_of_last(const struct tw_cct_state *s)
{
	if (s->segment == TW_SEGMENT_NONE)
		return s->target;
	const struct tw_segment *g = &s->segments.items[s->segment];
	const struct tw_block_run *run = &g->blocks[g->n_blocks - 1];
	return tw_descriptor_blocks(run->descriptor)[run->block].target;
}

/* Has the top function returned to unrecorded code, or jumped there? */
static int has_left(struct tw_cct_state *s, uint64_t pc, uint64_t slot)
{
	if (s->stack.n < 2)
		return 0;
	switch (s->end) {
	case TW_END_RETURN:
		return s->stack.has_refs && !tw_cct_stack_knows(&s->stack, slot);
	case TW_END_JUMP:
		return target_of_last(s) != pc;
	case TW_END_IJUMP:
		return s->stack.frames[s->stack.n - 1].back == pc;
	default:
		return 0;
	}
}

/* The top function has left: pops its frame. If a function starts at this block, the same call site has called it, too. */
static int come_back(struct tw_cct_state *s, uint32_t block, uint64_t pc)
{
	const struct tw_context_frame left = s->stack.frames[--s->stack.n];
	const int is_called = tw_cct_parts_begins(s, block, pc);
	if (is_called <= 0)
		return is_called;
	const uint32_t node = tw_contexts_node(&s->tree, tw_cct_stack_node(&s->stack), s->tree.nodes[left.node].site, block);
	if (node != TW_CONTEXT_NONE)
		s->tree.nodes[node].calls++;
	return tw_cct_stack_push(&s->stack, node, left.slot, left.back);
}

int tw_cct_parts_arrive(struct tw_cct_state *s, uint32_t block, uint64_t pc, uint64_t slot, int *arrived)
{
	*arrived = 1;
	if (has_left(s, pc, slot))
		return come_back(s, block, pc);
	if (tw_cct_ends_with_call(s) && pc != s->back) {
		const int is_called = tw_cct_parts_begins(s, block, pc);
		if (is_called < 0)
			return is_called;
		if (!is_called) /* what was called has thrown an exception, say */
			return tw_cct_stack_come_in(&s->stack, tw_cct_names(s), block, pc, 0);
	}
	*arrived = 0;
	return 0;
}

int tw_cct_parts_is_usual(struct tw_cct_state *s, uint32_t block, uint64_t pc)
{
	if (tw_cct_ends_with_call(s))
		return tw_cct_parts_begins(s, block, pc) > 0;
	return !has_left(s, pc, 0);
}
