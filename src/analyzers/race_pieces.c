#include "analyzers/race_pieces.h"
#include "base/array.h"

#include <stdlib.h>

static int changes_path(const struct tw_block_run *run)
{
	const uint8_t end = tw_descriptor_blocks(run->descriptor)[run->block].end;
	return end == TW_END_CALL || end == TW_END_ICALL || end == TW_END_RETURN;
}

static uint32_t refs_end(const struct tw_stretch *st, uint32_t block)
{
	return block + 1 < st->n_blocks ? st->blocks[block + 1].first_ref : st->n_refs;
}

/* Can a struct tw_race_shape describe all of these references, and is none made by an instruction that is known to be atomic? */
static int is_plain(const struct tw_race_code *code, const struct tw_race_piece *p, const struct tw_stretch *st, const uint64_t *addr)
{
	for (uint32_t i = p->first_ref; i < p->first_ref + p->n_refs; i++) {
		const struct tw_ref_shape *r = &st->refs[i];
		const struct tw_ref ref = {.pc = r->pc, .addr = addr[i], .size = r->size, .insn = r->insn, .type = r->type};
		const struct tw_atomic_insn *insn = tw_atomics_of(code->atomics, st->blocks[p->first].descriptor, &ref, code->image);
		if (!insn || !tw_atomics_is_plain(insn) || r->size > TW_RACE_LARGEST)
			return 0;
	}
	return 1;
}

static int is_simple(const struct tw_race_code *code, const struct tw_race_piece *p, const struct tw_stretch *st, const uint64_t *addr)
{
	for (uint32_t k = p->first; k < p->first + p->n_blocks; k++)
		if (!st->blocks[k].n_insns)
			return 0;
	return tw_code_is_library(p->owner) || p->owner == TW_CODE_OPENMP || (p->owner == TW_CODE_PROGRAM && is_plain(code, p, st, addr));
}

/* Blocks from `first` on that belong together. */
static uint32_t end_of(const struct tw_race_code *code, const struct tw_stretch *st, uint32_t first, enum tw_code_owner owner)
{
	uint32_t k = first + 1;
	while (k < st->n_blocks && !changes_path(&st->blocks[k - 1]) && st->blocks[k].descriptor == st->blocks[first].descriptor &&
	       tw_runtime_code_of(code->runtime, &st->blocks[k], code->thread) == owner)
		k++;
	return k;
}

static int add_shapes(struct tw_race_pieces *p, const struct tw_race_piece *of, const struct tw_stretch *st)
{
	for (uint32_t i = 0; i < of->n_refs; i++) {
		struct tw_race_shape *shapes = tw_array_room(p->shapes, p->n_shapes, &p->shapes_room, sizeof *shapes);
		if (!shapes)
			return 0;
		p->shapes = shapes;
		const struct tw_ref_shape *r = &st->refs[of->first_ref + i];
		shapes[p->n_shapes++] = tw_race_shape_of(r->size <= TW_RACE_LARGEST ? r->size : 0, r->type & TW_WRITE);
	}
	return 1;
}

/* Adds blocks first to end. 0: no memory. */
static int add(struct tw_race_pieces *p, const struct tw_race_code *code, const struct tw_stretch *st, const uint64_t *addr, uint32_t first,
               uint32_t end)
{
	const struct tw_block_run *last = &st->blocks[end - 1];
	struct tw_race_piece *items = tw_array_room(p->items, p->n, &p->room, sizeof *items);
	if (!items || p->n_shapes + st->n_refs > UINT32_MAX)
		return 0;
	p->items = items;
	struct tw_race_piece *piece = &items[p->n++];
	*piece = (struct tw_race_piece){
	    .shapes = (uint32_t)p->n_shapes,
	    .first_ref = st->blocks[first].first_ref,
	    .n_refs = refs_end(st, end - 1) - st->blocks[first].first_ref,
	    .first = first,
	    .n_blocks = end - first,
	    .last_refs = refs_end(st, end - 1) - last->first_ref,
	    .owner = (uint8_t)tw_runtime_code_of(code->runtime, &st->blocks[first], code->thread),
	    .leaves = (uint8_t)changes_path(last),
	    .end = tw_descriptor_blocks(last->descriptor)[last->block].end,
	    .is_last = end == st->n_blocks,
	};
	piece->simple = (uint8_t)is_simple(code, piece, st, addr);
	return add_shapes(p, piece, st);
}

static int divide(struct tw_race_pieces *p, const struct tw_race_code *code, const struct tw_stretch *st, const uint64_t *addr)
{
	for (uint32_t k = 0, end; k < st->n_blocks; k = end) {
		end = end_of(code, st, k, tw_runtime_code_of(code->runtime, &st->blocks[k], code->thread));
		if (!add(p, code, st, addr, k, end))
			return 0;
	}
	return 1;
}

static void note_quick(struct tw_race_divided *d, const struct tw_race_piece *piece)
{
	if (!piece->is_last || !piece->simple || piece->leaves || piece->n_blocks > UINT8_MAX)
		return;
	d->quick = (uint8_t)(piece->owner + 1);
	d->n_blocks = (uint8_t)piece->n_blocks;
	d->shapes = piece->shapes;
	d->n_refs = piece->n_refs;
}

const struct tw_race_piece *tw_race_pieces_make(struct tw_race_pieces *p, const struct tw_race_code *code, const struct tw_stretch *st,
                                                const uint64_t *addr)
{
	enum { RUNS = 4 };
	if (!st->number || !st->n_blocks || st->blocks->first_ref)
		return NULL;
	if (st->number >= p->of_room) {
		void *of = tw_array_zeros(p->of, st->number, &p->of_room, sizeof *p->of);
		if (!of)
			return NULL;
		p->of = of;
	}
	if (!p->of[st->number].first) {
		const size_t first = p->n;
		if (++p->of[st->number].runs < RUNS || !divide(p, code, st, addr))
			return NULL;
		p->of[st->number].first = (uint32_t)first + 1;
		note_quick(&p->of[st->number], &p->items[first]);
	}
	return &p->items[p->of[st->number].first - 1];
}

void tw_race_pieces_free(struct tw_race_pieces *p)
{
	free(p->of);
	free(p->items);
	free(p->shapes);
}
