#include "engine/code/translate.h"
#include "engine/record/budget.h"
#include "engine/record/buffer.h"
#include "engine/code/close.h"
#include "engine/code/fragments.h"
#include "engine/code/lookup.h"
#include "engine/code/make.h"
#include "engine/code/relocate.h"
#include "engine/code/tables.h"
#include "engine/record/describe.h"
#include "engine/code/memory.h"
#include "engine/code/module.h"
#include "engine/code/pace.h"
#include "engine/thread.h"
#include "engine/x86_64/decode.h"
#include "engine/code/exits.h"
#include "engine/code/loop.h"
#include "engine/code/show.h"
#include "engine/code/version.h"
#include "engine/record/calls.h"
#include "engine/record/stamp.h"
#include "engine/record/tally_code.h"
#include "engine/record/instrumentor.h"
#include "engine/record/store.h"
#include "engine/record/call_code.h"
#include "engine/heap.h"
#include "engine/counts.h"

#define MAX_TURNS 8u /* of a loop in one superblock */

/* One translation at a time: under the engine's lock. */
static struct block block;
static struct plan plan;

/* ---- decoding ---- */

struct decode_args {
	u64 pc, limit;
};

static void decode_guarded(void *arg)
{
	const struct decode_args *a = arg;
	tw_decode_block(&block, a->pc, a->limit);
}

/* Cuts a block of one part to its first n instructions. */
static void truncate(struct block *b, u16 n)
{
	struct part *p = &b->part[0];
	p->n_insns = n;
	p->end = TW_END_FALL;
	p->target = 0;
	p->bytes = p->lead;
	for (u16 k = 0; k < n; k++)
		p->bytes += b->insn[k].span;
	p->next = p->pc + p->bytes;
	tw_decode_cut(b, 1);
}

/* Decodes the path as far as it is still valid: code may have changed since it was observed. */
static void decode_superblock(void *arg)
{
	const struct tw_path *path = arg;
	bool beyond_file;
	block.n_parts = 0;
	for (u32 k = 0; k < path->n; k++) {
		const u64 limit = tw_memory_code_end(path->pc[k], &beyond_file);
		if (limit == path->pc[k])
			return;
		if (k == 0)
			tw_decode_block(&block, path->pc[k], limit);
		else if (!tw_exits_follows(&block, (u16)(k - 1), path->pc[k]) || !tw_decode_part(&block, path->pc[k], limit))
			return;
		const struct insn *first = &block.insn[block.part[k].first_insn];
		const bool comes_by = tw_calls_stops_at(path->pc[k]);
		if (first->cut || comes_by || tw_stamp_wanted(first)) {
			if (k)
				tw_decode_cut(&block, (u16)k); /* it stands alone */
			else if (first->cut || comes_by)
				block.n_parts = 0;
			return;
		}
	}
}

/* A register no instruction of the block touches, to hold the buffer pointer; the block is shortened until there is one. */
static u8 choose_t(struct block *b)
{
	static const u8 choice[] = {TW_R9, TW_R8, TW_R15, TW_R14, TW_R13, TW_R12, TW_RSI, TW_RDI, TW_RDX, TW_RBX, TW_RBP, TW_RAX};
	while (b->uses >> BUF_REG & 1) {
		for (unsigned k = 0; k < sizeof choice; k++)
			if (!(b->uses >> choice[k] & 1))
				return choice[k];
		if (b->n_parts > 1)
			tw_decode_cut(b, b->n_parts - 1);
		else
			truncate(b, b->n_insns / 2);
	}
	return TW_NOREG;
}

/* ---- fragments ---- */

/* The most that the records of f take. */
static u32 most_bytes(const struct fragment *f, const struct block *b)
{
	return f->rec.record_bytes + 8u * plan.n_values + b->n_parts * (TW_ESCAPE_BYTES + TW_ZERO_BYTES);
}

static void emit_enter(struct emit *e, const struct block *b)
{
	struct fragment *f = e->f;
	const struct instrumentor *in = tw_instr();
	if (f->rec.map.c_reg != TW_NOREG) {
		tw_loop_enter(e, b);
		return;
	}
	e->buf = BUF_REG;
	emit_state(e, 0, STATE_NOT_OPEN | STATE_CLOSED);
	if (f->rec.order)
		tw_stamp_emit(e, &b->insn[0], false, STATE_NOT_OPEN | STATE_CLOSED);
	if (tw_budget_tests())
		tw_version_test(e, b);
	if (in->entry)
		in->entry(e, b);
	if (in->records)
		tw_emit_number(e);
	emit_state(e, 0, 0);
	if (tw_logs())
		tw_call_entry(e, b, &f->rec, 0, most_bytes(f, b));
	if (f->rec.map.t_reg != TW_NOREG) {
		emit_mov_gs_reg(e, T_SLOT_T, f->rec.map.t_reg);
		emit_mov_reg_reg(e, f->rec.map.t_reg, BUF_REG);
		emit_state(e, 0, STATE_T_SLOT);
		emit_mov_reg_gs(e, BUF_REG, T_APP_R11);
		e->buf = f->rec.map.t_reg;
	}
}

static bool is_rep(const struct block *b, unsigned k)
{
	return b->insn[k].n_ops && b->op[b->insn[k].first_op].op.kind == TW_OP_REP;
}

/* Instruction k may be the first of a counted block (a point). */
static void emit_pace(struct emit *e, const struct block *b, unsigned k)
{
	for (u16 p = 0; p < b->n_parts; p++) {
		const u32 point = b->part[p].first_insn == k ? tw_pace_point(b->part[p].pc) : 0;
		if (point)
			tw_pace_emit(e, (u8)k, tw_close_swapped(e), point);
	}
}

static void emit_body(struct emit *e, const struct block *b)
{
	const struct tw_tally_place early = tw_tally_place(e, b);
	u16 part = 0;
	for (unsigned k = 0; k < b->n_insns; k++) {
		if (tw_tags_used() && part + 1 < b->n_parts && b->part[part + 1].first_insn == k)
			tw_emit_next_tag(e, b, ++part, e->f->rec.piece, tw_close_swapped(e));
		emit_state(e, (u8)k, tw_close_swapped(e));
		emit_pace(e, b, k);
		tw_emit_stores(e, b, &plan, k, false);
		if (tw_logs())
			tw_call_before(e, b, e->rec, k);
		const u32 until_run = k == early.insn ? tw_tally_emit_early(e, early, tw_close_swapped(e)) : 0;
		emit_state(e, (u8)k, tw_close_swapped(e) | until_run);
		if (b->insn[k].kind != INSN_PLAIN) {
			if (k + 1u == b->n_insns)
				return;
			tw_exits_within(e, b, k);
			continue;
		}
		if (is_rep(b, k))
			emit_state(e, (u8)k, tw_close_swapped(e) | STATE_IN_REP);
		tw_relocate(e, b, k);
		emit_state(e, (u8)(k + 1), tw_close_swapped(e));
		tw_emit_stores(e, b, &plan, k, true);
		if (tw_logs())
			tw_call_after(e, b, e->rec, k);
	}
}

/* What the fragment has been made from. */
static void keep_origin(struct fragment *f, const struct block *b)
{
	f->module = tw_module_at(f->rec.piece[0].pc, f->rec.piece[0].bytes);
	for (u16 k = 1; k < f->rec.n_pieces; k++)
		if (tw_module_at(f->rec.piece[k].pc, f->rec.piece[k].bytes) != f->module)
			f->module = 0;
	u64 hash = 0;
	for (u16 k = 0; f->module && k < b->n_parts; k++)
		hash = tw_fragment_hash(hash, (const u8 *)b->part[k].pc, b->part[k].bytes);
	f->code_hash = (u32)(hash >> 32);
}

/* Where the fragment's instructions are. */
static void keep_pieces(struct fragment *f, const struct block *b)
{
	f->rec.n_insns = b->n_insns;
	f->rec.n_pieces = b->n_parts;
	f->rec.piece = tw_heap(b->n_parts * sizeof *f->rec.piece);
	for (u16 k = 0; k < b->n_parts; k++)
		f->rec.piece[k] = (struct piece){.pc = b->part[k].pc,
		                                 .bytes = b->part[k].bytes,
		                                 .first_insn = b->part[k].first_insn,
		                                 .end = b->part[k].end,
		                                 .lead = (u8)b->part[k].lead};
	keep_origin(f, b);
}

/* Its side exits. */
static void keep_sides(struct fragment *f, const struct block *b, const struct plan *p)
{
	if (b->n_parts > 1)
		f->rec.side = tw_heap((b->n_parts - 1u) * sizeof *f->rec.side);
	for (u16 k = 0; k + 1 < b->n_parts; k++) {
		u16 n = b->part[k + 1].first_insn;
		u64 next = b->part[k + 1].pc;
		if (!tw_exits_has_side(b, n - 1u))
			continue;
		f->rec.side[f->rec.n_sides++] = (struct side_exit){
		    .pc = next == b->part[k].target ? b->part[k].next : b->part[k].target,
		    .context = p->after[n - 1].context,
		    .record_bytes = (u16)(f->rec.head + 8 * p->after[n - 1].n_placed),
		    .statuses = p->after[n - 1].statuses,
		    .end = b->part[k].end,
		    .n_insns = n,
		};
	}
}

/* The values stored after their instruction: a signal that comes in between makes up for them (record/partial.h). */
static void keep_after_stores(struct fragment *f, const struct plan *p)
{
	u16 n = 0;
	for (u16 k = 0; k < p->n_stores; k++)
		n += p->store[k].after;
	if (!n)
		return;
	f->rec.after = tw_heap(n * sizeof *f->rec.after);
	for (u16 k = 0; k < p->n_stores; k++)
		if (p->store[k].after)
			f->rec.after[f->rec.n_after++] = (struct after_store){p->store[k].insn, p->store[k].reg, p->store[k].slot};
}

static void tell_unrecorded(u64 pc)
{
	static const struct tw_gap gap = {TW_GAP_WITHIN, 0};
	char text[96];
	tw_format(text, sizeof text, "the references of the tile instruction at %lx are not recorded", (unsigned long)pc);
	tw_buffer_event(tw_thread_self(), TW_EVENT_GAP, &gap, sizeof gap, text, (u32)strlen(text) + 1);
}

/* f was reached by x, an indirect exit: its lookup for that, right before it. NULL: x is not indirect, or the upper half changes. */
static struct fragment *adjacent_lookup(struct fragment *f, const struct exit *x)
{
	if (!tw_exit_is_indirect(x) || (!tw_tags_used() && x->upper != f->rec.upper_in))
		return NULL;
	const u8 *next = (const u8 *)*tw_table_slot(f->rec.pc, x->upper, tw_exit_lookup_kind(x), x->context);
	return tw_lookup_make(f, x, next, true);
}

/* Tagged form: a superblock has no descriptor. Each of its blocks has the tag of the single-block fragment of that block. */
static void use_tags(struct fragment *f, const struct block *b)
{
	f->rec.number = 0;
	f->rec.tag = b->part[0].tag;
	tw_describe_tagged(&f->rec, b->part[b->n_parts - 1].tag);
}

/* Tagged form: where the values are in the records of the blocks, and how long these are at the exits. */
static void keep_records(struct fragment *f, struct block *b, const struct plan *p)
{
	u16 placed = 0, side = 0;
	if (b->n_parts == 1)
		b->part[0].tag = f->rec.tag;
	for (u16 k = 0; k < b->n_parts; k++) {
		const u16 last = (u16)(b->part[k].first_insn + b->part[k].n_insns - 1), end = p->after[last].n_placed;
		const u16 head = k ? tw_tag_bytes(b->part[k - 1].tag, b->part[k].tag) : f->rec.head;
		f->rec.piece[k].values = (int16_t)(head - 8 * placed);
		f->rec.record_bytes = f->rec.piece[k].record_bytes = (u16)(head + 8 * (end - placed));
		placed = end;
		if (k + 1 == b->n_parts || !tw_exits_has_side(b, last))
			continue;
		f->rec.side[side].record_bytes = f->rec.record_bytes;
		f->rec.side[side++].upper = (u16)(b->part[k].tag >> 16);
	}
}

/*
 * Tagged form: cuts the path at a block that is not the one of its address, or that has a value to be stored after
 * its last instruction. False: nothing is left of it.
 */
static bool find_tags(struct block *b)
{
	u16 n = 0;
	for (; n < b->n_parts; n++) {
		const struct part *p = &b->part[n];
		const struct fragment *f = tw_fragment_plain(p->pc);
		if (!f || !f->rec.descriptor || f->rec.n_insns != p->n_insns || f->rec.end != p->end)
			break;
		b->part[n].tag = f->rec.tag;
		if (is_rep(b, p->first_insn + p->n_insns - 1u)) {
			n++;
			break;
		}
	}
	if (n > 1 && n < b->n_parts)
		tw_decode_cut(b, n);
	return n > 1;
}

/* Plans the block; a superblock is shortened until its record is small enough. */
static void make_plan(struct block *b, u32 context)
{
	for (;;) {
		plan.n_ops = plan.n_stores = plan.n_values = 0;
		plan.flags = 0;
		memset(plan.after, 0, b->n_insns * sizeof *plan.after);
		if (tw_instr()->plan)
			tw_instr()->plan(b, context, &plan);
		if (plan.n_values <= BLOCK_MAX_VALUES || b->n_parts == 1)
			return;
		tw_decode_cut(b, b->n_parts - 1);
	}
}

/* Plans `block`, which may become shorter by that. Returns the register that holds the buffer pointer in place of r11, or TW_NOREG. */
static u8 prepare(u32 context)
{
	u8 t_reg = tw_instr()->records ? choose_t(&block) : TW_NOREG;
	make_plan(&block, context);
	return t_reg;
}

static u16 defs_of(const struct block *b)
{
	u16 defs = 0;
	for (u16 k = 0; k < b->n_insns; k++)
		defs |= b->insn[k].defs;
	return defs;
}

/* The layout of the record of f, made of `block`, and its exits. */
static void keep_record(struct fragment *f)
{
	const struct instrumentor *in = tw_instr();
	f->rec.number = UNRECORDED_NUMBER; /* till it has one of its own */
	f->rec.head = (u8)tw_record_head(in->format);
	keep_sides(f, &block, &plan);
	keep_after_stores(f, &plan);
	f->rec.ticks = tw_bits_used() && tw_fragment_loops(f);
	plan.flags |= f->rec.ticks ? TW_DESC_TICK : 0;
	if (tw_tags_used() && block.n_parts > 1)
		use_tags(f, &block);
	else if (in->records)
		tw_describe(&f->rec, &block, &plan);
	if (tw_tags_used())
		keep_records(f, &block, &plan);
	else
		f->rec.record_bytes = (u16)(f->rec.head + 8 * plan.after[block.n_insns - 1].n_placed);
	f->rec.statuses = plan.after[block.n_insns - 1].statuses;
}

static void count(const struct fragment *f)
{
	tw_count(TW_COUNT_INSNS, f->rec.n_insns);
	for (u32 k = 0; k < f->rec.n_pieces; k++)
		tw_count(TW_COUNT_CODE_BYTES, f->rec.piece[k].bytes);
}

/* Makes a fragment of `block`, which has been prepared. c_reg: it is a loop, and counts there; else TW_NOREG. */
static struct fragment *translate_block(u32 context, u8 t_reg, u8 c_reg, struct exit *x, struct fragment **lookup)
{
	struct fragment *f = tw_make_new(FRAGMENT_CODE, block.pc);
	f->rec.map.t_reg = t_reg;
	f->rec.map.c_reg = c_reg;
	const struct part *last = &block.part[block.n_parts - 1];
	f->rec.context = context;
	f->pc_target = last->target;
	f->pc_fall = last->next;
	f->rec.end = last->end;
	f->end_context = plan.after[block.n_insns - 1].context;
	f->rec.order = tw_stamp_wanted(&block.insn[0]) ? block.insn[0].order : 0;
	keep_pieces(f, &block);
	f->rec.upper_in = f->rec.upper_out = UNRECORDED_NUMBER >> 16;
	if (tw_recorder.whole->records)
		keep_record(f);
	if (lookup)
		*lookup = adjacent_lookup(f, x);
	struct emit *e = tw_make_begin(f, tw_bits_announced(&f->rec) ? NULL : x);
	if (!e)
		return NULL;
	if (block.unrecorded)
		tell_unrecorded(block.unrecorded);
	e->defs = defs_of(&block);
	emit_enter(e, &block);
	emit_body(e, &block);
	tw_exits_end(e, &block, &plan);
	tw_make_finish(f, &block);
	count(f);
	for (u32 k = 0; k < f->rec.n_pieces; k++)
		tw_memory_watch(f->rec.piece[k].pc, f->rec.piece[k].bytes);
	if (tw_engine.control->dump_all || tw_engine.control->dump_pc == block.pc)
		tw_show_fragment(f, &block, &plan);
	return f;
}

struct fragment *tw_translate(u64 pc, u32 context, u64 limit, struct exit *x, struct fragment **lookup)
{
	struct decode_args args = {pc, limit};
	tw_memory_watch(pc, 1);
	tw_with_decoder(decode_guarded, &args);
	if (block.insn[0].cut)
		return NULL;
	struct fragment *f = translate_block(context, prepare(context), TW_NOREG, x, lookup);
	if (!f) {
		tw_engine_fail(TW_FAILURE_ENGINE, "the code cache is full");
		__builtin_trap();
	}
	return f;
}

/* Repeats the path as often as there is room for, so that one record holds several iterations. False: once. */
static bool unroll(struct tw_path *path)
{
	const u32 n = path->n;
	if (tw_form_now() != TW_FORM_PLAIN)
		return false;
	while (path->n + n <= TW_TRACE_BLOCKS && path->n < MAX_TURNS * n) {
		memcpy(path->pc + path->n, path->pc, n * sizeof *path->pc);
		path->n += n;
	}
	return path->n > n;
}

/* Decodes and plans the path. False: nothing is left of it, or in the tagged form only a block that exists already. */
static bool prepare_path(struct tw_path *path, u8 *t_reg)
{
	tw_with_decoder(decode_superblock, path);
	if (block.n_parts == 0 || (tw_tags_used() && !find_tags(&block)))
		return false;
	*t_reg = prepare(path->context);
	return !tw_tags_used() || block.n_parts > 1;
}

struct fragment *tw_translate_superblock(const struct tw_path *path)
{
	struct tw_path copy = *path;
	u8 t_reg, c_reg = TW_NOREG;
	if (!prepare_path(&copy, &t_reg))
		return NULL;
	if (path->loops && !tw_budget_tests())
		c_reg = tw_loop_register(&block, &plan, path->context, t_reg);
	if (path->loops && c_reg == TW_NOREG && unroll(&copy) && !prepare_path(&copy, &t_reg))
		return NULL;
	struct fragment *f = translate_block(path->context, t_reg, c_reg, NULL, NULL);
	if (!f)
		return NULL;
	f->is_superblock = true;
	tw_count(TW_COUNT_SUPERBLOCKS, 1);
	return f;
}
