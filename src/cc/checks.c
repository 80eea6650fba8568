#include "cc/calls.h"
#include "cc/checks.h"

#include <stdlib.h>

/* ---- the order of blocks ---- */

enum state { NEW, OPEN, DONE };

/* A walk along the edges, in depth. */
struct walk {
	struct tw_cc_flow *flow;
	uint8_t *state, *edge;        /* of each block: enum state; edges that have been taken */
	uint32_t *stack, depth, left; /* left: places of the order that are still free; it is filled from its end */
};

static void come_to(struct walk *w, int32_t n)
{
	if (n < 0)
		return;
	if (w->state[n] == OPEN)
		w->flow->block[n].looped = 1;
	if (w->state[n] != NEW)
		return;
	w->state[n] = OPEN;
	w->stack[w->depth++] = (uint32_t)n;
}

static void walk_from(struct walk *w, uint32_t root)
{
	come_to(w, (int32_t)root);
	while (w->depth) {
		const uint32_t n = w->stack[w->depth - 1];
		const struct tw_cc_block_info *b = &w->flow->block[n];
		const uint8_t edge = w->edge[n]++;
		if (edge < 2) {
			come_to(w, edge ? b->fall : b->target);
			continue;
		}
		w->state[n] = DONE;
		w->flow->order[--w->left] = n;
		w->depth--;
	}
}

int tw_cc_order_find(struct tw_cc_flow *f)
{
	const size_t n = f->n_blocks + 1;
	struct walk w = {.flow = f, .state = calloc(n, 1), .edge = calloc(n, 1), .stack = calloc(n, sizeof *w.stack), .left = f->n_blocks};
	f->order = calloc(n, sizeof *f->order);
	f->rank = calloc(n, sizeof *f->rank);
	const int is_there = w.state && w.edge && w.stack && f->order && f->rank;
	for (uint32_t k = f->n_blocks; is_there && k-- > 0;)
		if (f->block[k].entry)
			walk_from(&w, k);
	for (uint32_t k = f->n_blocks; is_there && k-- > 0;)
		if (w.state[k] == NEW)
			walk_from(&w, k);
	for (uint32_t k = 0; is_there && k < f->n_blocks; k++)
		f->rank[f->order[k]] = k;
	free(w.state);
	free(w.edge);
	free(w.stack);
	return is_there ? 0 : -1;
}

/* ---- checks ---- */

/* Where flags are live, the check must save them, which is slow. */
static void place(struct tw_cc_block_info *b)
{
	b->check = b->flags_live ? TW_CC_CHECK_KEEPS_FLAGS : TW_CC_CHECK;
}

/* Behind call b: what it called may have filled the buffer. */
static void place_behind(const struct tw_cc_flow *f, struct tw_cc_block_info *b)
{
	const struct tw_cc_callee *to = tw_cc_callee_of(f, b);
	if ((b->end != TW_END_CALL && b->end != TW_END_ICALL) || b->fall < 0 || (to && to->is_bounded))
		return;
	if (f->guard && tw_cc_comes_back(f, b))
		return;
	if (tw_cc_hands(f, b))
		b->check_behind = 1;
	else
		place(&f->block[b->fall]);
}

/* The most bytes that may have been written since the last check at each block's start. Too many: the block gets a check. */
static void bound_paths(struct tw_cc_flow *f, uint32_t *distance)
{
	for (uint32_t k = 0; k < f->n_blocks; k++) {
		const uint32_t n = f->order[k];
		struct tw_cc_block_info *b = &f->block[n];
		const struct tw_cc_callee *to = tw_cc_callee_of(f, b);
		if (!b->check && distance[n] > (b->flags_live ? 3 * TW_CC_PATH_BYTES : TW_CC_PATH_BYTES))
			place(b);
		const uint32_t before = (b->check ? 0 : distance[n]) + b->bytes + 8 + (to ? to->bytes : 0);
		const uint32_t behind = b->check_behind ? 0 : before;
		const int32_t next[] = {b->fall, b->target};
		for (int m = 0; m < 2; m++)
			if (next[m] >= 0 && distance[next[m]] < behind)
				distance[next[m]] = behind;
	}
}

static int leads_to(const struct tw_cc_block_info *b, uint32_t n)
{
	return b->target == (int32_t)n || b->fall == (int32_t)n;
}

/* Flags are live at the start of the loop at n: can its check stand in the blocks that lead back to it? */
static int check_before(struct tw_cc_flow *f, uint32_t n)
{
	for (int placed = 0; placed < 2; placed++)
		for (uint32_t k = 0; k < f->n_blocks; k++) {
			struct tw_cc_block_info *b = &f->block[k];
			if (!leads_to(b, n) || !tw_cc_goes_back(f, k, n))
				continue;
			if (b->flags_live)
				return 0;
			if (placed)
				place(b);
		}
	return 1;
}

static int is_bounded_entry(const struct tw_cc_flow *f, const struct tw_cc_block_info *b)
{
	return b->entry == TW_CC_ENTRY_FUNCTION && f->function[f->code->insn[b->first].function].is_bounded;
}

/* With a guard page: may the pointer belong to another thread here? Where all entries are known, it is the thread's own. */
static int is_doubtful(const struct tw_cc_flow *f, const struct tw_cc_block_info *b)
{
	const int is_private = b->entry == TW_CC_ENTRY_FUNCTION && f->function[f->code->insn[b->first].function].is_private;
	return b->entry && !is_private && !tw_cc_is_dispatched(f, b);
}

static void place_doubtful(struct tw_cc_flow *f)
{
	for (uint32_t n = 0; n < f->n_blocks; n++) {
		place_behind(f, &f->block[n]);
		if (is_doubtful(f, &f->block[n]))
			place(&f->block[n]);
	}
}

int tw_cc_checks_place(struct tw_cc_flow *f)
{
	if (f->guard) {
		place_doubtful(f);
		return 0;
	}
	uint32_t *distance = calloc(f->n_blocks + 1, sizeof *distance);
	if (!distance)
		return -1;
	for (uint32_t n = 0; n < f->n_blocks; n++) {
		struct tw_cc_block_info *b = &f->block[n];
		place_behind(f, b);
		if ((b->entry && !is_bounded_entry(f, b)) || (b->looped && !(b->flags_live && check_before(f, n))))
			place(b);
	}
	bound_paths(f, distance);
	free(distance);
	return 0;
}
