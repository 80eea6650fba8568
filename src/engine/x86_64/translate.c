#include "engine/x86_64/translate.h"
#include "engine/bits.h"
#include "engine/buffer.h"
#include "engine/cache.h"
#include "engine/describe.h"
#include "engine/memory.h"
#include "engine/module.h"
#include "engine/thread.h"
#include "engine/x86_64/decode.h"
#include "engine/x86_64/leave.h"
#include "engine/x86_64/loop.h"
#include "engine/x86_64/show.h"
#include "engine/x86_64/stamp.h"
#include "engine/x86_64/tally_code.h"
#include "instrument/instrumentor.h"

#define MAX_TURNS 8u   /* of a loop in one superblock */
#define PREFIX_DS 0x3e /* without meaning in 64-bit mode, but for branches */
#define XLAT      0xd7

/* One translation at a time: under the engine's lock. */
static struct block block;
static struct plan plan;
static struct emit emit;

u8 tw_scratch(const struct insn *i, u8 avoid1, u8 avoid2)
{
	static const u8 choice[] = {TW_RAX, TW_RCX, TW_RDX, TW_RBX, TW_RSI, TW_RDI};
	for (unsigned k = 0; k < sizeof choice; k++)
		if (!((i->uses | i->defs) >> choice[k] & 1) && choice[k] != avoid1 && choice[k] != avoid2)
			return choice[k];
	return TW_NOREG;
}

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
	p->bytes = 0;
	for (u16 k = 0; k < n; k++)
		p->bytes += b->insn[k].len;
	p->next = p->pc + p->bytes;
	tw_decode_cut(b, 1);
}

/* Decodes the path as far as it is still one: code may have changed since it was seen. */
static void decode_superblock(void *arg)
{
	const struct tw_path *path = arg;
	u64 limit;
	block.n_parts = 0;
	for (u32 k = 0; k < path->n; k++) {
		if (!tw_memory_executable(path->pc[k], &limit))
			return;
		if (k == 0)
			tw_decode_block(&block, path->pc[k], limit);
		else if (!tw_leave_follows(&block, (u16)(k - 1), path->pc[k]) || !tw_decode_part(&block, path->pc[k], limit))
			return;
		if (tw_stamp_wanted(&block.insn[block.part[k].first_insn])) {
			if (k)
				tw_decode_cut(&block, (u16)k); /* it stands alone */
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

/* ---- instructions ---- */

static bool reaches(u64 target, u64 from)
{
	i64 d = (i64)(target - from);
	return d == (i32)d;
}

/* The instruction with its memory operand replaced by [reg] (reg below r8, not rsp, rbp); %gs and address-size prefixes made void. */
static void emit_with_base(struct emit *e, const struct insn *i, u8 reg)
{
	u8 raw[16];
	u8 modrm = i->raw[i->modrm_at], mod = modrm >> 6, rm = modrm & 7;
	u8 sib = rm == 4 ? 1 : 0;
	u8 sib_base5 = sib && (i->raw[i->modrm_at + 1] & 7) == 5;
	u8 disp = mod == 1 ? 1 : mod == 2 || (mod == 0 && (rm == 5 || sib_base5)) ? 4 : 0;
	u8 rest = (u8)(i->modrm_at + 1 + sib + disp);
	memcpy(raw, i->raw, sizeof raw);
	if (i->prefix_kind == PREFIX_REX)
		raw[i->rex_at - 1] &= (u8)~3;
	else if (i->prefix_kind == PREFIX_VEX3 || i->prefix_kind == PREFIX_EVEX)
		raw[i->rex_at] |= 0x60;
	for (u8 k = 0; k < i->n_prefixes; k++)
		if (raw[k] == 0x65 || raw[k] == 0x67 || (i->uses_gs && raw[k] == 0x64))
			raw[k] = PREFIX_DS;
	emit_bytes(e, raw, i->modrm_at);
	emit_8(e, (u8)((modrm & 0x38) | reg));
	emit_bytes(e, raw + rest, (u32)(i->len - rest));
}

/* A rip-relative operand that code in the cache cannot reach. */
static void emit_far(struct emit *e, const struct insn *i, unsigned k)
{
	u32 flags = e->now.flags;
	u8 s = tw_scratch(i, e->buf, TW_NOREG);
	emit_spill(e, (u8)k, s, flags);
	emit_mov_reg_imm(e, s, i->target);
	emit_with_base(e, i, s);
	emit_unspill(e, (u8)(k + 1), s, flags);
}

/* Where the opcode of an instruction without ModRM is that has a memory operand all the same: mov of an absolute address, xlat. 0: it is another. */
static u8 implicit_opcode(const struct insn *i)
{
	u8 at = i->n_prefixes;
	if ((i->raw[at] & 0xf0) == 0x40)
		at++;
	return (i->raw[at] & 0xfc) == 0xa0 || i->raw[at] == XLAT ? at : 0;
}

/* Such an instruction as mov with [reg], where its operand is. */
static void emit_implicit(struct emit *e, const struct insn *i, u8 reg)
{
	const u8 at = implicit_opcode(i), op = i->raw[at], before = i->raw[at - 1];
	for (u8 k = 0; k < at; k++)
		if (i->raw[k] == 0x66)
			emit_8(e, 0x66);
	if ((before & 0xf0) == 0x40)
		emit_8(e, before & 0x48);
	emit_8(e, op == XLAT ? 0x8a : (u8)(0x88 | (op & 1) | (op & 2 ? 0 : 2)));
	emit_8(e, reg);
}

/* The operand's address without the segment's base; xlat's index has 8 bits. */
static void emit_offset(struct emit *e, u8 reg, const struct tw_op *op)
{
	if (!(op->flags & TW_OPF_INDEX8)) {
		emit_load_address(e, reg, op, false);
		return;
	}
	emit_bytes(e, "\x0f\xb6", 2); /* movzx reg, al */
	emit_8(e, (u8)(0xc0 | reg << 3));
	emit_lea_sum(e, reg, op->base);
	if (op->flags & TW_OPF_ADDR32)
		emit_bytes(e, (const u8[]){0x89, (u8)(0xc0 | reg << 3 | reg)}, 2); /* mov reg32, reg32 */
}

/* An operand relative to the application's %gs base. String instructions are not among those done. */
static void emit_gs_operand(struct emit *e, const struct block *b, unsigned k)
{
	const struct insn *i = &b->insn[k];
	u32 flags = e->now.flags;
	u8 s = tw_scratch(i, e->buf, TW_NOREG), s2 = tw_scratch(i, e->buf, s);
	const struct tw_op *op = NULL;
	for (u16 n = 0; n < i->n_ops && !op; n++)
		if (b->op[i->first_op + n].op.seg == TW_SEG_GS)
			op = &b->op[i->first_op + n].op;
	if (!op || (!i->modrm_at && !implicit_opcode(i)) || s2 == TW_NOREG) {
		tw_engine_fail(TW_FAILURE_ENGINE, "an instruction at %lx uses %%gs in a way that is not supported", (unsigned long)i->pc);
		emit_bytes(e, "\x0f\x0b", 2);
		return;
	}
	emit_spill(e, (u8)k, s, flags);
	emit_mov_gs_reg(e, T_SLOT_S2, s2);
	e->now.spill2 = s2 & 15;
	emit_state(e, (u8)k, flags | STATE_SPILL | STATE_SPILL2);
	emit_offset(e, s, op);
	emit_mov_reg_gs(e, s2, T_APP_GS);
	emit_bytes(e, "\x48\x8d", 2); /* lea s, [s + s2] */
	emit_8(e, (u8)(0x04 | s << 3));
	emit_8(e, (u8)(s2 << 3 | s));
	if (i->modrm_at)
		emit_with_base(e, i, s);
	else
		emit_implicit(e, i, s);
	emit_state(e, (u8)(k + 1), flags | STATE_SPILL | STATE_SPILL2);
	emit_mov_reg_gs(e, s2, T_SLOT_S2);
	emit_unspill(e, (u8)(k + 1), s, flags);
}

/*
 * The instruction with %ds for %gs, which is as good while the application's base is 0. (Taking the prefix out could make a REX prefix before
 * it, which is void, stand next to the opcode.) A %fs prefix before it, which the %gs one overrode, would be heeded then: it goes too.
 */
static struct insn without_gs(const struct insn *i)
{
	struct insn n = *i;
	for (u8 k = 0; k < i->n_prefixes; k++)
		if (n.raw[k] == 0x65 || n.raw[k] == 0x64)
			n.raw[k] = PREFIX_DS;
	return n;
}

static void emit_at_home(struct emit *e, const struct insn *i, unsigned k)
{
	if (i->lea_reg != TW_NOREG) {
		emit_mov_reg_imm(e, i->lea_reg, i->lea32 ? (u32)i->target : i->target);
	} else if (!i->disp_at) {
		emit_bytes(e, i->raw, i->len);
	} else if (reaches(i->target, (u64)e->at + i->len)) {
		u32 disp = (u32)(i->target - ((u64)e->at + i->len));
		emit_bytes(e, i->raw, i->len);
		memcpy(e->at - i->len + i->disp_at, &disp, 4);
	} else {
		emit_far(e, i, k);
	}
}

static void emit_plain(struct emit *e, const struct block *b, unsigned k)
{
	const struct insn *i = &b->insn[k];
	if (!i->uses_gs) {
		emit_at_home(e, i, k);
	} else if (!tw_engine.gs_used) {
		struct insn plain = without_gs(i);
		emit_at_home(e, &plain, k);
	} else {
		emit_gs_operand(e, b, k);
	}
}

/* ---- fragments ---- */

/* The most that the records of f take. */
static u32 most_bytes(const struct fragment *f, const struct block *b)
{
	return f->record_bytes + 8u * plan.n_values + b->n_parts * (TW_ESCAPE_BYTES + TW_ZERO_BYTES);
}

static void emit_enter(struct emit *e, const struct block *b)
{
	struct fragment *f = e->f;
	const struct instrumentor *in = tw_engine.instr;
	if (f->c_reg != TW_NOREG) {
		tw_loop_enter(e, b);
		return;
	}
	e->buf = BUF_REG;
	emit_state(e, 0, STATE_NOT_OPEN | STATE_CLOSED);
	if (f->order)
		tw_stamp_emit(e, &b->insn[0], false, STATE_NOT_OPEN | STATE_CLOSED);
	if (in->entry)
		in->entry(e, b);
	if (in->records)
		tw_emit_number(e);
	emit_state(e, 0, 0);
	if (tw_logs())
		tw_call_entry(e, b, f, 0, most_bytes(f, b));
	if (f->t_reg != TW_NOREG) {
		emit_mov_gs_reg(e, T_SLOT_T, f->t_reg);
		emit_mov_reg_reg(e, f->t_reg, BUF_REG);
		emit_state(e, 0, STATE_T_SLOT);
		emit_mov_reg_gs(e, BUF_REG, T_APP_R11);
		e->buf = f->t_reg;
	}
}

static bool is_rep(const struct block *b, unsigned k)
{
	return b->insn[k].n_ops && b->op[b->insn[k].first_op].op.kind == TW_OP_REP;
}

static void emit_body(struct emit *e, const struct block *b)
{
	const struct tw_tally_place early = tw_tally_place(e, b);
	u16 part = 0;
	for (unsigned k = 0; k < b->n_insns; k++) {
		if (tw_tags_used() && part + 1 < b->n_parts && b->part[part + 1].first_insn == k)
			tw_emit_next_tag(e, b, ++part, e->f->piece, tw_leave_swapped(e));
		emit_state(e, (u8)k, tw_leave_swapped(e));
		tw_emit_stores(e, b, &plan, k, false);
		if (tw_logs())
			tw_call_before(e, b, e->f, k);
		const u32 until_run = k == early.insn ? tw_tally_emit_early(e, early, tw_leave_swapped(e)) : 0;
		emit_state(e, (u8)k, tw_leave_swapped(e) | until_run);
		if (b->insn[k].kind != INSN_PLAIN) {
			if (k + 1u == b->n_insns)
				return;
			tw_leave_within(e, b, k);
			continue;
		}
		if (is_rep(b, k))
			emit_state(e, (u8)k, tw_leave_swapped(e) | STATE_IN_REP);
		emit_plain(e, b, k);
		emit_state(e, (u8)(k + 1), tw_leave_swapped(e));
		tw_emit_stores(e, b, &plan, k, true);
		if (tw_logs())
			tw_call_after(e, b, e->f, k);
	}
}

struct fragment *tw_translate_new(u8 kind, u64 pc)
{
	struct fragment *f = tw_heap(sizeof *f);
	f->kind = kind;
	f->pc = f->pc_fall = pc;
	f->t_reg = f->c_reg = TW_NOREG;
	return f;
}

struct emit *tw_translate_begin(struct fragment *f, struct exit *x)
{
	f->code = tw_cache_room(f, x);
	emit.start = emit.at = f->code;
	emit.n_states = 0;
	emit.now = (struct state_entry){0};
	emit.f = f;
	emit.path = 0;
	emit.passed = 0;
	return f->code ? &emit : NULL;
}

void tw_translate_finish(struct fragment *f)
{
	f->code_bytes = (u32)(emit.at - emit.start);
	f->n_states = (u16)emit.n_states;
	f->state = tw_heap(emit.n_states * sizeof *f->state);
	memcpy(f->state, emit.state, emit.n_states * sizeof *f->state);
	tw_cache_commit(f);
}

/* What the fragment has been made from. */
static void keep_origin(struct fragment *f, const struct block *b)
{
	f->module = tw_module_at(f->piece[0].pc, f->piece[0].bytes);
	for (u16 k = 1; k < f->n_pieces; k++)
		if (tw_module_at(f->piece[k].pc, f->piece[k].bytes) != f->module)
			f->module = 0;
	for (u16 k = 0; f->module && k < b->n_insns; k++)
		f->code_hash = tw_fragment_hash(f->code_hash, b->insn[k].raw, b->insn[k].len);
}

/* Where the fragment's instructions are. */
static void keep_pieces(struct fragment *f, const struct block *b)
{
	f->n_insns = b->n_insns;
	f->insn_bytes = tw_heap(b->n_insns);
	for (u16 k = 0; k < b->n_insns; k++)
		f->insn_bytes[k] = b->insn[k].len;
	f->n_pieces = b->n_parts;
	f->piece = tw_heap(b->n_parts * sizeof *f->piece);
	for (u16 k = 0; k < b->n_parts; k++)
		f->piece[k] = (struct piece){
		    .pc = b->part[k].pc, .bytes = b->part[k].bytes, .first_insn = b->part[k].first_insn, .end = b->part[k].end};
	keep_origin(f, b);
}

/* Its side exits. */
static void keep_sides(struct fragment *f, const struct block *b, const struct plan *p)
{
	if (b->n_parts > 1)
		f->side = tw_heap((b->n_parts - 1u) * sizeof *f->side);
	for (u16 k = 0; k + 1 < b->n_parts; k++) {
		u16 n = b->part[k + 1].first_insn;
		u64 next = b->part[k + 1].pc;
		if (!tw_leave_has_side(b, n - 1u))
			continue;
		f->side[f->n_sides++] = (struct side_exit){
		    .pc = next == b->part[k].target ? b->part[k].next : b->part[k].target,
		    .context = p->after[n - 1].context,
		    .record_bytes = (u16)(f->head + 8 * p->after[n - 1].n_placed),
		    .statuses = p->after[n - 1].statuses,
		    .end = b->part[k].end,
		    .n_insns = n,
		};
	}
}

/* The values stored after their instruction: a signal that comes in between makes up for them (buffer.c, `put_after`). */
static void keep_after_stores(struct fragment *f, const struct plan *p)
{
	u16 n = 0;
	for (u16 k = 0; k < p->n_stores; k++)
		n += p->store[k].after;
	if (!n)
		return;
	f->after = tw_heap(n * sizeof *f->after);
	for (u16 k = 0; k < p->n_stores; k++)
		if (p->store[k].after)
			f->after[f->n_after++] = (struct after_store){p->store[k].insn, p->store[k].reg, p->store[k].slot};
}

static void tell_unrecorded(u64 pc)
{
	static const struct tw_gap gap = {TW_FAILURE_NONE, 0};
	char text[96];
	tw_format(text, sizeof text, "the references of the tile instruction at %lx are not recorded", (unsigned long)pc);
	tw_buffer_event(tw_thread_self(), TW_EVENT_GAP, &gap, sizeof gap, text, (u32)strlen(text) + 1);
}

/* f was reached by x, an indirect exit: its landing for that, right before it. NULL: not by one, or the upper half changes. */
static struct fragment *adjacent_landing(struct fragment *f, const struct exit *x)
{
	if (!x || (x->kind != EXIT_INDIRECT && x->kind != EXIT_RETURN) || (!tw_tags_used() && x->upper != f->upper_in))
		return NULL;
	u8 kind = x->kind == EXIT_RETURN ? LANDING_RETURN : LANDING_JUMP;
	const u8 *next = (const u8 *)tw_fragment_table(x->upper, kind)[f->pc & 0xffff];
	return tw_translate_landing(f, x->upper, kind, next, true);
}

/* Tagged form: a superblock has no descriptor. Each of its blocks has the tag of the fragment that is of that block alone. */
static void use_tags(struct fragment *f, const struct block *b)
{
	f->number = 0;
	f->tag = b->part[0].tag;
	tw_describe_tagged(f, b->part[b->n_parts - 1].tag);
}

/* Tagged form: where the records of the blocks have their values, and how long they are where f is left. */
static void keep_records(struct fragment *f, struct block *b, const struct plan *p)
{
	u16 placed = 0, side = 0;
	if (b->n_parts == 1)
		b->part[0].tag = f->tag;
	for (u16 k = 0; k < b->n_parts; k++) {
		const u16 last = (u16)(b->part[k].first_insn + b->part[k].n_insns - 1), end = p->after[last].n_placed;
		const u16 head = k ? tw_tag_bytes(b->part[k - 1].tag, b->part[k].tag) : f->head;
		f->piece[k].values = (int16_t)(head - 8 * placed);
		f->record_bytes = f->piece[k].record_bytes = (u16)(head + 8 * (end - placed));
		placed = end;
		if (k + 1 == b->n_parts || !tw_leave_has_side(b, last))
			continue;
		f->side[side].record_bytes = f->record_bytes;
		f->side[side++].upper = (u16)(b->part[k].tag >> 16);
	}
}

/*
 * Tagged form: cuts the path where a block is not the one of its address, or has a value to be stored behind its last instruction. False: nothing is
 * left of it.
 */
static bool find_tags(struct block *b)
{
	u16 n = 0;
	for (; n < b->n_parts; n++) {
		const struct part *p = &b->part[n];
		const struct fragment *f = tw_fragment_plain(p->pc);
		if (!f || !f->descriptor || f->n_insns != p->n_insns || f->end != p->end)
			break;
		b->part[n].tag = f->tag;
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
		if (tw_engine.instr->plan)
			tw_engine.instr->plan(b, context, &plan);
		if (plan.n_values <= BLOCK_MAX_VALUES || b->n_parts == 1)
			return;
		tw_decode_cut(b, b->n_parts - 1);
	}
}

/* Plans `block`, which may become shorter by that. Returns the register that holds the buffer pointer in place of r11, or TW_NOREG. */
static u8 prepare(u32 context)
{
	u8 t_reg = tw_engine.instr->records ? choose_t(&block) : TW_NOREG;
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

/* Makes a fragment of `block`, which has been prepared. c_reg: it is a loop, and counts there; else TW_NOREG. */
static struct fragment *translate_block(u32 context, u8 t_reg, u8 c_reg, struct exit *x, struct fragment **landing)
{
	struct fragment *f = tw_translate_new(FRAGMENT_CODE, block.pc);
	const struct instrumentor *in = tw_engine.instr;
	f->t_reg = t_reg;
	f->c_reg = c_reg;
	const struct part *last = &block.part[block.n_parts - 1];
	f->context = context;
	f->number = UNRECORDED_NUMBER; /* till it has one of its own */
	f->pc_target = last->target;
	f->pc_fall = last->next;
	f->end = last->end;
	f->end_context = plan.after[block.n_insns - 1].context;
	f->order = tw_stamp_wanted(&block.insn[0]) ? block.insn[0].order : 0;
	f->head = (u8)tw_record_head(in->format);
	keep_pieces(f, &block);
	keep_sides(f, &block, &plan);
	keep_after_stores(f, &plan);
	f->upper_in = f->upper_out = UNRECORDED_NUMBER >> 16;
	f->ticks = tw_bits_used() && tw_fragment_loops(f);
	plan.flags |= f->ticks ? TW_DESC_TICK : 0;
	if (tw_tags_used() && block.n_parts > 1)
		use_tags(f, &block);
	else if (in->records)
		tw_describe(f, &block, &plan);
	if (tw_tags_used())
		keep_records(f, &block, &plan);
	else
		f->record_bytes = (u16)(f->head + 8 * plan.after[block.n_insns - 1].n_placed);
	f->statuses = plan.after[block.n_insns - 1].statuses;
	if (landing)
		*landing = adjacent_landing(f, x);
	if (!tw_translate_begin(f, tw_bits_announced(f) ? NULL : x))
		return NULL;
	if (block.unrecorded)
		tell_unrecorded(block.unrecorded);
	emit.defs = defs_of(&block);
	emit_enter(&emit, &block);
	emit_body(&emit, &block);
	tw_leave_end(&emit, &block, &plan);
	tw_translate_finish(f);
	if (tw_engine.control->dump_all || tw_engine.control->dump_pc == block.pc)
		tw_show_fragment(f, &block, &plan);
	return f;
}

struct fragment *tw_translate(u64 pc, u32 context, u64 limit, struct exit *x, struct fragment **landing)
{
	struct decode_args args = {pc, limit};
	tw_with_decoder(decode_guarded, &args);
	return translate_block(context, prepare(context), TW_NOREG, x, landing);
}

/* The path as often in a row as there is room for, so that several turns are one record. False: once. */
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

/* Decodes and plans the path. False: nothing is left of it, or in the tagged form no more than a block that there is already. */
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
	if (path->loops)
		c_reg = tw_loop_register(&block, &plan, path->context, t_reg);
	if (path->loops && c_reg == TW_NOREG && unroll(&copy) && !prepare_path(&copy, &t_reg))
		return NULL;
	struct fragment *f = translate_block(path->context, t_reg, c_reg, NULL, NULL);
	if (f)
		f->is_superblock = true;
	return f;
}
