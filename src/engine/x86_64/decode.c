#include "engine/x86_64/decode.h"
#include "engine/x86_64/decoding.h"
#include "engine/x86_64/decode_cache.h"
#include "engine/x86_64/room.h"

#define LONGEST 15u /* bytes of an instruction */

static ZydisDecoder decoder;

void tw_decode_init(void)
{
	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
}
/* ---- control ---- */

static u64 relative_target(const struct decoding *w)
{
	return w->i->pc + w->i->len + w->o[0].imm.value.u;
}

static void set_indirect(struct decoding *w)
{
	const ZydisDecodedOperand *o = &w->o[0];
	memset(&w->i->ea, 0, sizeof w->i->ea);
	w->i->ea.base = w->i->ea.index = TW_NOREG;
	if (o->type == ZYDIS_OPERAND_TYPE_REGISTER) {
		w->i->ea.kind = TW_OP_SET;
		w->i->ea.base = tw_decoding_gpr(o->reg.value);
	} else {
		w->i->ea.kind = TW_OP_REF;
		tw_decoding_address(&w->i->ea, w, o);
	}
}

static void decode_control(struct decoding *w)
{
	struct insn *i = w->i;
	bool relative = w->z->operand_count_visible && w->o[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE && w->o[0].imm.is_relative;
	switch (w->z->meta.category) {
	case ZYDIS_CATEGORY_UNCOND_BR:
		if (relative) {
			i->kind = INSN_JUMP;
			i->target = relative_target(w);
		} else if (w->z->meta.branch_type == ZYDIS_BRANCH_TYPE_NEAR) {
			i->kind = INSN_IJUMP;
			set_indirect(w);
		} else if (w->z->meta.branch_type == ZYDIS_BRANCH_TYPE_FAR) {
			i->kind = INSN_BAD;
		}
		return;
	case ZYDIS_CATEGORY_COND_BR:
		if (!relative)
			return;
		i->target = relative_target(w);
		if (w->z->opcode_map == ZYDIS_OPCODE_MAP_DEFAULT && w->z->opcode >= 0xe0 && w->z->opcode <= 0xe3) {
			i->kind = INSN_LOOP;
			if (w->z->opcode != 0xe3)
				tw_decoding_set(w, TW_RCX, TW_RCX, -1, w->z->address_width == 32);
		} else if (w->z->mnemonic == ZYDIS_MNEMONIC_XBEGIN) {
			i->kind = INSN_BAD;
		} else {
			i->kind = INSN_COND;
			i->cc = w->z->opcode & 15;
		}
		return;
	case ZYDIS_CATEGORY_CALL:
		if (relative) {
			i->kind = INSN_CALL;
			i->target = relative_target(w);
		} else if (w->z->meta.branch_type == ZYDIS_BRANCH_TYPE_NEAR) {
			i->kind = INSN_ICALL;
			set_indirect(w);
		} else {
			i->kind = INSN_BAD;
		}
		return;
	case ZYDIS_CATEGORY_RET:
		if (w->z->meta.branch_type == ZYDIS_BRANCH_TYPE_FAR || w->z->mnemonic != ZYDIS_MNEMONIC_RET) {
			i->kind = w->z->operand_width == 64 && !w->z->operand_count_visible ? INSN_EMULATED : INSN_BAD;
			return;
		}
		i->kind = INSN_RETURN;
		if (w->z->operand_count_visible)
			i->pop_bytes = (u16)w->o[0].imm.value.u;
		return;
	case ZYDIS_CATEGORY_SYSCALL:
		if (w->z->mnemonic == ZYDIS_MNEMONIC_SYSCALL)
			i->kind = INSN_SYSCALL;
		return;
	default:
		break;
	}
	switch (w->z->mnemonic) {
	case ZYDIS_MNEMONIC_RDGSBASE:
	case ZYDIS_MNEMONIC_WRGSBASE:
	case ZYDIS_MNEMONIC_WRFSBASE:
		i->kind = INSN_EMULATED;
		return;
	case ZYDIS_MNEMONIC_LFS:
	case ZYDIS_MNEMONIC_LGS:
		i->kind = INSN_EMULATED;
		return;
	case ZYDIS_MNEMONIC_MOV:
	case ZYDIS_MNEMONIC_POP:
		if (w->o[0].type == ZYDIS_OPERAND_TYPE_REGISTER &&
		    (w->o[0].reg.value == ZYDIS_REGISTER_FS || w->o[0].reg.value == ZYDIS_REGISTER_GS))
			i->kind = INSN_EMULATED;
		return;
	case ZYDIS_MNEMONIC_HLT:
	case ZYDIS_MNEMONIC_UD2:
	case ZYDIS_MNEMONIC_INT3:
	case ZYDIS_MNEMONIC_INT1:
		i->kind = INSN_BAD;
		return;
	case ZYDIS_MNEMONIC_INT:
		i->kind = tw_is_int(i) && i->raw[1] == 0x80 ? INSN_SYSCALL : INSN_BAD;
		return;
	default:
		return;
	}
}

/* ---- registers and bytes ---- */

static void collect_registers(struct decoding *w)
{
	for (int k = 0; k < w->z->operand_count; k++) {
		const ZydisDecodedOperand *o = &w->o[k];
		if (o->type == ZYDIS_OPERAND_TYPE_REGISTER) {
			u16 r = tw_decoding_bit(tw_decoding_gpr(o->reg.value));
			if (o->actions & ZYDIS_OPERAND_ACTION_MASK_READ)
				w->i->uses |= r;
			if (o->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)
				w->i->defs |= r;
		} else if (o->type == ZYDIS_OPERAND_TYPE_MEMORY) {
			w->i->uses |= (u16)(tw_decoding_bit(tw_decoding_gpr(o->mem.base)) |
			                    (o->mem.type == ZYDIS_MEMOP_TYPE_VSIB ? 0 : tw_decoding_bit(tw_decoding_gpr(o->mem.index))));
		}
	}
	if (w->z->mnemonic == ZYDIS_MNEMONIC_CPUID)
		w->i->defs |= tw_decoding_bit(TW_RAX) | tw_decoding_bit(TW_RBX) | tw_decoding_bit(TW_RCX) | tw_decoding_bit(TW_RDX);
}

static void note_encoding(struct decoding *w)
{
	struct insn *i = w->i;
	const ZydisDecodedInstruction *z = w->z;
	bool riprel = false;
	i->n_prefixes = z->raw.prefix_count;
	for (int k = 0; k < z->operand_count; k++) {
		const ZydisDecodedOperandMem *m = &w->o[k].mem;
		if (w->o[k].type != ZYDIS_OPERAND_TYPE_MEMORY)
			continue;
		if (m->base == ZYDIS_REGISTER_RIP || m->base == ZYDIS_REGISTER_EIP) {
			riprel = true;
			i->target = i->pc + i->len + (u64)m->disp.value;
		}
		i->uses_gs |= m->segment == ZYDIS_REGISTER_GS && m->type != ZYDIS_MEMOP_TYPE_AGEN;
	}
	if (!riprel && !i->uses_gs)
		return;
	i->disp_at = riprel ? z->raw.disp.offset : 0;
	i->modrm_at = z->raw.modrm.offset;
	switch (z->encoding) {
	case ZYDIS_INSTRUCTION_ENCODING_VEX:
		i->prefix_kind = z->raw.vex.size == 2 ? PREFIX_VEX2 : PREFIX_VEX3;
		i->rex_at = (u8)(1 + z->raw.vex.offset);
		break;
	case ZYDIS_INSTRUCTION_ENCODING_EVEX:
		i->prefix_kind = PREFIX_EVEX;
		i->rex_at = (u8)(1 + z->raw.evex.offset);
		break;
	default:
		if (z->attributes & ZYDIS_ATTRIB_HAS_REX) {
			i->prefix_kind = PREFIX_REX;
			i->rex_at = (u8)(1 + z->raw.rex.offset);
		}
	}
}
/* How the instruction orders what other processors see. */
static u8 order_of(const struct decoding *w)
{
	switch (w->z->mnemonic) {
	case ZYDIS_MNEMONIC_MFENCE:
		return TW_STAMP_MFENCE;
	case ZYDIS_MNEMONIC_LFENCE:
		return TW_STAMP_LFENCE;
	case ZYDIS_MNEMONIC_SFENCE:
		return TW_STAMP_SFENCE;
	case ZYDIS_MNEMONIC_XCHG:
		return w->b->n_ops > w->i->first_op ? TW_STAMP_LOCK : 0;
	default:
		return w->z->attributes & ZYDIS_ATTRIB_HAS_LOCK ? TW_STAMP_LOCK : 0;
	}
}

static void boil_down(struct decoding *w)
{
	struct insn *i = w->i;
	i->first_op = w->b->n_ops;
	i->lea_reg = TW_NOREG;
	collect_registers(w);
	decode_control(w);
	note_encoding(w);
	if (i->kind == INSN_BAD || i->kind == INSN_SYSCALL) { /* neither has references */
		i->lost = i->defs;
		return;
	}
	tw_decoding_references(w);
	i->order = order_of(w);
	tw_decoding_updates(w);
	i->lost = i->defs & (u16)~w->computed;
	i->n_ops = (u16)(w->b->n_ops - i->first_op);
}

static void add_bad(struct insn *i, u64 pc, u64 limit, bool cut)
{
	memset(i, 0, sizeof *i);
	i->pc = pc;
	i->kind = INSN_BAD;
	i->cut = cut;
	i->lea_reg = TW_NOREG;
	i->len = 1;
	if (pc < limit)
		memcpy(i->raw, (const void *)pc, 1);
}

static ZyanStatus decode_bytes(const void *at, u64 n, ZydisDecodedInstruction *z, ZydisDecodedOperand *o)
{
	return ZydisDecoderDecodeFull(&decoder, at, n, z, o);
}

/* With REX.B, opcode 90 is xchg r8, rax, even with a prefix F3; Zydis says pause. So it is decoded with a meaningless prefix instead. */
static bool decode_pause(const u8 *at, ZydisDecodedInstruction *z, ZydisDecodedOperand *o)
{
	u8 raw[16];
	u8 n = z->length;
	memcpy(raw, at, n);
	for (u8 k = 0; k < n && raw[k] != 0x90; k++)
		if (raw[k] == 0xf3)
			raw[k] = 0x3e;
	return ZYAN_SUCCESS(decode_bytes(raw, n, z, o));
}

/* Decodes one instruction of the block; false: it ends the block. */
static bool decode_one(struct block *b, u64 pc, u64 limit)
{
	ZydisDecodedInstruction z;
	ZydisDecodedOperand o[ZYDIS_MAX_OPERAND_COUNT];
	u64 room = limit > pc ? limit - pc : 0;
	if (tw_decode_cache_take(b, pc, room))
		return b->insn[b->n_insns - 1].kind == INSN_PLAIN;
	struct insn *i = &b->insn[b->n_insns++];
	const ZyanStatus status = decode_bytes((const void *)pc, room < LONGEST ? room : LONGEST, &z, o);
	if (!ZYAN_SUCCESS(status) || (z.mnemonic == ZYDIS_MNEMONIC_PAUSE && z.raw.rex.B && !decode_pause((const u8 *)pc, &z, o))) {
		add_bad(i, pc, limit, status == ZYDIS_STATUS_NO_MORE_DATA);
		i->first_op = b->n_ops;
		return false;
	}
	memset(i, 0, sizeof *i);
	i->pc = pc;
	i->len = z.length;
	memcpy(i->raw, (const void *)pc, z.length);
	struct decoding w = {b, i, &z, o, 0};
	boil_down(&w);
	tw_decode_cache_keep(b, room);
	return i->kind == INSN_PLAIN;
}

static u8 end_of(const struct insn *i)
{
	static const u8 end[] = {
	    [INSN_PLAIN] = TW_END_FALL,      [INSN_JUMP] = TW_END_JUMP,     [INSN_COND] = TW_END_COND,   [INSN_LOOP] = TW_END_COND,
	    [INSN_CALL] = TW_END_CALL,       [INSN_RETURN] = TW_END_RETURN, [INSN_IJUMP] = TW_END_IJUMP, [INSN_ICALL] = TW_END_ICALL,
	    [INSN_SYSCALL] = TW_END_SYSCALL, [INSN_EMULATED] = TW_END_TRAP, [INSN_BAD] = TW_END_TRAP,
	};
	return end[i->kind];
}

/* Upper bound of the value slots that references from number `from` on can need. */
static u32 value_bound(const struct block *b, u16 from)
{
	u32 n = 0;
	for (u32 k = from; k < b->n_ops; k++)
		n += b->op[k].op.kind == TW_OP_LANES ? 18 : tw_op_is_update(&b->op[k].op) ? b->op[k].op.count == TW_RSP : 4;
	return n;
}

/* Skips inserted code: sets the distance to the program's next instruction, and where a branch leads. */
static void leave_out_inserted(struct insn *i)
{
	i->span = (u8)(tw_x86_64_calls.behind_inserted(i->pc + i->len) - i->pc);
	if ((i->kind == INSN_JUMP || i->kind == INSN_COND || i->kind == INSN_LOOP) && !tw_x86_64_calls.stops_at(i->target))
		i->target = tw_x86_64_calls.behind_inserted(i->target);
}

/* Adds instructions to the part until one ends it. */
static void decode_insns(struct block *b, struct part *p, u64 limit)
{
	u32 values = 0, first_op = b->n_ops;
	bool more = true;
	p->bytes = p->lead = (u32)(tw_x86_64_calls.behind_inserted(p->pc) - p->pc);
	while (more && p->n_insns < PART_MAX_INSNS && b->n_ops - first_op < PART_MAX_OPS - 140 && values < BLOCK_MAX_VALUES - 130) {
		if (p->n_insns && tw_x86_64_calls.stops_at(p->pc + p->bytes))
			break;
		more = decode_one(b, p->pc + p->bytes, limit);
		struct insn *i = &b->insn[b->n_insns - 1];
		const bool alone = tw_x86_64_calls.stands_alone(i);
		more = more && !alone;
		if (p->n_insns && (i->kind == INSN_BAD || i->kind == INSN_EMULATED || alone)) {
			/* These stand alone, so that the code before them is a complete fragment. */
			b->n_ops = i->first_op;
			b->n_insns--;
			break;
		}
		leave_out_inserted(i);
		p->n_insns++;
		p->bytes += i->span;
		b->uses |= i->uses | i->defs;
		values += value_bound(b, i->first_op);
	}
}

bool tw_decode_part(struct block *b, u64 pc, u64 limit)
{
	if (b->n_parts == BLOCK_MAX_PARTS || b->n_insns + PART_MAX_INSNS > BLOCK_MAX_INSNS || b->n_ops + PART_MAX_OPS > BLOCK_MAX_OPS)
		return false;
	struct part *p = &b->part[b->n_parts++];
	*p = (struct part){.pc = pc, .first_insn = b->n_insns};
	decode_insns(b, p, limit);
	const struct insn *last = &b->insn[b->n_insns - 1];
	p->end = end_of(last);
	p->target = p->end == TW_END_JUMP || p->end == TW_END_COND || p->end == TW_END_CALL ? last->target : 0;
	p->next = p->end == TW_END_FALL || p->end == TW_END_COND ? pc + p->bytes : last->pc + last->len;
	b->bytes += p->bytes;
	return true;
}

static void begin_block(struct block *b, u64 pc)
{
	b->pc = pc;
	b->n_insns = b->n_ops = b->n_parts = 0;
	b->unrecorded = 0;
	b->bytes = 0;
	b->uses = 0;
}

void tw_decode_block(struct block *b, u64 pc, u64 limit)
{
	begin_block(b, pc);
	tw_decode_part(b, pc, limit);
}

void tw_decode_cut(struct block *b, u16 n)
{
	const struct part *last = &b->part[n - 1];
	b->n_parts = n;
	b->n_insns = (u16)(last->first_insn + last->n_insns);
	const struct insn *i = &b->insn[b->n_insns - 1];
	b->n_ops = (u16)(i->first_op + i->n_ops);
	b->bytes = 0;
	b->uses = 0;
	for (u16 k = 0; k < n; k++)
		b->bytes += b->part[k].bytes;
	for (u16 k = 0; k < b->n_insns; k++)
		b->uses |= b->insn[k].uses | b->insn[k].defs;
}

struct base_query {
	const u8 *code;
	u8 reg;
	bool found;
};

static void query_base(void *arg)
{
	struct base_query *q = arg;
	ZydisDecodedInstruction z;
	ZydisDecodedOperand o[ZYDIS_MAX_OPERAND_COUNT];
	if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, q->code, 15, &z, o)))
		return;
	for (int k = 0; k < z.operand_count; k++)
		if (o[k].type == ZYDIS_OPERAND_TYPE_MEMORY && tw_decoding_gpr(o[k].mem.base) == q->reg)
			q->found = true;
}

bool tw_decode_uses_base(const u8 *code, u8 reg)
{
	struct base_query q = {code, reg, false};
	tw_with_decoder(query_base, &q);
	return q.found;
}
