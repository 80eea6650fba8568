#include "replay/piece.h"

struct tw_piece tw_piece_of(struct tw_pieces *p, const struct tw_batch *b, size_t i, uint64_t position)
{
	const struct tw_block_run *run = tw_batch_blocks(b) + i;
	unsigned first = tw_descriptor_blocks(run->descriptor)[run->block].first_insn;
	struct tw_piece piece = {first, first + run->n_insns, position};
	if (i == 0 && p->has_rest && !run->n_insns)
		piece = p->rest;
	p->has_rest = b->continues && i + 1 == b->n_blocks && b->n_refs;
	if (!p->has_rest)
		return piece;
	unsigned next = tw_batch_refs(b)[b->n_refs - 1].insn + 1u;
	unsigned cut = next < piece.first ? piece.first : next < piece.end ? next : piece.end;
	p->rest = (struct tw_piece){cut, piece.end, piece.position + (cut - piece.first)};
	piece.end = cut;
	return piece;
}
