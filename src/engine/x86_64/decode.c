#include "engine/x86_64/decode.h"
#include "engine/window.h"
#include "engine/x86_64/memo.h"
#include "engine/x86_64/stamp.h"
#define ZYDIS_STATIC_BUILD
#include <Zydis/Zydis.h>

static ZydisDecoder decoder;

void tw_decode_init(void)
{
	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
}

/* One instruction being boiled down. */
struct work {
	struct block *b;
	struct insn *i;
	const ZydisDecodedInstruction *z;
	const ZydisDecodedOperand *o;
	u16 computed; /* registers covered by a SET */
};

static u8 gpr(ZydisRegister r)
{
	if (r == ZYDIS_REGISTER_NONE)
		return TW_NOREG;
	ZydisRegister big = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, r);
	if (big < ZYDIS_REGISTER_RAX || big > ZYDIS_REGISTER_R15)
		return TW_NOREG;
	return (u8)(big - ZYDIS_REGISTER_RAX);
}

static u16 bit(u8 r)
{
	return r < TW_NREGS ? (u16)(1u << r) : 0;
}

static struct memop *add_op(struct work *w, u8 kind)
{
	struct memop *m = &w->b->op[w->b->n_ops];
	if (w->b->n_ops < BLOCK_MAX_OPS - 1)
		w->b->n_ops++;
	memset(m, 0, sizeof *m);
	m->op.kind = kind;
	m->op.insn = (u8)(w->i - w->b->insn);
	m->op.base = m->op.index = TW_NOREG;
	return m;
}

static u8 shift_of(u8 scale)
{
	return scale == 8 ? 3 : scale == 4 ? 2 : scale == 2 ? 1 : 0;
}

static u8 segment_of(ZydisRegister s)
{
	return s == ZYDIS_REGISTER_FS ? TW_SEG_FS : s == ZYDIS_REGISTER_GS ? TW_SEG_GS : TW_SEG_NONE;
}

/* The address part of an operand. Rip-relative ones become absolute: pc and disp are both static. */
static void set_address(struct tw_op *op, const struct work *w, const ZydisDecodedOperand *o)
{
	const ZydisDecodedOperandMem *m = &o->mem;
	op->seg = segment_of(m->segment);
	op->disp = m->disp.has_displacement ? m->disp.value : 0;
	op->scale = shift_of(m->scale);
	if (m->base == ZYDIS_REGISTER_RIP || m->base == ZYDIS_REGISTER_EIP)
		op->disp += (i64)(w->i->pc + w->i->len);
	else
		op->base = gpr(m->base);
	if (m->type != ZYDIS_MEMOP_TYPE_VSIB)
		op->index = gpr(m->index);
	if (w->z->address_width == 32)
		op->flags |= TW_OPF_ADDR32;
}

static u8 ref_type(ZydisOperandActions a)
{
	bool r = a & (ZYDIS_OPERAND_ACTION_READ | ZYDIS_OPERAND_ACTION_CONDREAD);
	bool wr = a & (ZYDIS_OPERAND_ACTION_WRITE | ZYDIS_OPERAND_ACTION_CONDWRITE);
	return (u8)((r ? TW_READ : 0) | (wr ? TW_WRITE : 0));
}

/* SET dst = base + (index << scale) + disp. */
static struct tw_op *add_set(struct work *w, u8 dst, u8 base, i64 disp, bool is32)
{
	struct tw_op *op = &add_op(w, TW_OP_SET)->op;
	op->count = dst;
	op->base = base;
	op->disp = disp;
	op->flags = is32 ? TW_OPF_ADDR32 : 0;
	w->computed |= bit(dst);
	return op;
}

static void add_stack_ref(struct work *w, u8 base, i64 disp, u32 size, u8 type)
{
	struct tw_op *op = &add_op(w, TW_OP_REF)->op;
	op->base = base;
	op->disp = disp;
	op->size = size;
	op->type = type;
}

/* ---- vector references ---- */

static u8 vec_kind(ZydisRegister r)
{
	switch (ZydisRegisterGetClass(r)) {
	case ZYDIS_REGCLASS_XMM:
		return VEC_XMM;
	case ZYDIS_REGCLASS_YMM:
		return VEC_YMM;
	case ZYDIS_REGCLASS_ZMM:
		return VEC_ZMM;
	case ZYDIS_REGCLASS_MASK:
		return VEC_K;
	case ZYDIS_REGCLASS_MMX:
		return VEC_MMX;
	default:
		return VEC_NONE;
	}
}

static u32 vec_bytes(u8 kind)
{
	return kind == VEC_ZMM ? 64 : kind == VEC_YMM ? 32 : kind == VEC_XMM ? 16 : 8;
}

struct gather {
	ZydisMnemonic mnemonic;
	u8 index, element; /* bytes */
};

static const struct gather gathers[] = {
    {ZYDIS_MNEMONIC_VGATHERDPS, 4, 4},  {ZYDIS_MNEMONIC_VGATHERDPD, 4, 8},  {ZYDIS_MNEMONIC_VGATHERQPS, 8, 4},
    {ZYDIS_MNEMONIC_VGATHERQPD, 8, 8},  {ZYDIS_MNEMONIC_VPGATHERDD, 4, 4},  {ZYDIS_MNEMONIC_VPGATHERDQ, 4, 8},
    {ZYDIS_MNEMONIC_VPGATHERQD, 8, 4},  {ZYDIS_MNEMONIC_VPGATHERQQ, 8, 8},  {ZYDIS_MNEMONIC_VSCATTERDPS, 4, 4},
    {ZYDIS_MNEMONIC_VSCATTERDPD, 4, 8}, {ZYDIS_MNEMONIC_VSCATTERQPS, 8, 4}, {ZYDIS_MNEMONIC_VSCATTERQPD, 8, 8},
    {ZYDIS_MNEMONIC_VPSCATTERDD, 4, 4}, {ZYDIS_MNEMONIC_VPSCATTERDQ, 4, 8}, {ZYDIS_MNEMONIC_VPSCATTERQD, 8, 4},
    {ZYDIS_MNEMONIC_VPSCATTERQQ, 8, 8},
};

static const struct gather *find_gather(ZydisMnemonic m)
{
	for (size_t i = 0; i < sizeof gathers / sizeof *gathers; i++)
		if (gathers[i].mnemonic == m)
			return &gathers[i];
	return NULL;
}

/* The vector register operand (other than the memory one) that a gather loads or a scatter stores. */
static const ZydisDecodedOperand *data_operand(const struct work *w)
{
	for (int k = 0; k < w->z->operand_count_visible; k++)
		if (w->o[k].type == ZYDIS_OPERAND_TYPE_REGISTER && vec_kind(w->o[k].reg.value) != VEC_K)
			return &w->o[k];
	return NULL;
}

static void set_mask(struct memop *m, ZydisRegister r, u32 width)
{
	m->mask_kind = vec_kind(r);
	m->mask_reg = (u8)ZydisRegisterGetId(r);
	m->op.mask_width = m->mask_kind == VEC_K ? 0 : (u8)width;
}

static void add_gather(struct work *w, const ZydisDecodedOperand *o)
{
	const struct gather *g = find_gather(w->z->mnemonic);
	const ZydisDecodedOperand *d = data_operand(w);
	if (!g || !d)
		return; /* prefetching gathers */
	struct memop *m = add_op(w, TW_OP_LANES);
	set_address(&m->op, w, o);
	m->index_kind = vec_kind(o->mem.index);
	m->index_reg = (u8)ZydisRegisterGetId(o->mem.index);
	m->op.index_width = g->index;
	m->op.size = g->element;
	u32 lanes = vec_bytes(vec_kind(d->reg.value)) / g->element, indices = vec_bytes(m->index_kind) / g->index;
	m->op.count = (u16)(lanes < indices ? lanes : indices);
	m->op.type = w->z->meta.category == ZYDIS_CATEGORY_SCATTER ? TW_WRITE : TW_READ;
	if (w->z->encoding == ZYDIS_INSTRUCTION_ENCODING_EVEX)
		set_mask(m, w->z->avx.mask.reg, 0);
	else
		set_mask(m, w->o[2].reg.value, g->element);
}

/* AVX-512 instructions that suppress no faults read the whole operand, whatever the mask (Intel SDM vol. 2, exception types E..NF). */
static bool ignores_mask(const ZydisDecodedInstruction *z)
{
	switch (z->meta.exception_class) {
	case ZYDIS_EXCEPTION_CLASS_E1NF:
	case ZYDIS_EXCEPTION_CLASS_E3NF:
	case ZYDIS_EXCEPTION_CLASS_E4NF:
	case ZYDIS_EXCEPTION_CLASS_E5NF:
	case ZYDIS_EXCEPTION_CLASS_E6NF:
	case ZYDIS_EXCEPTION_CLASS_E9NF:
		return true;
	default:
		return false;
	}
}

/* Lanes of the destination a broadcast goes to; 0: it is none. */
static u16 broadcast_lanes(const ZydisDecodedInstruction *z)
{
	switch (z->avx.broadcast.mode) {
	case ZYDIS_BROADCAST_MODE_1_TO_2:
		return 2;
	case ZYDIS_BROADCAST_MODE_1_TO_4:
	case ZYDIS_BROADCAST_MODE_2_TO_4:
		return 4;
	case ZYDIS_BROADCAST_MODE_1_TO_8:
	case ZYDIS_BROADCAST_MODE_2_TO_8:
	case ZYDIS_BROADCAST_MODE_4_TO_8:
		return 8;
	case ZYDIS_BROADCAST_MODE_1_TO_16:
	case ZYDIS_BROADCAST_MODE_2_TO_16:
	case ZYDIS_BROADCAST_MODE_4_TO_16:
	case ZYDIS_BROADCAST_MODE_8_TO_16:
		return 16;
	case ZYDIS_BROADCAST_MODE_1_TO_32:
		return 32;
	case ZYDIS_BROADCAST_MODE_1_TO_64:
		return 64;
	default:
		return 0;
	}
}

/* Bytes a memory operand takes: an embedded broadcast reads one element. */
static u32 operand_bytes(const ZydisDecodedInstruction *z, const ZydisDecodedOperand *o)
{
	return (broadcast_lanes(z) && !z->avx.broadcast.is_static ? o->element_size : o->size) / 8u;
}

/* An AVX-512 memory operand under an opmask. */
static void add_opmask(struct work *w, const ZydisDecodedOperand *o)
{
	struct memop *m = add_op(w, TW_OP_LANES);
	set_address(&m->op, w, o);
	/* Masking merges: the decoder may call a masked store a modification. */
	m->op.type = ref_type(o->actions) & TW_WRITE ? TW_WRITE : TW_READ;
	if (m->op.type == TW_READ && ignores_mask(w->z)) {
		m->op.kind = TW_OP_REF;
		m->op.size = operand_bytes(w->z, o);
		return;
	}
	set_mask(m, w->z->avx.mask.reg, 0);
	u32 bytes = o->size / 8u, element = o->element_size / 8u;
	if (!element)
		element = bytes;
	m->op.size = element;
	m->op.count = (u16)(bytes / element);
	switch (w->z->mnemonic) {
	case ZYDIS_MNEMONIC_VPCOMPRESSB:
	case ZYDIS_MNEMONIC_VPCOMPRESSW:
	case ZYDIS_MNEMONIC_VPCOMPRESSD:
	case ZYDIS_MNEMONIC_VPCOMPRESSQ:
	case ZYDIS_MNEMONIC_VCOMPRESSPS:
	case ZYDIS_MNEMONIC_VCOMPRESSPD:
	case ZYDIS_MNEMONIC_VPEXPANDB:
	case ZYDIS_MNEMONIC_VPEXPANDW:
	case ZYDIS_MNEMONIC_VPEXPANDD:
	case ZYDIS_MNEMONIC_VPEXPANDQ:
	case ZYDIS_MNEMONIC_VEXPANDPS:
	case ZYDIS_MNEMONIC_VEXPANDPD:
		m->op.flags |= TW_OPF_PACKED;
		return;
	default:
		break;
	}
	if (!broadcast_lanes(w->z))
		return;
	/* A broadcast reads what it spreads once if any lane of the destination is active. */
	m->op.flags |= TW_OPF_ANY;
	m->op.size = operand_bytes(w->z, o);
	m->op.count = broadcast_lanes(w->z);
}

/* maskmov*: the mask is the sign bits of a vector register. */
static bool add_vector_mask(struct work *w, const ZydisDecodedOperand *o)
{
	u32 element;
	const ZydisDecodedOperand *mask = &w->o[1];
	switch (w->z->mnemonic) {
	case ZYDIS_MNEMONIC_VMASKMOVPS:
	case ZYDIS_MNEMONIC_VPMASKMOVD:
		element = 4;
		break;
	case ZYDIS_MNEMONIC_VMASKMOVPD:
	case ZYDIS_MNEMONIC_VPMASKMOVQ:
		element = 8;
		break;
	case ZYDIS_MNEMONIC_MASKMOVDQU:
	case ZYDIS_MNEMONIC_VMASKMOVDQU:
	case ZYDIS_MNEMONIC_MASKMOVQ:
		element = 1;
		break;
	default:
		return false;
	}
	if (element == 1) /* operands: data, mask, and the implied [rdi] in some place */
		mask = w->o[0].type == ZYDIS_OPERAND_TYPE_MEMORY ? &w->o[2] : &w->o[1];
	struct memop *m = add_op(w, TW_OP_LANES);
	set_address(&m->op, w, o);
	m->op.type = element == 1 ? TW_WRITE : ref_type(o->actions);
	set_mask(m, mask->reg.value, element);
	m->op.size = element;
	m->op.count = (u16)(vec_bytes(m->mask_kind) / element);
	return true;
}

/* ---- special memory operands ---- */

static bool is_string(const ZydisDecodedInstruction *z)
{
	return z->meta.category == ZYDIS_CATEGORY_STRINGOP;
}

static u32 string_size(const ZydisDecodedInstruction *z)
{
	switch (z->mnemonic) {
	case ZYDIS_MNEMONIC_MOVSB:
	case ZYDIS_MNEMONIC_STOSB:
	case ZYDIS_MNEMONIC_LODSB:
	case ZYDIS_MNEMONIC_SCASB:
	case ZYDIS_MNEMONIC_CMPSB:
		return 1;
	case ZYDIS_MNEMONIC_MOVSW:
	case ZYDIS_MNEMONIC_STOSW:
	case ZYDIS_MNEMONIC_LODSW:
	case ZYDIS_MNEMONIC_SCASW:
	case ZYDIS_MNEMONIC_CMPSW:
		return 2;
	case ZYDIS_MNEMONIC_MOVSD:
	case ZYDIS_MNEMONIC_STOSD:
	case ZYDIS_MNEMONIC_LODSD:
	case ZYDIS_MNEMONIC_SCASD:
	case ZYDIS_MNEMONIC_CMPSD:
		return 4;
	default:
		return 8;
	}
}

/* movs, stos, lods, scas, cmps: by opcode, which is all that tells them apart. */
static void add_string(struct work *w)
{
	u8 op = w->z->opcode & 0xfe;
	bool rep = w->z->attributes & (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE);
	u8 first = op == 0xa4 || op == 0xa6 || op == 0xac ? TW_RSI : TW_RDI;
	u8 first_type = op == 0xaa ? TW_WRITE : TW_READ;
	u8 second = op == 0xa4 || op == 0xa6 ? TW_RDI : TW_NOREG;
	u8 second_type = op == 0xa4 ? TW_WRITE : TW_READ;
	u8 seg = first == TW_RSI ? segment_of(w->o[0].type == ZYDIS_OPERAND_TYPE_MEMORY && w->o[0].mem.base != ZYDIS_REGISTER_RDI &&
	                                              w->o[0].mem.base != ZYDIS_REGISTER_EDI
	                                          ? w->o[0].mem.segment
	                                      : w->o[1].type == ZYDIS_OPERAND_TYPE_MEMORY ? w->o[1].mem.segment
	                                                                                  : ZYDIS_REGISTER_NONE)
	                         : TW_SEG_NONE;
	u8 flags = w->z->address_width == 32 ? TW_OPF_ADDR32 : 0;
	u32 size = string_size(w->z);
	/* The decoder does not list the pointers it moves as operands. */
	w->i->defs |= bit(first) | bit(second) | (rep ? bit(TW_RCX) : 0);
	w->i->uses |= bit(first) | bit(second) | (rep ? bit(TW_RCX) : 0);
	struct tw_op *a = &add_op(w, rep ? TW_OP_REP : TW_OP_REF)->op;
	a->base = first;
	a->seg = seg;
	a->flags = flags;
	a->size = size;
	a->type = first_type;
	if (rep) {
		a->index = second;
		a->count = second_type;
		a->flags |= second != TW_NOREG ? TW_OPF_SECOND : 0;
	} else if (second != TW_NOREG) {
		struct tw_op *c = &add_op(w, TW_OP_REF)->op;
		c->base = second;
		c->flags = flags;
		c->size = size;
		c->type = second_type;
	}
}

static bool is_bit_string(const struct work *w)
{
	switch (w->z->mnemonic) {
	case ZYDIS_MNEMONIC_BT:
	case ZYDIS_MNEMONIC_BTS:
	case ZYDIS_MNEMONIC_BTR:
	case ZYDIS_MNEMONIC_BTC:
		return w->o[0].type == ZYDIS_OPERAND_TYPE_MEMORY && w->o[1].type == ZYDIS_OPERAND_TYPE_REGISTER;
	default:
		return false;
	}
}

/* 1: xsave family, 2: compacted, 3: xrstor */
static int xsave_kind(ZydisMnemonic m)
{
	switch (m) {
	case ZYDIS_MNEMONIC_XSAVE:
	case ZYDIS_MNEMONIC_XSAVE64:
	case ZYDIS_MNEMONIC_XSAVEOPT:
	case ZYDIS_MNEMONIC_XSAVEOPT64:
		return 1;
	case ZYDIS_MNEMONIC_XSAVEC:
	case ZYDIS_MNEMONIC_XSAVEC64:
		return 2;
	case ZYDIS_MNEMONIC_XRSTOR:
	case ZYDIS_MNEMONIC_XRSTOR64:
		return 3;
	default:
		return 0;
	}
}

/* Instructions with a memory operand that is no reference. */
static bool touches_nothing(const ZydisDecodedInstruction *z)
{
	switch (z->meta.category) {
	case ZYDIS_CATEGORY_PREFETCH:
	case ZYDIS_CATEGORY_PREFETCHWT1:
	case ZYDIS_CATEGORY_NOP:
	case ZYDIS_CATEGORY_WIDENOP:
	case ZYDIS_CATEGORY_CLDEMOTE:
	case ZYDIS_CATEGORY_CLFLUSHOPT:
	case ZYDIS_CATEGORY_CLWB:
		return true;
	default:
		break;
	}
	switch (z->mnemonic) {
	case ZYDIS_MNEMONIC_CLFLUSH:
	case ZYDIS_MNEMONIC_INVLPG:
	case ZYDIS_MNEMONIC_MONITOR:
	case ZYDIS_MNEMONIC_MONITORX:
	case ZYDIS_MNEMONIC_UMONITOR:
		return true;
	default:
		return false;
	}
}

static void add_xsave(struct work *w, const ZydisDecodedOperand *o, int kind)
{
	struct memop *m = add_op(w, TW_OP_XSAVE);
	set_address(&m->op, w, o);
	m->op.type = kind == 3 ? TW_READ : TW_WRITE;
	m->op.size = 576;
	m->op.flags |= kind == 2 ? TW_OPF_COMPACT : 0;
	m->xcomp = kind == 3;
}

static void add_memory_operand(struct work *w, const ZydisDecodedOperand *o)
{
	int xsave = xsave_kind(w->z->mnemonic);
	if (w->z->meta.category == ZYDIS_CATEGORY_AMX_TILE && o->mem.type != ZYDIS_MEMOP_TYPE_MEM) {
		w->b->unrecorded = w->i->pc; /* rows of a tile */
		return;
	}
	if (o->mem.type == ZYDIS_MEMOP_TYPE_AGEN || o->mem.type == ZYDIS_MEMOP_TYPE_MIB || !ref_type(o->actions))
		return;
	if (o->mem.type == ZYDIS_MEMOP_TYPE_VSIB) {
		add_gather(w, o);
		return;
	}
	if (xsave) {
		add_xsave(w, o, xsave);
		return;
	}
	if (add_vector_mask(w, o))
		return;
	if (w->z->encoding == ZYDIS_INSTRUCTION_ENCODING_EVEX && w->z->avx.mask.reg != ZYDIS_REGISTER_K0 &&
	    w->z->avx.mask.reg != ZYDIS_REGISTER_NONE) {
		add_opmask(w, o);
		return;
	}
	struct tw_op *op = &add_op(w, is_bit_string(w) ? TW_OP_BIT : TW_OP_REF)->op;
	set_address(op, w, o);
	op->type = ref_type(o->actions);
	op->size = operand_bytes(w->z, o);
	if (op->kind == TW_OP_BIT)
		op->count = gpr(w->o[1].reg.value);
	if (w->z->mnemonic == ZYDIS_MNEMONIC_XLAT) {
		op->base = TW_RBX;
		op->index = TW_RAX;
		op->scale = 0;
		op->flags |= TW_OPF_INDEX8;
	}
}

/* The line that holds rax; the decoder does not call it an operand. */
static void add_clzero(struct work *w)
{
	struct tw_op *op = &add_op(w, TW_OP_REF)->op;
	op->base = TW_RAX;
	op->size = 64;
	op->type = TW_WRITE;
	op->flags = TW_OPF_LINE | (w->z->address_width == 32 ? TW_OPF_ADDR32 : 0);
	w->i->uses |= bit(TW_RAX);
}

/* ---- the stack ---- */

static void stack_push(struct work *w, u32 size)
{
	add_stack_ref(w, TW_RSP, -(i64)size, size, TW_WRITE);
	add_set(w, TW_RSP, TW_RSP, -(i64)size, false);
}

static void stack_enter(struct work *w)
{
	u32 size = w->z->operand_width / 8u;
	i64 bytes = (i64)(w->o[0].imm.value.u & 0xffff);
	u32 levels = (u32)(w->o[1].imm.value.u & 31);
	add_stack_ref(w, TW_RSP, -(i64)size, size, TW_WRITE);
	for (u32 k = 1; k < levels; k++) {
		add_stack_ref(w, TW_RBP, -(i64)size * k, size, TW_READ);
		add_stack_ref(w, TW_RSP, -(i64)size * (k + 1), size, TW_WRITE);
	}
	if (levels)
		add_stack_ref(w, TW_RSP, -(i64)size * (levels + 1), size, TW_WRITE);
	add_set(w, TW_RBP, TW_RSP, -(i64)size, false);
	add_set(w, TW_RSP, TW_RSP, -(i64)size * (levels + 1) - bytes, false);
}

static const ZydisDecodedOperand *explicit_memory(const struct work *w)
{
	for (int k = 0; k < w->z->operand_count_visible; k++)
		if (w->o[k].type == ZYDIS_OPERAND_TYPE_MEMORY)
			return &w->o[k];
	return NULL;
}

/* Instructions that move rsp by themselves. False: none of these. */
static bool decode_stack(struct work *w)
{
	const ZydisDecodedOperand *mem = explicit_memory(w);
	u32 size = w->z->operand_width / 8u;
	switch (w->z->mnemonic) {
	case ZYDIS_MNEMONIC_PUSH:
		if (mem)
			add_memory_operand(w, mem);
		if (w->o[0].type == ZYDIS_OPERAND_TYPE_REGISTER && ZydisRegisterGetClass(w->o[0].reg.value) == ZYDIS_REGCLASS_SEGMENT)
			size = w->z->operand_width == 16 ? 2 : 8;
		stack_push(w, size);
		return true;
	case ZYDIS_MNEMONIC_PUSHF:
	case ZYDIS_MNEMONIC_PUSHFQ:
		stack_push(w, size);
		return true;
	case ZYDIS_MNEMONIC_CALL:
		if (mem)
			add_memory_operand(w, mem);
		stack_push(w, 8);
		return true;
	case ZYDIS_MNEMONIC_POP:
	case ZYDIS_MNEMONIC_POPF:
	case ZYDIS_MNEMONIC_POPFQ:
		add_stack_ref(w, TW_RSP, 0, size, TW_READ);
		if (mem) {
			u16 at = w->b->n_ops;
			add_memory_operand(w, mem);
			if (w->b->op[at].op.base == TW_RSP) /* the address is computed after rsp moved */
				w->b->op[at].op.disp += size;
		}
		if (w->o[0].type == ZYDIS_OPERAND_TYPE_REGISTER && gpr(w->o[0].reg.value) == TW_RSP)
			return true; /* rsp is what was loaded */
		add_set(w, TW_RSP, TW_RSP, size, false);
		return true;
	case ZYDIS_MNEMONIC_RET:
		add_stack_ref(w, TW_RSP, 0, 8, TW_READ);
		if (w->i->kind == INSN_EMULATED) { /* far: the code segment's selector too */
			add_stack_ref(w, TW_RSP, 8, 8, TW_READ);
			return true;
		}
		add_set(w, TW_RSP, TW_RSP, 8 + w->i->pop_bytes, false);
		return true;
	case ZYDIS_MNEMONIC_IRETQ:
		for (i64 k = 0; k < 5; k++)
			add_stack_ref(w, TW_RSP, 8 * k, 8, TW_READ);
		return true;
	case ZYDIS_MNEMONIC_LEAVE:
		add_stack_ref(w, TW_RBP, 0, size, TW_READ);
		add_set(w, TW_RSP, TW_RBP, size, false);
		return true;
	case ZYDIS_MNEMONIC_ENTER:
		stack_enter(w);
		return true;
	default:
		return false;
	}
}

/* ---- computable updates ---- */

static bool is_gpr_operand(const ZydisDecodedOperand *o, u16 size)
{
	return o->type == ZYDIS_OPERAND_TYPE_REGISTER && o->size == size && gpr(o->reg.value) != TW_NOREG;
}

/* dst = base `what` index, or disp for the index. */
static void add_calc(struct work *w, u8 what, u8 dst, u8 base, u8 index, i64 disp, bool is32)
{
	struct tw_op *op = add_set(w, dst, base, disp, is32);
	op->kind = TW_OP_CALC;
	op->type = what;
	op->index = index;
}

/* dst = dst `what` the other operand, a register or a number. */
static void add_binary(struct work *w, u8 what, u8 dst, const ZydisDecodedOperand *s, bool is32)
{
	if (s->type == ZYDIS_OPERAND_TYPE_IMMEDIATE)
		add_calc(w, what, dst, dst, TW_NOREG, s->imm.value.s, is32);
	else if (is_gpr_operand(s, is32 ? 32 : 64))
		add_calc(w, what, dst, dst, gpr(s->reg.value), 0, is32);
}

/* By the lowest bits of another register (not by the second lowest eight). */
static void add_extension(struct work *w, u8 dst, const ZydisDecodedOperand *s, bool is_signed, bool is32)
{
	if (!is_gpr_operand(s, s->size) || (s->reg.value >= ZYDIS_REGISTER_AH && s->reg.value <= ZYDIS_REGISTER_BH))
		return;
	u8 what = s->size == 32   ? TW_CALC_SX32
	          : s->size == 16 ? (is_signed ? TW_CALC_SX16 : TW_CALC_ZX16)
	          : is_signed     ? TW_CALC_SX8
	                          : TW_CALC_ZX8;
	if (s->size == 32 && is32) /* movsxd of 32 bits is a mov */
		add_set(w, dst, gpr(s->reg.value), 0, true);
	else
		add_calc(w, what, dst, gpr(s->reg.value), TW_NOREG, 0, is32);
}

static void add_shift(struct work *w, u8 what, u8 dst, const ZydisDecodedOperand *s, bool is32)
{
	if (s->type == ZYDIS_OPERAND_TYPE_IMMEDIATE)
		add_calc(w, what, dst, dst, TW_NOREG, s->imm.value.s, is32);
}

static void add_product(struct work *w, u8 dst, bool is32)
{
	const ZydisDecodedOperand *s = &w->o[1];
	if (w->z->operand_count_visible == 2)
		add_binary(w, TW_CALC_MUL, dst, s, is32);
	else if (w->z->operand_count_visible == 3 && is_gpr_operand(s, is32 ? 32 : 64) && w->o[2].type == ZYDIS_OPERAND_TYPE_IMMEDIATE)
		add_calc(w, TW_CALC_MUL, dst, gpr(s->reg.value), TW_NOREG, w->o[2].imm.value.s, is32);
}

static void add_lea(struct work *w, u8 dst, bool is32)
{
	struct tw_op *op = add_set(w, dst, TW_NOREG, 0, is32);
	set_address(op, w, &w->o[1]);
	op->seg = TW_SEG_NONE;
	if (w->o[1].mem.base == ZYDIS_REGISTER_RIP && w->z->address_width == 64) {
		w->i->lea_reg = dst;
		w->i->lea32 = is32;
	}
}

/* dst and another operand. */
static void decode_binary(struct work *w, u8 dst, const ZydisDecodedOperand *s, bool is32)
{
	bool imm = s->type == ZYDIS_OPERAND_TYPE_IMMEDIATE, reg = is_gpr_operand(s, is32 ? 32 : 64), same = reg && gpr(s->reg.value) == dst;
	ZydisMnemonic mnemonic = w->z->mnemonic;
	switch (mnemonic) {
	case ZYDIS_MNEMONIC_MOV:
		if (imm || reg)
			add_set(w, dst, reg ? gpr(s->reg.value) : TW_NOREG, imm ? s->imm.value.s : 0, is32);
		return;
	case ZYDIS_MNEMONIC_ADD:
		if (imm || reg)
			add_set(w, dst, dst, imm ? s->imm.value.s : 0, is32)->index = reg ? gpr(s->reg.value) : TW_NOREG;
		return;
	case ZYDIS_MNEMONIC_SUB:
		if (imm || same)
			add_set(w, dst, imm ? dst : TW_NOREG, imm ? -s->imm.value.s : 0, is32);
		else
			add_binary(w, TW_CALC_SUB, dst, s, is32);
		return;
	case ZYDIS_MNEMONIC_XOR:
		if (same)
			add_set(w, dst, TW_NOREG, 0, is32);
		else
			add_binary(w, TW_CALC_XOR, dst, s, is32);
		return;
	case ZYDIS_MNEMONIC_AND:
		add_binary(w, TW_CALC_AND, dst, s, is32);
		return;
	case ZYDIS_MNEMONIC_OR:
		add_binary(w, TW_CALC_OR, dst, s, is32);
		return;
	case ZYDIS_MNEMONIC_SHL:
	case ZYDIS_MNEMONIC_SHR:
	case ZYDIS_MNEMONIC_SAR:
		add_shift(w,
		          mnemonic == ZYDIS_MNEMONIC_SHL   ? TW_CALC_SHL
		          : mnemonic == ZYDIS_MNEMONIC_SHR ? TW_CALC_SHR
		                                           : TW_CALC_SAR,
		          dst, s, is32);
		return;
	case ZYDIS_MNEMONIC_MOVZX:
		add_extension(w, dst, s, false, is32);
		return;
	case ZYDIS_MNEMONIC_MOVSX:
	case ZYDIS_MNEMONIC_MOVSXD:
		add_extension(w, dst, s, true, is32);
		return;
	default:
		return;
	}
}

static void decode_updates(struct work *w)
{
	u16 size = w->z->operand_width;
	const ZydisDecodedOperand *d = &w->o[0];
	bool is32 = size == 32;
	if (w->z->mnemonic == ZYDIS_MNEMONIC_CDQE)
		add_calc(w, TW_CALC_SX32, TW_RAX, TW_RAX, TW_NOREG, 0, false);
	if ((size != 32 && size != 64) || !w->z->operand_count_visible || !is_gpr_operand(d, size))
		return;
	u8 dst = gpr(d->reg.value);
	switch (w->z->mnemonic) {
	case ZYDIS_MNEMONIC_INC:
		add_set(w, dst, dst, 1, is32);
		return;
	case ZYDIS_MNEMONIC_DEC:
		add_set(w, dst, dst, -1, is32);
		return;
	case ZYDIS_MNEMONIC_LEA:
		add_lea(w, dst, is32);
		return;
	case ZYDIS_MNEMONIC_IMUL:
		add_product(w, dst, is32);
		return;
	default:
		if (w->z->operand_count_visible > 1)
			decode_binary(w, dst, &w->o[1], is32);
	}
}

/* ---- control ---- */

static u64 relative_target(const struct work *w)
{
	return w->i->pc + w->i->len + w->o[0].imm.value.u;
}

static void set_indirect(struct work *w)
{
	const ZydisDecodedOperand *o = &w->o[0];
	memset(&w->i->ea, 0, sizeof w->i->ea);
	w->i->ea.base = w->i->ea.index = TW_NOREG;
	if (o->type == ZYDIS_OPERAND_TYPE_REGISTER) {
		w->i->ea.kind = TW_OP_SET;
		w->i->ea.base = gpr(o->reg.value);
	} else {
		w->i->ea.kind = TW_OP_REF;
		set_address(&w->i->ea, w, o);
	}
}

static void decode_control(struct work *w)
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
				add_set(w, TW_RCX, TW_RCX, -1, w->z->address_width == 32);
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
	case ZYDIS_MNEMONIC_MOV:
		if (w->o[0].type == ZYDIS_OPERAND_TYPE_REGISTER && w->o[0].reg.value == ZYDIS_REGISTER_GS)
			i->kind = INSN_EMULATED;
		return;
	case ZYDIS_MNEMONIC_HLT:
	case ZYDIS_MNEMONIC_UD2:
	case ZYDIS_MNEMONIC_INT3:
	case ZYDIS_MNEMONIC_INT1:
	case ZYDIS_MNEMONIC_INT:
		i->kind = INSN_BAD;
		return;
	default:
		return;
	}
}

/* ---- registers and bytes ---- */

static void collect_registers(struct work *w)
{
	for (int k = 0; k < w->z->operand_count; k++) {
		const ZydisDecodedOperand *o = &w->o[k];
		if (o->type == ZYDIS_OPERAND_TYPE_REGISTER) {
			u16 r = bit(gpr(o->reg.value));
			if (o->actions & ZYDIS_OPERAND_ACTION_MASK_READ)
				w->i->uses |= r;
			if (o->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)
				w->i->defs |= r;
		} else if (o->type == ZYDIS_OPERAND_TYPE_MEMORY) {
			w->i->uses |= (u16)(bit(gpr(o->mem.base)) | (o->mem.type == ZYDIS_MEMOP_TYPE_VSIB ? 0 : bit(gpr(o->mem.index))));
		}
	}
	if (w->z->mnemonic == ZYDIS_MNEMONIC_CPUID)
		w->i->defs |= bit(TW_RAX) | bit(TW_RBX) | bit(TW_RCX) | bit(TW_RDX);
}

static void note_encoding(struct work *w)
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

/* Which of an instruction's operands it defines. */
enum defined { DEFINES_NONE, DEFINES_OPCODE, DEFINES_REG, DEFINES_RM, DEFINES_SAME };

static enum defined defined_by(const u8 *op)
{
	switch (op[0]) {
	case 0x8b: /* mov r, r/m */
	case 0x8d: /* lea */
	case 0x63: /* movsxd */
		return DEFINES_REG;
	case 0x0f: /* movzx, movsx */
		return (op[1] & 0xf6) == 0xb6 ? DEFINES_REG : DEFINES_NONE;
	case 0x89: /* mov r/m, r */
		return op[1] >> 6 == 3 ? DEFINES_RM : DEFINES_NONE;
	case 0xc7: /* mov r/m, imm32 */
		return op[1] >> 3 == 3 << 3 ? DEFINES_RM : DEFINES_NONE;
	case 0x31: /* xor, sub of a register and itself */
	case 0x33:
	case 0x29:
	case 0x2b:
		return op[1] >> 6 == 3 ? DEFINES_SAME : DEFINES_NONE;
	default: /* mov r, imm */
		return (op[0] & 0xf8) == 0xb8 ? DEFINES_OPCODE : DEFINES_NONE;
	}
}

u8 tw_decode_defines(const struct insn *i)
{
	const u8 rex = (i->raw[0] & 0xf0) == 0x40 ? i->raw[0] : 0, *op = i->raw + (rex ? 1 : 0);
	const u8 modrm = op[op[0] == 0x0f ? 2 : 1];
	const u8 reg = (u8)((rex & 4) << 1 | (modrm >> 3 & 7)), rm = (u8)((rex & 1) << 3 | (modrm & 7));
	u8 defined;
	switch (defined_by(op)) {
	case DEFINES_REG:
		defined = reg;
		break;
	case DEFINES_RM:
		defined = rm;
		break;
	case DEFINES_SAME:
		return reg == rm ? reg : TW_NOREG;
	case DEFINES_OPCODE:
		defined = (u8)((rex & 1) << 3 | (op[0] & 7));
		break;
	default:
		return TW_NOREG;
	}
	return i->uses >> defined & 1 ? TW_NOREG : defined;
}

bool tw_decode_overwrites_flags(const struct insn *i)
{
	const u8 rex = (i->raw[0] & 0xf0) == 0x40 ? 1 : 0, *op = i->raw + rex;
	const bool registers = op[1] >> 6 == 3;
	const u8 digit = op[1] >> 3 & 7;
	if (i->kind != INSN_PLAIN)
		return false;
	if (op[0] < 0x40 && (op[0] & 7) < 6) /* add, or, adc, sbb, and, sub, xor, cmp */
		return (op[0] & 7) >= 4 || registers;
	switch (op[0]) {
	case 0x80: /* the same with a constant */
	case 0x81:
	case 0x83:
	case 0x84: /* test */
	case 0x85:
		return registers;
	case 0xa8: /* test with a constant */
	case 0xa9:
		return true;
	case 0xf6: /* test with a constant, neg */
	case 0xf7:
		return registers && (digit == 0 || digit == 3);
	case 0xfe: /* inc, dec */
	case 0xff:
		return registers && digit <= 1;
	default:
		return false;
	}
}

/* How the instruction orders what other processors see. */
static u8 order_of(const struct work *w)
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

static void boil_down(struct work *w)
{
	struct insn *i = w->i;
	i->first_op = w->b->n_ops;
	i->lea_reg = TW_NOREG;
	collect_registers(w);
	decode_control(w);
	note_encoding(w);
	if (i->kind == INSN_BAD) {
		i->lost = i->defs;
		return;
	}
	if (is_string(w->z)) {
		add_string(w);
	} else if (w->z->mnemonic == ZYDIS_MNEMONIC_CLZERO) {
		add_clzero(w);
	} else if (!touches_nothing(w->z) && !decode_stack(w)) {
		/* Operands are listed destination first; a read of one operand comes before the write of another. */
		for (int pass = 0; pass < 2; pass++)
			for (int k = 0; k < w->z->operand_count; k++)
				if (w->o[k].type == ZYDIS_OPERAND_TYPE_MEMORY && (ref_type(w->o[k].actions) == TW_READ) == (pass == 0))
					add_memory_operand(w, &w->o[k]);
	}
	i->order = order_of(w);
	decode_updates(w);
	i->lost = i->defs & (u16)~w->computed;
	i->n_ops = (u16)(w->b->n_ops - i->first_op);
}

static void add_bad(struct insn *i, u64 pc, u64 limit)
{
	memset(i, 0, sizeof *i);
	i->pc = pc;
	i->kind = INSN_BAD;
	i->lea_reg = TW_NOREG;
	i->len = 1;
	if (pc < limit)
		memcpy(i->raw, (const void *)pc, 1);
}

static bool decode_bytes(const void *at, u64 n, ZydisDecodedInstruction *z, ZydisDecodedOperand *o)
{
	return ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, at, n, z, o));
}

/* With REX.B in front of it 90 is xchg r8, rax, to processors in spite of a prefix F3; Zydis says pause. It is decoded with a prefix without meaning instead. */
static bool decode_pause(const u8 *at, ZydisDecodedInstruction *z, ZydisDecodedOperand *o)
{
	u8 raw[16];
	u8 n = z->length;
	memcpy(raw, at, n);
	for (u8 k = 0; k < n && raw[k] != 0x90; k++)
		if (raw[k] == 0xf3)
			raw[k] = 0x3e;
	return decode_bytes(raw, n, z, o);
}

/* Decodes one instruction of the block; false: it ends the block. */
static bool decode_one(struct block *b, u64 pc, u64 limit)
{
	ZydisDecodedInstruction z;
	ZydisDecodedOperand o[ZYDIS_MAX_OPERAND_COUNT];
	u64 room = limit > pc ? limit - pc : 0;
	if (tw_memo_take(b, pc, room))
		return b->insn[b->n_insns - 1].kind == INSN_PLAIN;
	struct insn *i = &b->insn[b->n_insns++];
	if (!decode_bytes((const void *)pc, room < 15 ? room : 15, &z, o) ||
	    (z.mnemonic == ZYDIS_MNEMONIC_PAUSE && z.raw.rex.B && !decode_pause((const u8 *)pc, &z, o))) {
		add_bad(i, pc, limit);
		i->first_op = b->n_ops;
		return false;
	}
	memset(i, 0, sizeof *i);
	i->pc = pc;
	i->len = z.length;
	memcpy(i->raw, (const void *)pc, z.length);
	struct work w = {b, i, &z, o, 0};
	boil_down(&w);
	tw_memo_keep(b, room);
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

/* Adds instructions to the part until one ends it. */
static void decode_insns(struct block *b, struct part *p, u64 limit)
{
	u32 values = 0, first_op = b->n_ops;
	bool more = true;
	while (more && p->n_insns < PART_MAX_INSNS && b->n_ops - first_op < PART_MAX_OPS - 140 && values < BLOCK_MAX_VALUES - 130) {
		if (p->n_insns && tw_window_stops_at(p->pc + p->bytes))
			break;
		more = decode_one(b, p->pc + p->bytes, limit);
		struct insn *i = &b->insn[b->n_insns - 1];
		const bool stamped = tw_stamp_wanted(i);
		more = more && !stamped;
		if (p->n_insns && (i->kind == INSN_BAD || i->kind == INSN_EMULATED || stamped)) {
			/* These stand alone, so that whatever ran before them is a whole fragment. */
			b->n_ops = i->first_op;
			b->n_insns--;
			break;
		}
		p->n_insns++;
		p->bytes += i->len;
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
	p->next = pc + p->bytes;
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
		if (o[k].type == ZYDIS_OPERAND_TYPE_MEMORY && gpr(o[k].mem.base) == q->reg)
			q->found = true;
}

bool tw_decode_uses_base(const u8 *code, u8 reg)
{
	struct base_query q = {code, reg, false};
	tw_with_decoder(query_base, &q);
	return q.found;
}
