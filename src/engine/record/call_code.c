#include "engine/record/call_code.h"
#include "engine/heap.h"
#include "engine/record/clean_call.h"
#include "engine/record/instrumentor.h"
#include "engine/record/log.h"
#include "engine/x86_64/glue.h"

static bool is_reference(const struct memop *m)
{
	return !tw_op_is_update(&m->op);
}

/* The first instruction of this one's record: in the tagged form, each block has a record of its own. */
static u32 first_of_record(const struct tw_recorded *f, u32 insn)
{
	return tw_tags_used() ? tw_piece_of(f, insn)->first_insn : 0;
}

/* Does log_before only work its address out? */
static bool is_plain(const struct tw_op *op)
{
	return op->kind != TW_OP_BIT && op->kind != TW_OP_LANES && op->kind != TW_OP_XSAVE && op->kind != TW_OP_REP;
}

static struct call_site *emit_call(struct emit *e, struct tw_recorded *f, u8 what, unsigned insn, const struct memop *op, u16 n_ops,
                                   u32 bound)
{
	struct call_site *s = tw_heap(sizeof *s);
	s->f = f;
	s->what = what;
	s->insn = (u16)insn;
	s->n_ops = n_ops;
	s->bound = bound;
	s->op = tw_heap(n_ops * sizeof *op);
	if (op)
		memcpy(s->op, op, n_ops * sizeof *op);
	s->plain = what == CALL_BEFORE;
	for (u16 k = 0; k < n_ops; k++) {
		s->vectors |= op[k].op.kind == TW_OP_LANES;
		s->plain = s->plain && is_plain(&op[k].op);
		s->op[k].op.insn = (u8)(op[k].op.insn - first_of_record(f, op[k].op.insn));
	}
	emit_mov_gs_imm(e, T_CC_INFO, (u32)(u64)s);
	emit_mov_gs_imm(e, T_CC_RET, (u32)(u64)(e->at + 12 + 5));
	emit_jmp(e, (const u8 *)tw_clean_call);
	return s;
}

/* Most entries of the log that one execution of the block can make. */
static u32 log_bound(const struct block *b)
{
	u32 n = 0;
	for (u16 k = 0; k < b->n_ops; k++) {
		const struct tw_op *op = &b->op[k].op;
		n += op->kind == TW_OP_LANES ? op->count : op->kind == TW_OP_REP ? 2 * TW_LOG_LISTED : 1;
	}
	return n;
}

void tw_call_entry(struct emit *e, const struct block *b, struct tw_recorded *f, u16 part, u32 record_bytes)
{
	u64 pc = b->part[part].pc + b->part[part].lead;
	u32 event = (u32)(sizeof(struct tw_event_header) + sizeof(struct tw_refs) + log_bound(b) * sizeof(struct tw_logged_ref));
	u32 partial = (u32)(sizeof(struct tw_event_header) + sizeof(struct tw_partial));
	event += b->n_parts * (u32)(sizeof(struct tw_event_header) + sizeof(struct tw_refs) + 4); /* tagged form: one for each */
	struct call_site *s = emit_call(e, f, CALL_ENTRY, 0, NULL, 0, part ? 0 : record_bytes + event + partial + 24);
	s->pc = pc;
}

/* References of instruction i: a contiguous part of its memops; SETs come last. */
static u16 count_references(const struct block *b, unsigned i)
{
	u16 n = 0;
	while (n < b->insn[i].n_ops && is_reference(&b->op[b->insn[i].first_op + n]))
		n++;
	return n;
}

void tw_call_before(struct emit *e, const struct block *b, struct tw_recorded *f, unsigned i)
{
	u16 n = count_references(b, i);
	if (n && b->insn[i].kind != INSN_BAD)
		emit_call(e, f, CALL_BEFORE, i, &b->op[b->insn[i].first_op], n, 0);
}

void tw_call_after(struct emit *e, const struct block *b, struct tw_recorded *f, unsigned i)
{
	if (count_references(b, i) && b->op[b->insn[i].first_op].op.kind == TW_OP_REP)
		emit_call(e, f, CALL_AFTER, i, &b->op[b->insn[i].first_op], 1, 0);
}

void tw_call_close(struct emit *e, struct tw_recorded *f)
{
	emit_call(e, f, CALL_CLOSE, 0, NULL, 0, 0);
}

void tw_call_tell(struct emit *e, struct tw_recorded *f, u8 path)
{
	emit_call(e, f, CALL_TELL, path, NULL, 0, 0);
}
