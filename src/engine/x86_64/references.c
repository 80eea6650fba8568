/* Which memory references an instruction makes: those of its operands, and implicit ones. */
#include "engine/x86_64/decoding.h"

/* ---- operations ---- */

struct memop *tw_decoding_op(struct decoding *w, u8 kind)
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

void tw_decoding_address(struct tw_op *op, const struct decoding *w, const ZydisDecodedOperand *o)
{
	const ZydisDecodedOperandMem *m = &o->mem;
	op->seg = segment_of(m->segment);
	op->disp = m->disp.has_displacement ? m->disp.value : 0;
	op->scale = shift_of(m->scale);
	if (m->base == ZYDIS_REGISTER_RIP || m->base == ZYDIS_REGISTER_EIP)
		op->disp += (i64)(w->i->pc + w->i->len);
	else
		op->base = tw_decoding_gpr(m->base);
	if (m->type != ZYDIS_MEMOP_TYPE_VSIB)
		op->index = tw_decoding_gpr(m->index);
	if (w->z->address_width == 32)
		op->flags |= TW_OPF_ADDR32;
}

static u8 ref_type(ZydisOperandActions a)
{
	bool r = a & (ZYDIS_OPERAND_ACTION_READ | ZYDIS_OPERAND_ACTION_CONDREAD);
	bool wr = a & (ZYDIS_OPERAND_ACTION_WRITE | ZYDIS_OPERAND_ACTION_CONDWRITE);
	return (u8)((r ? TW_READ : 0) | (wr ? TW_WRITE : 0));
}

struct tw_op *tw_decoding_set(struct decoding *w, u8 dst, u8 base, i64 disp, bool is32)
{
	struct tw_op *op = &tw_decoding_op(w, TW_OP_SET)->op;
	op->count = dst;
	op->base = base;
	op->disp = disp;
	op->flags = is32 ? TW_OPF_ADDR32 : 0;
	w->computed |= tw_decoding_bit(dst);
	return op;
}

static void add_stack_ref(struct decoding *w, u8 base, i64 disp, u32 size, u8 type)
{
	struct tw_op *op = &tw_decoding_op(w, TW_OP_REF)->op;
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

/* The vector register operand, apart from the memory operand, that a gather loads or a scatter stores. */
static const ZydisDecodedOperand *data_operand(const struct decoding *w)
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

static void add_gather(struct decoding *w, const ZydisDecodedOperand *o)
{
	const struct gather *g = find_gather(w->z->mnemonic);
	const ZydisDecodedOperand *d = data_operand(w);
	if (!g || !d)
		return; /* prefetching gathers */
	struct memop *m = tw_decoding_op(w, TW_OP_LANES);
	tw_decoding_address(&m->op, w, o);
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

/* AVX-512 instructions without fault suppression read the whole operand, whatever the mask (Intel SDM vol. 2, exception types E..NF). */
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

/* Number of destination lanes of a broadcast; 0: not a broadcast. */
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
static void add_opmask(struct decoding *w, const ZydisDecodedOperand *o)
{
	struct memop *m = tw_decoding_op(w, TW_OP_LANES);
	tw_decoding_address(&m->op, w, o);
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
	/* A broadcast reads its source once if any destination lane is active. */
	m->op.flags |= TW_OPF_ANY;
	m->op.size = operand_bytes(w->z, o);
	m->op.count = broadcast_lanes(w->z);
}

/* maskmov*: the mask is the sign bits of a vector register. */
static bool add_vector_mask(struct decoding *w, const ZydisDecodedOperand *o)
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
	struct memop *m = tw_decoding_op(w, TW_OP_LANES);
	tw_decoding_address(&m->op, w, o);
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

/* movs, stos, lods, scas, cmps: distinguished by opcode only. */
static void add_string(struct decoding *w)
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
	w->i->defs |= tw_decoding_bit(first) | tw_decoding_bit(second) | (rep ? tw_decoding_bit(TW_RCX) : 0);
	w->i->uses |= tw_decoding_bit(first) | tw_decoding_bit(second) | (rep ? tw_decoding_bit(TW_RCX) : 0);
	struct tw_op *a = &tw_decoding_op(w, rep ? TW_OP_REP : TW_OP_REF)->op;
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
		struct tw_op *c = &tw_decoding_op(w, TW_OP_REF)->op;
		c->base = second;
		c->flags = flags;
		c->size = size;
		c->type = second_type;
	}
}

static bool is_bit_string(const struct decoding *w)
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

static void add_xsave(struct decoding *w, const ZydisDecodedOperand *o, int kind)
{
	struct memop *m = tw_decoding_op(w, TW_OP_XSAVE);
	tw_decoding_address(&m->op, w, o);
	m->op.type = kind == 3 ? TW_READ : TW_WRITE;
	m->op.size = 576;
	m->op.flags |= kind == 2 ? TW_OPF_COMPACT : 0;
	m->xcomp = kind == 3;
}

static void add_memory_operand(struct decoding *w, const ZydisDecodedOperand *o)
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
	struct tw_op *op = &tw_decoding_op(w, is_bit_string(w) ? TW_OP_BIT : TW_OP_REF)->op;
	tw_decoding_address(op, w, o);
	op->type = ref_type(o->actions);
	op->size = operand_bytes(w->z, o);
	if (op->kind == TW_OP_BIT)
		op->count = tw_decoding_gpr(w->o[1].reg.value);
	if (w->z->mnemonic == ZYDIS_MNEMONIC_XLAT) {
		op->base = TW_RBX;
		op->index = TW_RAX;
		op->scale = 0;
		op->flags |= TW_OPF_INDEX8;
	}
}

/* The cache line at rax, which the decoder does not list as an operand. */
static void add_clzero(struct decoding *w)
{
	struct tw_op *op = &tw_decoding_op(w, TW_OP_REF)->op;
	op->base = TW_RAX;
	op->size = 64;
	op->type = TW_WRITE;
	op->flags = TW_OPF_LINE | (w->z->address_width == 32 ? TW_OPF_ADDR32 : 0);
	w->i->uses |= tw_decoding_bit(TW_RAX);
}

/* ---- the stack ---- */

static void stack_push(struct decoding *w, u32 size)
{
	add_stack_ref(w, TW_RSP, -(i64)size, size, TW_WRITE);
	tw_decoding_set(w, TW_RSP, TW_RSP, -(i64)size, false);
}

static void stack_enter(struct decoding *w)
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
	tw_decoding_set(w, TW_RBP, TW_RSP, -(i64)size, false);
	tw_decoding_set(w, TW_RSP, TW_RSP, -(i64)size * (levels + 1) - bytes, false);
}

static const ZydisDecodedOperand *explicit_memory(const struct decoding *w)
{
	for (int k = 0; k < w->z->operand_count_visible; k++)
		if (w->o[k].type == ZYDIS_OPERAND_TYPE_MEMORY)
			return &w->o[k];
	return NULL;
}

/* Instructions that move rsp by themselves. False: none of these. */
static bool decode_stack(struct decoding *w)
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
		if (w->i->kind == INSN_EMULATED) /* to %fs or %gs */
			size = w->z->operand_width == 16 ? 2 : 8;
		/* fall through */
	case ZYDIS_MNEMONIC_POPF:
	case ZYDIS_MNEMONIC_POPFQ:
		add_stack_ref(w, TW_RSP, 0, size, TW_READ);
		if (mem) {
			u16 at = w->b->n_ops;
			add_memory_operand(w, mem);
			if (w->b->op[at].op.base == TW_RSP) /* the address is computed after rsp moved */
				w->b->op[at].op.disp += size;
		}
		if (w->o[0].type == ZYDIS_OPERAND_TYPE_REGISTER && tw_decoding_gpr(w->o[0].reg.value) == TW_RSP)
			return true; /* rsp is what was loaded */
		tw_decoding_set(w, TW_RSP, TW_RSP, size, false);
		return true;
	case ZYDIS_MNEMONIC_RET:
		add_stack_ref(w, TW_RSP, 0, 8, TW_READ);
		if (w->i->kind == INSN_EMULATED) { /* far: the code segment's selector too */
			add_stack_ref(w, TW_RSP, 8, 8, TW_READ);
			return true;
		}
		tw_decoding_set(w, TW_RSP, TW_RSP, 8 + w->i->pop_bytes, false);
		return true;
	case ZYDIS_MNEMONIC_IRETQ:
		for (i64 k = 0; k < 5; k++)
			add_stack_ref(w, TW_RSP, 8 * k, 8, TW_READ);
		return true;
	case ZYDIS_MNEMONIC_LEAVE:
		add_stack_ref(w, TW_RBP, 0, size, TW_READ);
		tw_decoding_set(w, TW_RSP, TW_RBP, size, false);
		return true;
	case ZYDIS_MNEMONIC_ENTER:
		stack_enter(w);
		return true;
	default:
		return false;
	}
}

/* ---- all ---- */

void tw_decoding_references(struct decoding *w)
{
	if (is_string(w->z)) {
		add_string(w);
	} else if (w->z->mnemonic == ZYDIS_MNEMONIC_CLZERO) {
		add_clzero(w);
	} else if (!touches_nothing(w->z) && !decode_stack(w)) {
		/* Operands are listed destination first; a read of one operand comes before a write of another. */
		for (int pass = 0; pass < 2; pass++)
			for (int k = 0; k < w->z->operand_count; k++)
				if (w->o[k].type == ZYDIS_OPERAND_TYPE_MEMORY && (ref_type(w->o[k].actions) == TW_READ) == (pass == 0))
					add_memory_operand(w, &w->o[k]);
	}
}
