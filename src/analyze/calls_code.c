#include "analyze/calls_code.h"
#include "base/array.h"
#include "recording/recording.h"
#include "replay/slots.h"

#include <stdlib.h>
#include <string.h>

/* ---- functions ---- */

int tw_calls_retire(struct tw_calls_code *code, struct tw_piece_of_code *lead, uint32_t owner)
{
	struct tw_counted *c = &code->counted;
	struct tw_piece_of_code *retired = tw_array_room(c->retired, c->n_retired, &c->retired_room, sizeof *retired);
	if (!retired)
		return TW_ERR_MEMORY;
	c->retired = retired;
	tw_piece_settle(lead);
	retired[c->n_retired++] = *lead;
	memset(lead->runs, 0, sizeof lead->runs);
	lead->owner = owner;
	return 0;
}

int tw_calls_place(struct tw_calls_code *code, struct tw_piece_of_code *p, int called)
{
	struct tw_call_place place = {0};
	if (p->known >= (called ? TW_KNOWN_BY_CALL : TW_KNOWN_BY_JUMP) || (p->known && p->entry))
		return 0;
	int error = code->options->place(code->options->context, p->image, p->pc, called, &place);
	p->known = called ? TW_KNOWN_BY_CALL : TW_KNOWN_BY_JUMP;
	p->function = place.function;
	p->kind = place.kind;
	p->lazy = place.lazy;
	p->entry = place.entry;
	return error;
}

/* tw_piece_of_code.plain. */
static uint8_t is_plain(uint8_t end)
{
	return !tw_ends_with_call(end) && end != TW_END_RETURN && end != TW_END_IJUMP;
}

static struct tw_called_fragment *new_fragment(struct tw_calls_code *code, const struct tw_descriptor *d)
{
	const size_t size = sizeof(struct tw_called_fragment) + d->n_blocks * sizeof(struct tw_called_block);
	char *taken = tw_slab_take(&code->counted.slabs, size + 64);
	struct tw_called_fragment *of = taken ? (struct tw_called_fragment *)(void *)(taken + (-(uintptr_t)taken & 63)) : NULL;
	if (!of || !tw_by_fragment_set(&code->counted.fragments, d->number, of))
		return NULL;
	memset(of, 0, size);
	of->descriptor = d;
	for (unsigned i = 0; i < d->n_blocks; i++) {
		const struct tw_block *b = tw_descriptor_blocks(d) + i;
		const uint8_t *bytes = tw_descriptor_insn_bytes(d) + b->first_insn;
		of->block[i].piece = (struct tw_piece_of_code){
		    .descriptor = d,
		    .pc = b->pc,
		    .target = b->target,
		    .function = TW_CALLS_UNKNOWN,
		    .end = b->end,
		    .plain = is_plain(b->end),
		    .end_pc = b->pc + b->bytes,
		    .last_pc = b->pc + b->bytes - bytes[b->n_insns - 1],
		    .image = code->image,
		    .last_block = (uint16_t)i,
		    .last_insn = (uint16_t)(b->first_insn + b->n_insns - 1),
		};
	}
	return of;
}

struct tw_called_fragment *tw_calls_fragment(struct tw_calls_code *code, const struct tw_descriptor *d)
{
	struct tw_called_fragment *of = tw_by_fragment_get(&code->counted.fragments, d->number);
	return of ? of : new_fragment(code, d);
}

/* Pieces do not share cache lines, and are on huge pages: accesses are random. */
static struct tw_piece_of_code *new_row(void)
{
	size_t bytes = TW_PIECES_ROW * sizeof(struct tw_piece_of_code);
	struct tw_piece_of_code *row = tw_array_huge(&bytes);
	return row ? memset(row, 0, bytes) : NULL;
}

struct tw_piece_of_code *tw_calls_new_piece(struct tw_calls_code *code, uint32_t number)
{
	struct tw_counted *c = &code->counted;
	const uint32_t row = number / TW_PIECES_ROW;
	if (row >= c->n_rows) {
		struct tw_piece_of_code **rows = tw_array_zeros(c->rows, row, &c->n_rows, sizeof(struct tw_piece_of_code *));
		if (!rows)
			return NULL;
		c->rows = rows;
	}
	if (!c->rows[row])
		c->rows[row] = new_row();
	return c->rows[row] ? &c->rows[row][number % TW_PIECES_ROW] : NULL;
}

/* The references [from, to) of its stretch are the piece's. */
static void add_refs(struct tw_piece_of_code *p, uint32_t from, uint32_t to)
{
	for (uint32_t i = from; i < to; i++) {
		const uint8_t type = p->stretch->refs[i].type;
		p->cost[1]++;
		p->cost[2] = (uint16_t)(p->cost[2] + (type & TW_READ));
		p->cost[3] = (uint16_t)(p->cost[3] + (type >> 1));
	}
}

/* Block `i` of the stretch becomes the last of the piece. */
static void add_block(struct tw_piece_of_code *p, uint32_t i)
{
	const struct tw_stretch *s = p->stretch;
	const struct tw_block_run *run = &s->blocks[i];
	const struct tw_block *b = tw_descriptor_blocks(run->descriptor) + run->block;
	const uint8_t *bytes = tw_descriptor_insn_bytes(run->descriptor) + b->first_insn;
	const uint32_t end = i + 1 < s->n_blocks ? run[1].first_ref : s->n_refs;
	p->n_blocks++;
	p->descriptor = run->descriptor;
	p->last_block = run->block;
	p->last_insn = (uint16_t)(b->first_insn + b->n_insns - 1);
	p->end_pc = b->pc + b->bytes;
	p->last_pc = p->end_pc - bytes[b->n_insns - 1];
	p->target = b->target;
	p->end = b->end;
	p->plain = is_plain(b->end);
	p->has_slot = tw_slot_of_block(s, i) != UINT32_MAX;
	p->cost[0] = (uint16_t)(p->cost[0] + b->n_insns);
	add_refs(p, run->first_ref, end);
	p->cost[4] = (uint16_t)(p->cost[4] + (b->end == TW_END_COND));
	p->cost[5] = (uint16_t)(p->cost[5] + (b->end == TW_END_IJUMP || b->end == TW_END_ICALL));
}

/* Makes a piece of the references at the start of the stretch, which belong to the block that ran last. */
static void make_lead(struct tw_piece_of_code *p, const struct tw_shape *shape, const struct tw_piece_of_code *of)
{
	*p = (struct tw_piece_of_code){.stretch = shape->stretch, .function = TW_CALLS_UNKNOWN, .lead = 1, .made = 1};
	p->descriptor = of->descriptor;
	p->image = of->image;
	p->last_block = of->last_block;
	p->last_insn = shape->stretch->refs[shape->lead - 1].insn;
	p->owner = of->lead ? of->owner : of->function;
	add_refs(p, 0, shape->lead);
}

/* Moves *at to a new piece after it, unless *at is still empty. NULL: no memory. */
static void new_piece(struct tw_piece_of_code **at)
{
	struct tw_piece_of_code *before = *at;
	if (!before->made)
		return;
	*at = before->next = aligned_alloc(64, sizeof *before);
	before->has_next = before->next != NULL;
}

int tw_calls_divide(struct tw_calls_code *code, struct tw_piece_of_code *first, uint32_t number, int called_there,
                    const struct tw_piece_of_code *newest)
{
	const struct tw_shape *shape = tw_shapes_get(code->shapes, number);
	const struct tw_stretch *s = shape->stretch;
	struct tw_piece_of_code *p = first;
	if (shape->lead && !newest)
		return tw_fail(TW_ERR_DAMAGED, "references without a block");
	if (shape->lead)
		make_lead(first, shape, newest);
	for (uint32_t i = 0; i < s->n_blocks; i++) {
		struct tw_called_fragment *of = tw_calls_fragment(code, s->blocks[i].descriptor);
		struct tw_piece_of_code *block = of ? &of->block[s->blocks[i].block].piece : NULL;
		const int begins = i == 0 || !p->plain;
		const int called = i == 0 ? called_there : block && tw_ends_with_call(p->end) && p->end_pc != block->pc;
		int error = block ? tw_calls_place(code, block, called) : TW_ERR_MEMORY;
		if (error)
			return error;
		if (begins || block->function != p->function) {
			new_piece(&p);
			if (!p)
				return TW_ERR_MEMORY;
			*p = (struct tw_piece_of_code){.stretch = s,
			                               .made = 1,
			                               .pc = block->pc,
			                               .first_block = i,
			                               .image = block->image,
			                               .function = block->function,
			                               .known = block->known,
			                               .entry = block->entry,
			                               .kind = block->kind,
			                               .lazy = block->lazy};
		}
		add_block(p, i);
	}
	return 0;
}

struct tw_own *tw_calls_own(struct tw_calls_code *code, const struct tw_descriptor *d, uint32_t level)
{
	struct tw_called_fragment *of = tw_calls_fragment(code, d);
	if (of && !of->own[level])
		of->own[level] = calloc(d->n_insns, sizeof *of->own[level]);
	return of ? of->own[level] : NULL;
}
