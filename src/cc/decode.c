#include "cc/decode.h"
#include "base/cc_section.h"
#include "engine/x86_64/decoding.h"

#include <stdlib.h>

static ZydisDecoder *decoder(void)
{
	static ZydisDecoder d;
	static int ready;
	if (!ready) {
		ZydisDecoderInit(&d, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
		tw_decode_init();
		ready = 1;
	}
	return &d;
}

unsigned tw_cc_decode_length(const uint8_t *p, uint64_t n)
{
	ZydisDecodedInstruction z;
	return ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(decoder(), NULL, p, n < 15 ? n : 15, &z)) ? z.length : 0;
}

unsigned tw_cc_decode_plain(const uint8_t *p, uint64_t n, int *returns)
{
	static struct block b; /* one at a time */
	const unsigned length = tw_cc_decode_length(p, n);
	if (length)
		tw_decode_block(&b, (u64)p, (u64)p + length);
	*returns = length && b.insn[0].kind == INSN_RETURN;
	return length && (*returns || b.insn[0].kind == INSN_PLAIN) ? length : 0;
}

int tw_cc_decode_padding(const uint8_t *p, uint64_t n)
{
	ZydisDecodedInstruction z;
	while (n) {
		if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(decoder(), NULL, p, n < 15 ? n : 15, &z)))
			return 0;
		int is_nop = z.mnemonic == ZYDIS_MNEMONIC_NOP ||
		             (z.mnemonic == ZYDIS_MNEMONIC_XCHG && z.length <= 2 && p[z.length - 1] == 0x90) ||
		             z.mnemonic == ZYDIS_MNEMONIC_LEA || z.mnemonic == ZYDIS_MNEMONIC_INT3;
		if (!is_nop)
			return 0;
		p += z.length;
		n -= z.length;
	}
	return 1;
}

/* ---- registers ---- */

static int same_registers(const ZydisDecodedInstruction *z, const ZydisDecodedOperand *o)
{
	return (z->mnemonic == ZYDIS_MNEMONIC_XOR || z->mnemonic == ZYDIS_MNEMONIC_SUB) && o[0].type == ZYDIS_OPERAND_TYPE_REGISTER &&
	       o[1].type == ZYDIS_OPERAND_TYPE_REGISTER && o[0].reg.value == o[1].reg.value && o[0].size >= 32;
}

static void note_register(struct tw_cc_insn *i, const ZydisDecodedOperand *o, int is_zero)
{
	const uint16_t bit = tw_decoding_bit(tw_decoding_gpr(o->reg.value));
	i->touch |= bit;
	if (o->actions & ZYDIS_OPERAND_ACTION_MASK_READ && !is_zero)
		i->use |= bit;
	if (!(o->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE))
		return;
	if (o->actions & ZYDIS_OPERAND_ACTION_WRITE && o->size >= 32)
		i->kill |= bit;
	else
		i->use |= bit; /* what is not written of it stays */
}

static void note_memory(struct tw_cc_insn *i, const ZydisDecodedOperand *o)
{
	const uint16_t bits = tw_decoding_bit(tw_decoding_gpr(o->mem.base)) | tw_decoding_bit(tw_decoding_gpr(o->mem.index));
	i->use |= bits;
	i->touch |= bits;
}

static void note_operands(struct tw_cc_insn *i, const ZydisDecodedInstruction *z, const ZydisDecodedOperand *o)
{
	const int is_zero = same_registers(z, o);
	for (int k = 0; k < z->operand_count; k++) {
		if (o[k].type == ZYDIS_OPERAND_TYPE_REGISTER)
			note_register(i, &o[k], is_zero);
		else if (o[k].type == ZYDIS_OPERAND_TYPE_MEMORY)
			note_memory(i, &o[k]);
	}
	/* What the engine's decoder knows besides. */
	i->touch |= i->d.uses | i->d.defs;
	i->use |= i->d.uses & (uint16_t) ~(is_zero ? i->kill : 0);
}

/* ---- flags ---- */

enum { STATUS_FLAGS = ZYDIS_CPUFLAG_CF | ZYDIS_CPUFLAG_PF | ZYDIS_CPUFLAG_AF | ZYDIS_CPUFLAG_ZF | ZYDIS_CPUFLAG_SF | ZYDIS_CPUFLAG_OF };

/* CF, PF, AF, ZF, SF and OF side by side. */
static uint8_t flag_bits(uint32_t flags)
{
	static const uint32_t each[] = {ZYDIS_CPUFLAG_CF, ZYDIS_CPUFLAG_PF, ZYDIS_CPUFLAG_AF,
	                                ZYDIS_CPUFLAG_ZF, ZYDIS_CPUFLAG_SF, ZYDIS_CPUFLAG_OF};
	uint8_t bits = 0;
	for (unsigned k = 0; k < 6; k++)
		bits |= (uint8_t)(((flags & each[k]) != 0) << k);
	return bits;
}

/* A shift by cl leaves the flags unchanged if cl is 0; so does a repeated string instruction with a count of 0. */
static int may_keep_flags(const ZydisDecodedInstruction *z, const ZydisDecodedOperand *o)
{
	if (z->attributes & (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE))
		return 1;
	switch (z->meta.category) {
	case ZYDIS_CATEGORY_SHIFT:
	case ZYDIS_CATEGORY_ROTATE:
		for (int k = 0; k < z->operand_count; k++)
			if (o[k].type == ZYDIS_OPERAND_TYPE_IMMEDIATE)
				return 0;
		return 1;
	default:
		return 0;
	}
}

static void note_flags(struct tw_cc_insn *i, const ZydisDecodedInstruction *z, const ZydisDecodedOperand *o)
{
	const ZydisAccessedFlags *f = z->cpu_flags;
	i->flags_use = flag_bits(f->tested);
	i->flags_kill = may_keep_flags(z, o) ? 0 : flag_bits(f->modified | f->set_0 | f->set_1 | f->undefined);
	if (z->mnemonic == ZYDIS_MNEMONIC_PUSHFQ || z->mnemonic == ZYDIS_MNEMONIC_PUSHF || z->mnemonic == ZYDIS_MNEMONIC_LAHF)
		i->flags_use = 63;
}

/* ---- what the linker fills in ---- */

static void note_displacement(struct tw_cc_insn *i, const ZydisDecodedInstruction *z, const ZydisDecodedOperand *o)
{
	for (int k = 0; k < z->operand_count_visible; k++) {
		const ZydisDecodedOperandMem *m = &o[k].mem;
		if (o[k].type != ZYDIS_OPERAND_TYPE_MEMORY || !z->raw.disp.size)
			continue;
		i->mem_base = tw_decoding_gpr(m->base);
		i->mem_index = m->type == ZYDIS_MEMOP_TYPE_VSIB ? TW_NOREG : tw_decoding_gpr(m->index);
		i->disp_at = z->raw.disp.offset;
		if (m->base == ZYDIS_REGISTER_RIP || m->base == ZYDIS_REGISTER_EIP)
			i->disp_patch = TW_CC_RELATIVE;
	}
	for (int k = 0; k < 2; k++)
		if (z->raw.imm[k].size >= 32 && !i->imm_at)
			i->imm_at = z->raw.imm[k].offset;
}

static int keep_ops(struct tw_cc_code *c, struct tw_cc_insn *i, const struct block *b)
{
	if (c->n_ops + b->n_ops > c->ops_room) {
		c->ops_room = c->ops_room * 2 + 4096;
		struct memop *more = realloc(c->op, c->ops_room * sizeof *more);
		if (!more)
			return -1;
		c->op = more;
	}
	i->op = c->n_ops;
	memcpy(c->op + c->n_ops, b->op, b->n_ops * sizeof *b->op);
	c->n_ops += b->n_ops;
	return 0;
}

int tw_cc_decode(struct tw_cc_code *c, struct tw_cc_insn *i, const uint8_t *p, uint64_t n)
{
	static struct block b; /* one at a time */
	ZydisDecodedInstruction z;
	ZydisDecodedOperand o[ZYDIS_MAX_OPERAND_COUNT];
	if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(decoder(), p, n < 15 ? n : 15, &z, o)))
		return -1;
	tw_decode_block(&b, (u64)p, (u64)p + z.length);
	i->d = b.insn[0];
	i->disp_patch = i->imm_patch = TW_CC_NO_PATCH;
	i->mem_base = i->mem_index = TW_NOREG;
	note_operands(i, &z, o);
	note_flags(i, &z, o);
	note_displacement(i, &z, o);
	return keep_ops(c, i, &b);
}
