#include "replay/programs.h"
#include "base/numbered.h"
#include "base/zeros.h"
#include "recording/recording.h"
#include "recording/slab.h"
#include "replay/code.h"
#include "replay/counted.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <trackway/analyzer.h>

struct tw_programs {
	struct tw_numbered rows; /* struct tw_program * */
	struct tw_slab *slabs;   /* programs, in the order they were made */
	struct tw_code *code;
	const struct tw_value_map *values;
	uint32_t hot;
};

struct tw_programs *tw_programs_new(uint32_t hot, const struct tw_value_map *values)
{
	struct tw_programs *p = tw_zeros_new(sizeof *p);
	if (!p)
		return NULL;
	p->rows.item = sizeof(struct tw_program *);
	p->values = values;
	if (hot) {
		p->hot = hot;
		p->code = tw_code_new(values);
	}
	return p;
}

void tw_programs_set_addresses(struct tw_programs *p, enum tw_addresses addresses)
{
	if (!p->code)
		return;
	tw_code_set_addresses(p->code, addresses);
	if (addresses != TW_ADDRESSES_ALL && p->hot > TW_PROGRAMS_WARM)
		p->hot = TW_PROGRAMS_WARM;
}

enum tw_addresses tw_addresses_for(uint32_t needs)
{
	if (needs & TW_WANTS_NO_ADDRESSES)
		return TW_ADDRESSES_NONE;
	return needs & TW_WANTS_CALL_ADDRESSES ? TW_ADDRESSES_OF_CALLS : TW_ADDRESSES_ALL;
}

enum tw_addresses tw_programs_addresses(const struct tw_programs *p)
{
	return tw_code_addresses(p->code);
}

enum tw_addresses tw_addresses_of(const struct tw_analyzer *a, const void *arg, unsigned walks, uint64_t *period)
{
	const int counts = (a->needs & TW_WANTS_COUNTS) != 0, lines = (a->needs & TW_WANTS_LINES) != 0;
	*period = (counts || lines) && a->period ? a->period(arg) : 0;
	const int can = counts != lines && (lines ? tw_counted_can_mark(walks) : tw_counted_can_count(walks));
	if (!can || (*period && *period < TW_PERIOD_LEAST))
		return tw_addresses_for(a->needs);
	return counts ? TW_ADDRESSES_COUNTED : TW_ADDRESSES_LINES;
}

struct tw_code *tw_programs_code(const struct tw_programs *p)
{
	return p->code;
}

const struct tw_value_map *tw_programs_values(const struct tw_programs *p)
{
	return p->values;
}

void tw_programs_ran(const struct tw_programs *p, struct tw_program *program, const struct tw_value_slot *slots)
{
	uint32_t runs = atomic_fetch_add_explicit(&program->runs, 1, memory_order_relaxed) + 1;
	if (runs == p->hot && p->code && !tw_code_try_add(p->code, program, slots))
		atomic_store_explicit(&program->runs, runs - 1,
		                      memory_order_relaxed); /* the next time, then: going step by step is quicker than waiting */
}

int tw_programs_make_code(const struct tw_programs *p, struct tw_program *program, const struct tw_value_slot *slots)
{
	if (!p->code)
		return 0;
	if (atomic_exchange_explicit(&program->runs, p->hot, memory_order_relaxed) < p->hot)
		tw_code_add(p->code, program, slots);
	return tw_code_has(p->code, program->descriptor->number);
}

void tw_programs_renew(const struct tw_programs *p, struct tw_program *program, uint64_t values, const struct tw_value_slot *slots)
{
	if (values & ~atomic_fetch_or_explicit(&program->open, values, memory_order_relaxed))
		tw_code_add(p->code, program, slots);
}

void tw_programs_free(struct tw_programs *p)
{
	if (!p)
		return;
	tw_slab_free(p->slabs);
	tw_numbered_free(&p->rows);
	tw_code_free(p->code);
	tw_zeros_free(p, sizeof *p);
}

struct tw_program *const *tw_programs_row(const struct tw_programs *p, uint32_t upper)
{
	static struct tw_program *const none[TW_NUMBERED_ROW];
	struct tw_program *const *row = tw_numbered_row(&p->rows, upper);
	return row ? row : none;
}

_Static_assert(sizeof(struct tw_ref_shape) == offsetof(struct tw_ref_shape, size) + sizeof(uint64_t),
               "a shape is pc and what ops have of it");

static uint8_t slot_of(uint8_t reg)
{
	return reg < TW_NREGS ? reg : TW_SLOT_ZERO;
}

static uint8_t slot_of_segment(uint8_t seg)
{
	return seg == TW_SEG_FS ? TW_SLOT_FS : seg == TW_SEG_GS ? TW_SLOT_GS : TW_SLOT_ZERO;
}

static int plain(const struct tw_op *op)
{
	return op->kind == TW_OP_RECORD || ((op->kind == TW_OP_SET || op->kind == TW_OP_REF) && !op->flags);
}

static struct tw_step plain_step(const struct tw_op *op)
{
	struct tw_step s = {
	    .shape = tw_ref_shape(op->size, op->insn, op->type),
	    .kind = TW_STEP_PLAIN,
	    .dest = op->kind == TW_OP_RECORD ? op->base
	            : op->kind == TW_OP_SET  ? (uint8_t)op->count
	                                     : TW_SLOT_NOWHERE,
	    .index = TW_SLOT_ZERO,
	    .seg = TW_SLOT_ZERO,
	    .flags = op->kind == TW_OP_RECORD ? TW_STEP_VALUE
	             : op->kind == TW_OP_REF  ? TW_STEP_REF
	                                      : 0,
	    .base = op->value,
	};
	if (op->kind == TW_OP_RECORD)
		return s;
	s.disp = op->disp;
	s.base = slot_of(op->base);
	s.index = slot_of(op->index);
	s.scale = op->scale;
	if (op->kind == TW_OP_REF)
		s.seg = slot_of_segment(op->seg);
	return s;
}

static struct tw_step step_of(const struct tw_op *op, uint16_t number)
{
	if (plain(op))
		return plain_step(op);
	return (struct tw_step){.shape = tw_ref_shape(op->size, op->insn, op->type), .kind = TW_STEP_OTHER, .base = number};
}

static uint32_t max_refs(const struct tw_descriptor *d)
{
	const struct tw_op *op = tw_descriptor_ops(d);
	uint32_t n = 0;
	for (unsigned i = 0; i < d->n_ops; i++)
		n += op[i].kind == TW_OP_LANES ? op[i].count : (unsigned)tw_op_is_ref(&op[i]);
	return n;
}

/* Notes at each step that is not plain, and for the start, how many plain ones follow. */
static void count_plain(struct tw_program *p, const struct tw_step *last)
{
	struct tw_step *before = NULL;
	uint32_t n = 0;
	for (struct tw_step *s = p->step; s <= last; s++, n++) {
		if (s->kind == TW_STEP_PLAIN)
			continue;
		if (before)
			before->disp = n;
		else
			p->n_plain = n;
		before = s;
		n = UINT32_MAX;
	}
}

/* Writes the steps of *p: the operations, and a marker step where a block other than the first starts. */
static void fill_steps(struct tw_program *p)
{
	const struct tw_descriptor *d = p->descriptor;
	const struct tw_block *b = tw_descriptor_blocks(d);
	const struct tw_op *op = tw_descriptor_ops(d);
	const uint8_t *bytes = tw_descriptor_insn_bytes(d);
	struct tw_step *s = p->step;
	unsigned next_op = 0;
	for (unsigned k = 0; k < d->n_blocks; k++) {
		uint64_t pc = b[k].pc;
		if (k)
			*s++ = (struct tw_step){
			    .kind = TW_STEP_BLOCK, .base = (uint16_t)k, .pc = pc, .shape = tw_ref_shape(0, b[k].first_insn, 0)};
		for (unsigned insn = b[k].first_insn; insn < (unsigned)b[k].first_insn + b[k].n_insns; pc += bytes[insn++]) {
			for (; next_op < d->n_ops && op[next_op].insn == insn; next_op++) {
				if (op[next_op].kind == TW_OP_WRITTEN)
					continue;
				*s = step_of(&op[next_op], (uint16_t)next_op);
				s++->pc = pc;
			}
		}
	}
	*s = (struct tw_step){.kind = TW_STEP_END};
	count_plain(p, s);
}

/* The address of each instruction, for fragments whose references are logged by instruction. */
static const uint64_t *insn_pcs(struct tw_programs *programs, const struct tw_descriptor *d)
{
	const struct tw_block *b = tw_descriptor_blocks(d);
	const uint8_t *bytes = tw_descriptor_insn_bytes(d);
	uint64_t *pcs = tw_slab_take(&programs->slabs, d->n_insns * sizeof *pcs);
	for (unsigned k = 0; pcs && k < d->n_blocks; k++) {
		uint64_t pc = b[k].pc;
		for (unsigned i = 0; i < b[k].n_insns; i++) {
			pcs[b[k].first_insn + i] = pc;
			pc += bytes[b[k].first_insn + i];
		}
	}
	return pcs;
}

static struct tw_program *compile(struct tw_programs *programs, const struct tw_descriptor *d)
{
	size_t n_steps = (size_t)d->n_ops + d->n_blocks;
	struct tw_program *p = tw_slab_take(&programs->slabs, sizeof *p + n_steps * sizeof(struct tw_step));
	if (!p)
		return NULL;
	*p = (struct tw_program){
	    .descriptor = d,
	    .n_values = d->n_values,
	    .loops = (d->flags & TW_DESC_LOOP) != 0,
	};
	fill_steps(p);
	if (d->format == TW_FORMAT_CALL) {
		p->insn_pc = insn_pcs(programs, d);
		return p->insn_pc ? p : NULL;
	}
	return p;
}

int tw_programs_add(struct tw_programs *p, const struct tw_descriptor *d)
{
	if (!tw_descriptor_valid(d, d->bytes) || d->n_blocks > TW_PROGRAM_MAX || max_refs(d) > TW_PROGRAM_MAX)
		return tw_fail(TW_ERR_DAMAGED, "the descriptor of fragment %u", d->number);
	struct tw_program **row = tw_numbered_add_row(&p->rows, d->number >> 16);
	struct tw_program *program = row ? compile(p, d) : NULL;
	if (!program)
		return tw_fail(TW_ERR_MEMORY, "descriptors");
	row[d->number & 0xffff] = program;
	return TW_OK;
}
