#include "cc/loops.h"

#include <stdlib.h>

/* Functions that may write more than this keep the checks in their loops. */
enum { SMALL = 3 * TW_CC_PATH_BYTES };

static int is_candidate(const struct tw_cc_flow *f, const struct tw_cc_buffer *buffer, uint32_t n)
{
	const struct tw_cc_block_info *b = &f->block[n];
	return b->target == (int32_t)n && b->fall >= 0 && !f->code->insn[b->first].head && tw_cc_last(f, b)->d.kind == INSN_COND &&
	       !b->entry && !b->returns_here && (buffer[n].whence != TW_CC_LOADS || buffer[n].borrows) && !buffer[n].offset &&
	       b->check != TW_CC_CHECK_KEEPS_FLAGS;
}

/* Registers that block p cannot clear at its end. */
static uint16_t taken_at_end(const struct tw_cc_flow *f, const struct tw_cc_block_info *p)
{
	const struct tw_cc_insn *last = tw_cc_last(f, p);
	switch (last->d.kind) {
	case INSN_PLAIN:
		return p->live_out;
	case INSN_JUMP:
	case INSN_COND:
		return p->live_out | last->touch;
	default:
		return 0xffff;
	}
}

static uint8_t first_of(uint16_t set)
{
	for (uint8_t r = 0; r < TW_NREGS; r++)
		if (set >> r & 1)
			return r;
	return TW_NOREG;
}

/* Bytes that each function can write, going through it once. */
static uint32_t *sum_functions(const struct tw_cc_flow *f)
{
	uint32_t *sum = calloc(f->code->n_functions + 1, sizeof *sum);
	for (uint32_t n = 0; sum && n < f->n_blocks; n++)
		sum[f->code->insn[f->block[n].first].function] += f->block[n].bytes;
	return sum;
}

/* The edges to a block: registers that cannot be cleared at their sources, and whether a source cannot save one. */
struct ways {
	uint16_t taken;
	uint8_t shared; /* a branch that may lead elsewhere */
};

static void note_ways(const struct tw_cc_flow *f, const struct tw_cc_buffer *buffer, struct ways *ways)
{
	for (uint32_t p = 0; p < f->n_blocks; p++) {
		const struct tw_cc_block_info *b = &f->block[p];
		const uint16_t taken = taken_at_end(f, b) | (uint16_t)(1u << buffer[p].reg);
		if (b->fall >= 0 && b->fall != (int32_t)p)
			ways[b->fall].taken |= taken;
		if (b->target >= 0 && b->target != (int32_t)p) {
			ways[b->target].taken |= taken;
			ways[b->target].shared |= b->end != TW_END_JUMP;
		}
	}
}

static struct tw_cc_loop choose(const struct tw_cc_block_info *b, const struct tw_cc_buffer *buffer, const struct ways *ways)
{
	const uint16_t not_ours = (uint16_t)(1u << buffer->reg | 1u << TW_RSP);
	const uint8_t counter = buffer->borrows ? TW_NOREG : first_of((uint16_t)(b->free & ~ways->taken & ~not_ours));
	if (counter != TW_NOREG || ways->shared)
		return (struct tw_cc_loop){counter, 0};
	return (struct tw_cc_loop){first_of((uint16_t) ~(b->touch | not_ours | 1u << TW_RBP)), 1}; /* rbp may be the frame pointer */
}

struct tw_cc_loop *tw_cc_loops(const struct tw_cc_flow *f, const struct tw_cc_buffer *buffer, const uint8_t *values)
{
	struct tw_cc_loop *loop = malloc((f->n_blocks + 1) * sizeof *loop);
	struct ways *ways = calloc(f->n_blocks + 1, sizeof *ways);
	uint32_t *sum = sum_functions(f);
	if (ways)
		note_ways(f, buffer, ways);
	for (uint32_t n = 0; loop && ways && sum && n < f->n_blocks; n++) {
		loop[n] = (struct tw_cc_loop){TW_NOREG, 0};
		if (!values[n] && is_candidate(f, buffer, n) && (f->guard || sum[f->code->insn[f->block[n].first].function] < SMALL))
			loop[n] = choose(&f->block[n], &buffer[n], &ways[n]);
	}
	const int is_done = loop && ways && sum;
	free(ways);
	free(sum);
	if (is_done)
		return loop;
	free(loop);
	return NULL;
}
