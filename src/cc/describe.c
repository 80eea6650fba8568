#include "cc/describe.h"
#include "cc/pointer.h"
#include "base/cc_section.h"

#include <stdlib.h>

struct bytes {
	uint8_t at[16384];
	uint32_t n;
};

static void put8(struct bytes *b, unsigned v)
{
	if (b->n < sizeof b->at)
		b->at[b->n++] = (uint8_t)v;
}

static void put16(struct bytes *b, unsigned v)
{
	put8(b, v & 0xff);
	put8(b, v >> 8);
}

static void put64(struct bytes *b, int64_t v)
{
	for (int k = 0; k < 64; k += 8)
		put8(b, (unsigned)((uint64_t)v >> k & 0xff));
}

/* ---- operations ---- */

struct patch {
	uint8_t what, at; /* TW_CC_NO_PATCH: none */
};

static int is_lea(const struct tw_cc_insn *i)
{
	return i->d.raw[i->disp_at - 2] == 0x8d || (i->disp_at > 2 && i->d.raw[i->disp_at - 3] == 0x8d);
}

/* Where the linked code has this operation's displacement or constant. */
static struct patch patch_of(const struct tw_cc_insn *i, const struct tw_op *op)
{
	const int is_operand =
	    i->disp_patch != TW_CC_NO_PATCH && op->base == i->mem_base && (op->index == i->mem_index || op->kind == TW_OP_LANES);
	if (op->kind == TW_OP_RECORD)
		return (struct patch){TW_CC_NO_PATCH, 0};
	if (tw_op_is_update(op)) {
		if (i->imm_patch != TW_CC_NO_PATCH)
			return (struct patch){i->imm_patch, i->imm_at};
		if (!is_operand || !is_lea(i))
			return (struct patch){TW_CC_NO_PATCH, 0};
	}
	return is_operand ? (struct patch){i->disp_patch, i->disp_at} : (struct patch){TW_CC_NO_PATCH, 0};
}

static unsigned fields_of(const struct tw_op *op, const struct patch *patch)
{
	unsigned fields = 0;
	fields |= op->base != TW_NOREG ? TW_CC_BASE : 0;
	fields |= op->index != TW_NOREG || op->scale ? TW_CC_INDEX : 0;
	fields |= op->seg ? TW_CC_SEG : 0;
	fields |= op->type || op->size ? TW_CC_TYPE : 0;
	fields |= op->flags ? TW_CC_FLAGS : 0;
	fields |= op->count ? TW_CC_COUNT : 0;
	fields |= op->value ? TW_CC_VALUE : 0;
	fields |= op->mask_value || op->index_width || op->mask_width ? TW_CC_LANES : 0;
	if (patch->what != TW_CC_NO_PATCH)
		return fields | TW_CC_PATCHED;
	if (op->disp)
		fields |= op->disp == (int8_t)op->disp ? TW_CC_DISP8 : TW_CC_DISP64;
	return fields;
}

static void put_patch(struct bytes *b, const struct tw_cc_insn *i, const struct patch *patch)
{
	const int is_relative = (patch->what & ~TW_CC_GOT) == TW_CC_RELATIVE;
	put8(b, patch->what);
	put8(b, patch->at);
	put8(b, is_relative ? i->d.len : 0);
	if (patch->what & TW_CC_GOT)
		put8(b, i->was);
}

static void put_op(struct bytes *b, const struct tw_cc_insn *i, const struct tw_op *op)
{
	const struct patch patch = patch_of(i, op);
	const unsigned fields = fields_of(op, &patch);
	put8(b, op->kind);
	put8(b, op->insn);
	put16(b, fields);
	if (fields & TW_CC_BASE)
		put8(b, op->base);
	if (fields & TW_CC_INDEX) {
		put8(b, op->index);
		put8(b, op->scale);
	}
	if (fields & TW_CC_SEG)
		put8(b, op->seg);
	if (fields & TW_CC_TYPE) {
		put8(b, op->type);
		put16(b, op->size);
	}
	if (fields & TW_CC_FLAGS)
		put8(b, op->flags);
	if (fields & TW_CC_COUNT)
		put16(b, op->count);
	if (fields & TW_CC_VALUE)
		put16(b, op->value);
	if (fields & TW_CC_DISP8)
		put8(b, (unsigned)op->disp & 0xff);
	if (fields & TW_CC_DISP64)
		put64(b, op->disp);
	if (fields & TW_CC_LANES) {
		put16(b, op->mask_value);
		put8(b, op->index_width);
		put8(b, op->mask_width);
	}
	if (fields & TW_CC_PATCHED)
		put_patch(b, i, &patch);
}

/* ---- blocks ---- */

static void print_bytes(FILE *out, const struct bytes *b)
{
	for (uint32_t k = 0; k < b->n; k++)
		fprintf(out, k % 32 ? ",%u" : k ? "\n\t.byte %u" : "\t.byte %u", b->at[k]);
	if (b->n)
		fputc('\n', out);
}

/* Prints the place behind instruction k, the last of block n: the start of the block it falls into, or the end of its own code. */
static void print_end(FILE *out, const struct tw_cc_flow *f, uint32_t n, uint32_t k)
{
	const struct tw_cc_insn *i = &f->code->insn[k];
	const int32_t fall = f->block[n].fall;
	if (fall >= 0 && f->block[fall].first == k + 1 && i[1].section == i->section && !f->code->function[i[1].function].why)
		fprintf(out, TW_CC_LABEL_INSN, k + 1);
	else
		fprintf(out, TW_CC_LABEL_END, n);
}

static void print_lengths(FILE *out, const struct tw_cc_flow *f, uint32_t n)
{
	const struct tw_cc_block_info *b = &f->block[n];
	for (uint32_t k = b->first; k < b->first + b->n; k++) {
		fprintf(out, "\t.byte ");
		if (k + 1 < b->first + b->n)
			fprintf(out, TW_CC_LABEL_INSN, k + 1);
		else
			print_end(out, f, n, k);
		fprintf(out, "-" TW_CC_LABEL_INSN "\n", k);
	}
}

/* Where its record is while it is being written. */
static void print_place(FILE *out, const struct tw_cc_buffer *b, const struct tw_cc_loop *l)
{
	fprintf(out, "\t.byte %u,%u,%u,%u\n", b->reg, b->offset, b->borrows ? b->reg : TW_NOREG, l->borrowed ? l->counter : TW_NOREG);
}

static unsigned glued_flags(const struct tw_cc_insn *last)
{
	return (last->glued ? TW_CC_GLUED : 0u) | (last->glued && last[-1].glued ? TW_CC_GLUED_FOUR : 0u);
}

static void describe_block(FILE *out, const struct tw_cc_described *d, uint32_t n, const struct tw_cc_record *r)
{
	const struct tw_cc_flow *f = d->flow;
	static struct bytes b; /* one at a time */
	const struct tw_cc_block_info *info = &f->block[n];
	b.n = 0;
	for (uint32_t k = 0; k < r->n_ops; k++)
		put_op(&b, &f->code->insn[info->first + r->op[k].insn], &r->op[k]);
	fprintf(out, "\t.short %zu\n", sizeof(struct tw_cc_block) + info->n + b.n);
	fprintf(out, "\t.long " TW_CC_LABEL_INSN "-.," TW_CC_LABEL_TAG "-2-.\n", info->first, n);
	const struct tw_cc_callee *callee = tw_cc_callee_of(f, info);
	const int32_t target = callee ? callee->entry : info->target;
	if (target >= 0)
		fprintf(out, "\t.long " TW_CC_LABEL_INSN "-.\n", f->block[target].first);
	else
		fprintf(out, "\t.long 0\n");
	fprintf(out, "\t.short %u,%u\n\t.byte %u,%u,%u,%u\n", r->n_values, d->known ? d->known[n].in : 0, info->n, r->n_ops, info->end,
	        r->flags | glued_flags(tw_cc_last(f, info)));
	print_place(out, &d->buffer[n], &d->loop[n]);
	fprintf(out, "\t.byte " TW_CC_LABEL_INSN "-" TW_CC_LABEL_LEAD "\n", info->first, n);
	print_lengths(out, f, n);
	print_bytes(out, &b);
}

int tw_cc_describe(FILE *out, const struct tw_cc_described *d, uint32_t from, uint32_t to)
{
	struct tw_cc_record *r = malloc(sizeof *r);
	if (!r)
		return -1;
	fprintf(out, "\t.pushsection " TW_CC_SECTION ",\"aR?\",@progbits\n" TW_CC_SECTION_ENDS(TW_CC_SECTION));
	fprintf(out, ".LtwP%u:\n\t.long %u,%u,.LtwQ%u-.LtwP%u,%u,0,", from, TW_CC_MAGIC, TW_CC_VERSION, from, from, to - from);
	fprintf(out, TW_CC_LABEL_WORD "-.,%d,0\n", d->flow->large);
	for (uint32_t n = from; n < to; n++) {
		tw_cc_plan_block(d->flow, d->known, n, r);
		if (d->loop[n].counter != TW_NOREG) {
			r->n_values = 1;
			r->flags |= TW_DESC_LOOP;
		}
		if (d->flow->code->insn[d->flow->block[n].first].joint)
			r->flags |= TW_DESC_INSERTED;
		describe_block(out, d, n, r);
	}
	fprintf(out, ".LtwQ%u:\n\t.popsection\n", from);
	free(r);
	return 0;
}
