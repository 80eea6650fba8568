#include "engine/x86_64/translate.h"
#include "engine/buffer.h"
#include "engine/thread.h"
#include "engine/x86_64/decode.h"
#include "engine/x86_64/show.h"
#include "instrument/instrumentor.h"

#define MAX_FRAGMENT_BYTES 32768u
#define PREFIX_DS          0x3e /* without meaning in 64-bit mode, but for branches */

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

/* Cuts the block to its first n instructions. */
static void truncate(struct block *b, u16 n)
{
	b->n_insns = n;
	b->bytes = 0;
	b->uses = 0;
	for (u16 k = 0; k < n; k++) {
		b->bytes += b->insn[k].len;
		b->uses |= b->insn[k].uses | b->insn[k].defs;
	}
	b->n_ops = (u16)(b->insn[n - 1].first_op + b->insn[n - 1].n_ops);
	b->end = TW_END_FALL;
	b->target = 0;
	b->next = b->pc + b->bytes;
}

/* A register no instruction of the block touches, to hold the buffer pointer; the block is shortened until there is one. */
static u8 choose_t(struct block *b)
{
	static const u8 choice[] = {TW_R9, TW_R8, TW_R15, TW_R14, TW_R13, TW_R12, TW_RSI, TW_RDI, TW_RDX, TW_RBX, TW_RBP, TW_RAX};
	if (!(b->uses >> BUF_REG & 1))
		return TW_NOREG;
	for (;;) {
		for (unsigned k = 0; k < sizeof choice; k++)
			if (!(b->uses >> choice[k] & 1))
				return choice[k];
		truncate(b, b->n_insns / 2);
	}
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
		if (raw[k] == 0x65 || raw[k] == 0x67)
			raw[k] = PREFIX_DS;
	emit_bytes(e, raw, i->modrm_at);
	emit_8(e, (u8)((modrm & 0x38) | reg));
	emit_bytes(e, raw + rest, (u32)(i->len - rest));
}

static void emit_spill(struct emit *e, u8 insn, u8 reg, u16 flags)
{
	emit_mov_gs_reg(e, T_SLOT_S, reg);
	e->now.spill = reg & 15;
	emit_state(e, insn, flags | STATE_SPILL);
}

static void emit_unspill(struct emit *e, u8 insn, u8 reg, u16 flags)
{
	emit_state(e, insn, flags | STATE_SPILL);
	emit_mov_reg_gs(e, reg, T_SLOT_S);
}

/* A rip-relative operand that code in the cache cannot reach. */
static void emit_far(struct emit *e, const struct insn *i, unsigned k)
{
	u16 flags = e->now.flags;
	u8 s = tw_scratch(i, e->buf, TW_NOREG);
	emit_spill(e, (u8)k, s, flags);
	emit_mov_reg_imm(e, s, i->target);
	emit_with_base(e, i, s);
	emit_unspill(e, (u8)(k + 1), s, flags);
}

/* An operand relative to the application's %gs base. Only operands that ModRM gives. */
static void emit_gs_operand(struct emit *e, const struct block *b, unsigned k)
{
	const struct insn *i = &b->insn[k];
	u16 flags = e->now.flags;
	u8 s = tw_scratch(i, e->buf, TW_NOREG), s2 = tw_scratch(i, e->buf, s);
	const struct tw_op *op = NULL;
	for (u16 n = 0; n < i->n_ops && !op; n++)
		if (b->op[i->first_op + n].op.seg == TW_SEG_GS)
			op = &b->op[i->first_op + n].op;
	if (!op || !i->modrm_at || s2 == TW_NOREG) {
		tw_engine_fail(TW_FAILURE_ENGINE, "an instruction at %lx uses %%gs in a way that is not supported", (unsigned long)i->pc);
		emit_bytes(e, "\x0f\x0b", 2);
		return;
	}
	emit_spill(e, (u8)k, s, flags);
	emit_mov_gs_reg(e, T_SLOT_S2, s2);
	e->now.spill2 = s2 & 15;
	emit_state(e, (u8)k, flags | STATE_SPILL | STATE_SPILL2);
	emit_load_address(e, s, op, false);
	emit_mov_reg_gs(e, s2, T_APP_GS);
	emit_bytes(e, "\x48\x8d", 2); /* lea s, [s + s2] */
	emit_8(e, (u8)(0x04 | s << 3));
	emit_8(e, (u8)(s2 << 3 | s));
	emit_with_base(e, i, s);
	emit_state(e, (u8)(k + 1), flags | STATE_SPILL | STATE_SPILL2);
	emit_mov_reg_gs(e, s2, T_SLOT_S2);
	emit_unspill(e, (u8)(k + 1), s, flags);
}

/*
 * The instruction with %ds for %gs, which is as good while the application's base is 0. (Taking the prefix out could make a REX prefix before
 * it, which is void, stand next to the opcode.)
 */
static struct insn without_gs(const struct insn *i)
{
	struct insn n = *i;
	for (u8 k = 0; k < i->n_prefixes; k++)
		if (n.raw[k] == 0x65)
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

/* ---- leaving ---- */

/* Gives r11 back to the buffer pointer and closes the record. `flags` is the state's rest, which stays. */
static void emit_close(struct emit *e, u8 insn, u16 flags)
{
	if (!tw_engine.instr->records)
		return;
	u8 t = e->f->t_reg;
	if (t != TW_NOREG) {
		emit_state(e, insn, flags | STATE_T_SLOT | STATE_R11_LIVE);
		emit_mov_gs_reg(e, T_APP_R11, BUF_REG);
		emit_mov_reg_reg(e, BUF_REG, t);
		emit_state(e, insn, flags | STATE_T_SLOT);
		emit_mov_reg_gs(e, t, T_SLOT_T);
		e->buf = BUF_REG;
	}
	emit_state(e, insn, flags);
	emit_lea(e, BUF_REG, BUF_REG, e->f->record_bytes);
	emit_state(e, insn, flags | STATE_CLOSED);
	if (tw_logs())
		tw_call_close(e, e->f);
}

static struct exit *emit_link_exit(struct emit *e, u8 *rel32, u64 pc, u8 kind, u16 context)
{
	struct exit *x = tw_exit_new(kind, pc, e->f);
	x->context = context;
	x->patch = rel32;
	emit_patch(rel32, tw_stub_new(x));
	return x;
}

/* jmp to the fragment at pc, or by `kind` of exit. */
static void emit_exit_jump(struct emit *e, const struct block *b, u64 pc, u8 kind, u16 context, u16 flags)
{
	emit_state(e, (u8)b->n_insns, flags | STATE_DONE | STATE_CLOSED);
	e->f->last_exit = emit_link_exit(e, emit_jmp_patchable(e), pc, kind, context);
}

static void emit_push_return(struct emit *e, const struct block *b, u16 flags)
{
	u8 last = (u8)(b->n_insns - 1);
	if (b->next < 0x80000000u) {
		emit_8(e, 0x68); /* push imm32 */
		emit_32(e, (u32)b->next);
		return;
	}
	emit_state(e, last, flags);
	emit_mov_mem32_imm(e, TW_RSP, -8, (u32)b->next);
	emit_mov_mem32_imm(e, TW_RSP, -4, (u32)(b->next >> 32));
	emit_lea(e, TW_RSP, TW_RSP, -8);
}

/* State flags while r11 is the application's in a fragment that uses it. */
static u16 swapped(const struct emit *e)
{
	return e->f->t_reg != TW_NOREG ? STATE_T_SLOT | STATE_R11_LIVE : 0;
}

static void emit_indirect_target(struct emit *e, const struct tw_op *ea, u8 last, u16 flags)
{
	if (ea->kind == TW_OP_SET) {
		emit_mov_reg_reg(e, TW_RCX, ea->base);
	} else if (ea->seg != TW_SEG_GS) {
		emit_load_address(e, TW_RCX, ea, true);
	} else {
		emit_load_address(e, TW_RCX, ea, false);
		emit_state(e, last, flags | STATE_RCX_SLOT);
		emit_mov_reg_gs(e, TW_R10, T_APP_GS);
		emit_state(e, last, flags | STATE_RCX_SLOT | STATE_R10_SLOT);
		emit_bytes(e, "\x4a\x8b\x0c\x11", 4); /* mov rcx, [rcx + r10] */
	}
}

static void emit_table_jump(struct emit *e, u8 index, u8 kind)
{
	u32 table = (u32)(u64)tw_fragment_table(e->f->number >> 16, kind);
	if (index >= 8)
		emit_8(e, 0x42);
	emit_bytes(e, "\xff\x24", 2);
	emit_8(e, (u8)(0xc5 | (index & 7) << 3)); /* [disp32 + index * 8] */
	emit_32(e, table);
}

/* jmp and call to a computed address, and returns that pop arguments: look the target up without leaving the cache. */
static void emit_indirect(struct emit *e, const struct block *b)
{
	const struct insn *i = &b->insn[b->n_insns - 1];
	u8 last = (u8)(b->n_insns - 1), done = (u8)b->n_insns;
	u16 flags = swapped(e);
	emit_mov_gs_reg(e, T_SLOT_RCX, TW_RCX);
	emit_mov_gs_reg(e, T_SLOT_R10, TW_R10);
	if (i->kind == INSN_RETURN)
		emit_mov_reg_mem(e, TW_RCX, TW_RSP, 0);
	else
		emit_indirect_target(e, &i->ea, last, flags);
	flags |= STATE_RCX_SLOT | STATE_R10_SLOT;
	emit_state(e, last, flags);
	if (i->kind == INSN_RETURN)
		emit_lea(e, TW_RSP, TW_RSP, 8 + i->pop_bytes);
	else if (i->kind == INSN_ICALL)
		emit_push_return(e, b, flags);
	flags = STATE_RCX_SLOT | STATE_R10_SLOT | STATE_DONE | STATE_PC_RCX;
	emit_state(e, done, flags | swapped(e));
	emit_close(e, done, flags);
	emit_state(e, done, flags | STATE_CLOSED);
	emit_bytes(e, "\x44\x0f\xb7\xd1", 4); /* movzx r10d, cx */
	emit_table_jump(e, TW_R10, LANDING_JUMP);
}

/* ret: the landing finds the whole target at [rsp], and pops it. */
static void emit_return(struct emit *e)
{
	u8 last = (u8)(e->f->n_insns - 1);
	u16 flags = STATE_RCX_SLOT | STATE_DONE | STATE_PC_STACK;
	emit_mov_gs_reg(e, T_SLOT_RCX, TW_RCX);
	emit_bytes(e, "\x0f\xb7\x0c\x24", 4); /* movzx ecx, word [rsp] */
	emit_state(e, (u8)(last + 1), flags | swapped(e));
	emit_close(e, (u8)(last + 1), flags);
	emit_state(e, (u8)(last + 1), flags | STATE_CLOSED);
	emit_table_jump(e, TW_RCX, LANDING_RETURN);
}

static void emit_loop(struct emit *e, const struct block *b, u16 context)
{
	const struct insn *i = &b->insn[b->n_insns - 1];
	emit_bytes(e, i->raw, (u32)(i->len - 1));
	u8 *rel8 = e->at;
	emit_8(e, 0);
	emit_exit_jump(e, b, b->next, EXIT_LINK, context, STATE_PC_FALL);
	*rel8 = (u8)(e->at - (rel8 + 1));
	emit_exit_jump(e, b, b->target, EXIT_LINK, context, 0);
}

/* Instructions that fault by design run as they are; what cannot be decoded, or would leave for another code segment, is an illegal one. */
static void emit_bad(struct emit *e, const struct insn *i)
{
	const u8 *r = i->raw;
	bool as_is = r[0] == 0xcc || r[0] == 0xf1 || r[0] == 0xf4 || (r[0] == 0xcd && i->len == 2) || (r[0] == 0x0f && r[1] == 0x0b);
	if (as_is)
		emit_bytes(e, r, i->len);
	else
		emit_bytes(e, "\x0f\x0b", 2);
}

static void emit_end(struct emit *e, const struct block *b, u16 context)
{
	const struct insn *i = &b->insn[b->n_insns - 1];
	u8 last = (u8)(b->n_insns - 1), done = (u8)b->n_insns;
	switch (i->kind) {
	case INSN_JUMP:
		emit_close(e, done, STATE_DONE);
		emit_exit_jump(e, b, b->target, EXIT_LINK, context, 0);
		return;
	case INSN_COND:
		emit_close(e, last, 0);
		emit_state(e, last, STATE_CLOSED);
		emit_link_exit(e, emit_jcc_patchable(e, i->cc), b->target, EXIT_LINK, context)->is_jcc = true;
		emit_exit_jump(e, b, b->next, EXIT_LINK, context, STATE_PC_FALL);
		return;
	case INSN_LOOP:
		emit_close(e, last, 0);
		emit_state(e, last, STATE_CLOSED);
		emit_loop(e, b, context);
		return;
	case INSN_CALL:
		emit_push_return(e, b, swapped(e));
		emit_state(e, done, STATE_DONE | swapped(e));
		emit_close(e, done, STATE_DONE);
		emit_exit_jump(e, b, b->target, EXIT_LINK, context, 0);
		return;
	case INSN_RETURN:
		if (i->pop_bytes == 0) {
			emit_return(e);
			return;
		}
		/* fall through */
	case INSN_IJUMP:
	case INSN_ICALL:
		emit_indirect(e, b);
		return;
	case INSN_SYSCALL:
		emit_close(e, done, STATE_DONE | STATE_PC_FALL);
		emit_exit_jump(e, b, b->next, EXIT_SYSCALL, context, STATE_PC_FALL);
		return;
	case INSN_EMULATED:
		emit_close(e, done, STATE_DONE | STATE_PC_FALL);
		emit_exit_jump(e, b, b->pc, EXIT_EMULATE, context, STATE_PC_FALL);
		return;
	case INSN_BAD:
		emit_bad(e, i);
		emit_state(e, done, STATE_DONE | STATE_PC_FALL | swapped(e));
		/* fall through */
	default:
		emit_close(e, done, STATE_DONE | STATE_PC_FALL);
		emit_exit_jump(e, b, b->next, EXIT_LINK, context, STATE_PC_FALL);
	}
}

/* ---- fragments ---- */

static void emit_enter(struct emit *e, const struct block *b)
{
	struct fragment *f = e->f;
	const struct instrumentor *in = tw_engine.instr;
	e->buf = BUF_REG;
	emit_state(e, 0, STATE_NOT_OPEN | STATE_CLOSED);
	if (in->entry)
		in->entry(e, b, &plan, f);
	emit_state(e, 0, 0);
	if (tw_logs())
		tw_call_entry(e, b, f, f->record_bytes);
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
	const struct instrumentor *in = tw_engine.instr;
	for (unsigned k = 0; k < b->n_insns; k++) {
		emit_state(e, (u8)k, swapped(e));
		if (in->before)
			in->before(e, b, &plan, k);
		if (tw_logs())
			tw_call_before(e, b, e->f, k);
		emit_state(e, (u8)k, swapped(e));
		if (b->insn[k].kind != INSN_PLAIN)
			return;
		if (is_rep(b, k))
			emit_state(e, (u8)k, swapped(e) | STATE_IN_REP);
		emit_plain(e, b, k);
		emit_state(e, (u8)(k + 1), swapped(e));
		if (in->after)
			in->after(e, b, &plan, k);
		if (tw_logs())
			tw_call_after(e, b, e->f, k);
	}
}

static struct fragment *fragment_new(u8 kind, u64 pc)
{
	struct fragment *f = tw_heap(sizeof *f);
	f->kind = kind;
	f->pc = f->pc_fall = pc;
	f->t_reg = TW_NOREG;
	return f;
}

/* Begins f's code where the cache has room, best so that exit x (which may be NULL) falls into it; false: nowhere. */
static bool fragment_begin(struct fragment *f, struct exit *x)
{
	f->code = tw_cache_room(MAX_FRAGMENT_BYTES, f, x);
	emit.start = emit.at = f->code;
	emit.n_states = 0;
	emit.now = (struct state_entry){0};
	emit.f = f;
	return f->code != NULL;
}

/* Moves the emitted code and its state map to where they stay. */
static void fragment_finish(struct fragment *f)
{
	f->code_bytes = (u32)(emit.at - emit.start);
	f->n_states = (u16)emit.n_states;
	f->state = tw_heap(emit.n_states * sizeof *f->state);
	memcpy(f->state, emit.state, emit.n_states * sizeof *f->state);
	tw_cache_commit(f);
}

static void keep_lengths(struct fragment *f, const struct block *b)
{
	f->n_insns = b->n_insns;
	f->app_bytes = b->bytes;
	f->insn_bytes = tw_heap(b->n_insns);
	for (u16 k = 0; k < b->n_insns; k++)
		f->insn_bytes[k] = b->insn[k].len;
}

/* The values stored after their instruction: a signal that comes in between makes up for them (signal.c). */
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
	if (!x || (x->kind != EXIT_INDIRECT && x->kind != EXIT_RETURN) || x->upper != f->number >> 16)
		return NULL;
	u8 kind = x->kind == EXIT_RETURN ? LANDING_RETURN : LANDING_JUMP;
	const u8 *next = (const u8 *)tw_fragment_table(x->upper, kind)[f->pc & 0xffff];
	return tw_translate_landing(f, x->upper, kind, next, true);
}

struct fragment *tw_translate(u64 pc, u16 context, u64 limit, struct exit *x, struct fragment **landing)
{
	struct decode_args args = {pc, limit};
	tw_with_decoder(decode_guarded, &args);
	struct fragment *f = fragment_new(FRAGMENT_CODE, pc);
	const struct instrumentor *in = tw_engine.instr;
	if (in->records)
		f->t_reg = choose_t(&block);
	f->context = context;
	f->pc_target = block.target;
	f->pc_fall = block.next;
	keep_lengths(f, &block);
	plan.n_ops = plan.n_stores = plan.n_values = 0;
	plan.flags = 0;
	in->plan(&block, context, &plan);
	f->record_bytes = (u16)(tw_record_head(in->format) + 8 * plan.n_values);
	keep_after_stores(f, &plan);
	if (in->records && !tw_buffer_describe(f, &block, &plan))
		return NULL;
	*landing = adjacent_landing(f, x);
	if (!fragment_begin(f, x))
		return NULL;
	if (block.unrecorded)
		tell_unrecorded(block.unrecorded);
	emit_enter(&emit, &block);
	emit_body(&emit, &block);
	emit_end(&emit, &block, in->exit_context(&block, &plan));
	fragment_finish(f);
	if (tw_engine.control->dump_all || tw_engine.control->dump_pc == pc)
		tw_show_fragment(f, &block, &plan);
	return f;
}

static void emit_upper(struct emit *e, const struct fragment *to)
{
	emit_mov_mem32_imm(e, BUF_REG, 0, (to->number & 0xffff0000u) | TW_TAG_UPPER);
	emit_lea(e, BUF_REG, BUF_REG, 4);
}

struct fragment *tw_translate_bridge(struct fragment *to)
{
	struct fragment *f = fragment_new(FRAGMENT_BRIDGE, to->pc);
	if (!fragment_begin(f, NULL))
		return NULL;
	f->target = to;
	f->number = to->number;
	emit_state(&emit, 0, STATE_NOT_OPEN | STATE_CLOSED);
	emit_upper(&emit, to);
	emit_jmp(&emit, to->code);
	fragment_finish(f);
	return f;
}

/* rcx += by, flags untouched; may use r10. */
static void emit_move_rcx(struct emit *e, u64 by)
{
	if ((i64)by == (i32)by) {
		emit_bytes(e, "\x48\x8d\x89", 3); /* lea rcx, [rcx + disp32] */
		emit_32(e, (u32)by);
		return;
	}
	emit_mov_reg_imm(e, TW_R10, by);
	emit_bytes(e, "\x4a\x8d\x0c\x11", 4); /* lea rcx, [rcx + r10] */
}

#define LANDING_STATE (STATE_NOT_OPEN | STATE_CLOSED | STATE_DONE)

/*
 * Goes back to `miss`, with rcx = target - pc, unless rcx, the target, is pc; flags untouched. The way taken when it is must not be a taken branch: with
 * one in every landing large programs run out of branch target buffer. So `loop` where it is fast (AMD); elsewhere jrcxz all the same.
 */
static void emit_check(struct emit *e, u64 pc, const u8 *miss, u16 flags)
{
	emit_move_rcx(e, tw_engine.fast_loop ? 1 - pc : -pc);
	emit_state(e, 0, flags | (tw_engine.fast_loop ? STATE_OFF_BY_ONE : 0));
	if (tw_engine.fast_loop)
		emit_8(e, 0xe2); /* loop miss */
	else
		emit_bytes(e, "\xe3\x02\xeb", 3); /* jrcxz over jmp miss */
	emit_8(e, (u8)(miss - (e->at + 1)));
}

/* Both landings begin with what they do for another's target; the entry is behind that. */
static u8 *emit_landing_of_jump(struct emit *e, u64 pc, const u8 *next)
{
	const u16 slots = LANDING_STATE | STATE_RCX_SLOT | STATE_R10_SLOT;
	const u8 *miss = e->at;
	emit_state(e, 0, slots | STATE_PC_RCX_PLUS);
	emit_move_rcx(e, pc);
	emit_state(e, 0, slots | STATE_PC_RCX);
	emit_jmp(e, next);
	u8 *entry = e->at;
	emit_check(e, pc, miss, slots | STATE_PC_RCX_PLUS);
	emit_state(e, 0, slots | STATE_PC_FALL);
	emit_mov_reg_gs(e, TW_RCX, T_SLOT_RCX);
	emit_state(e, 0, LANDING_STATE | STATE_R10_SLOT | STATE_PC_FALL);
	emit_mov_reg_gs(e, TW_R10, T_SLOT_R10);
	return entry;
}

static u8 *emit_landing_of_return(struct emit *e, u64 pc, const u8 *next)
{
	const u16 slots = LANDING_STATE | STATE_RCX_SLOT | STATE_PC_STACK;
	const bool near = (i64)-pc == (i32)-pc;
	const u8 *miss = e->at;
	emit_state(e, 0, slots | (near ? 0 : STATE_R10_SLOT));
	if (!near)
		emit_mov_reg_gs(e, TW_R10, T_SLOT_R10);
	emit_state(e, 0, slots);
	emit_jmp(e, next);
	u8 *entry = e->at;
	emit_mov_reg_mem(e, TW_RCX, TW_RSP, 0);
	if (!near) /* the check takes a second register */
		emit_mov_gs_reg(e, T_SLOT_R10, TW_R10);
	emit_state(e, 0, slots | (near ? 0 : STATE_R10_SLOT));
	emit_check(e, pc, miss, slots | (near ? 0 : STATE_R10_SLOT));
	if (!near)
		emit_mov_reg_gs(e, TW_R10, T_SLOT_R10);
	emit_state(e, 0, slots);
	emit_mov_reg_gs(e, TW_RCX, T_SLOT_RCX);
	emit_state(e, 0, LANDING_STATE | STATE_PC_STACK);
	emit_lea(e, TW_RSP, TW_RSP, 8);
	return entry;
}

struct fragment *tw_translate_landing(struct fragment *to, u32 upper, u8 kind, const u8 *next, bool adjacent)
{
	struct fragment *f = fragment_new(FRAGMENT_LANDING, to->pc);
	struct emit *e = &emit;
	if (!fragment_begin(f, NULL))
		return NULL;
	f->target = to;
	f->number = to->number;
	f->entry = kind == LANDING_RETURN ? emit_landing_of_return(e, to->pc, next) : emit_landing_of_jump(e, to->pc, next);
	emit_state(e, 0, LANDING_STATE | STATE_PC_FALL);
	if (tw_engine.instr->records && to->number >> 16 != upper)
		emit_upper(e, to);
	if (!adjacent)
		emit_jmp(e, to->code);
	fragment_finish(f);
	return f;
}
