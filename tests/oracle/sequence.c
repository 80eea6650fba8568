/*
 * Makes random sequences. What registers hold is followed while the code is written: a pointer into the slot (and between which offsets), a small
 * number, or anything. So whatever is written is known to stay in bounds, on every path.
 */
#include "sequence_gen.h"

#define STOCK    2048
#define N_FUNCS  24
#define MAX_COST 60
#define ALL      0xffffu

/* A memory operand. */
struct access {
	uint8_t base, index, scale; /* NONE: no register */
	uint8_t bit_reg;            /* of a bit offset, or NONE */
	bool vector, byte;          /* index is a vector, or al */
	bool write, fixed;          /* fixed: rip-relative or absolute */
	uint8_t align;              /* the alignment it may need to not fault */
	int disp;
};

/* An instruction of the stock. */
struct candidate {
	uint8_t b[15], len;
	uint8_t disp_at, disp_size; /* of a displacement to choose; 0: none */
	uint8_t n_accesses;
	bool rip, string, repeated;
	bool narrow;   /* addresses of 32 bits */
	uint8_t width; /* of a string element */
	uint16_t writes;
	uint32_t vector_writes;
	struct access access[2];
};

/* A function, and what it asks of its callers. */
struct function {
	uint64_t at;
	uint16_t needs;    /* registers that must point to data */
	uint16_t clobbers; /* anything, afterwards */
	uint32_t vector_clobbers;
	uint8_t pushed;  /* quadwords that the caller pushes and it pops */
	bool skips;      /* returns behind the 5 bytes that follow the call, perhaps */
	bool counts;     /* takes a number of rounds in rcx */
	int cost, stack; /* units run by a call, and bytes of stack, at the most */
};

static uint64_t finish;
static bool high, modifies;

static ZydisDecoder decoder;
static struct candidate stock[STOCK];
static struct function functions[N_FUNCS];
static int n_functions;

/* ---- the stock ---- */

static uint8_t general(ZydisRegister r)
{
	ZydisRegister whole = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, r);
	return ZydisRegisterGetClass(whole) == ZYDIS_REGCLASS_GPR64 ? (uint8_t)ZydisRegisterGetId(whole) : NONE;
}

/* Its result depends on where code stands or on what other programs did, or its addresses are not told by its operands. */
static bool is_unfit(const ZydisDecodedInstruction *i)
{
	static const char *const prefixes[] = {"fxsave", "xsave",  "fnsave", "fnstenv", "clzero",   "lar",    "lsl",      "verr",
	                                       "verw",   "wruss",  "wrss",   "enqcmd",  "rstorssp", "incssp", "setssbsy", "saveprevssp",
	                                       "fsave",  "fstenv", "enter",  "leave",   "llwp",     "slwp",   "lwp"};
	const char *name = ZydisMnemonicGetString(i->mnemonic);
	for (size_t k = 0; k < sizeof prefixes / sizeof *prefixes; k++)
		if (!strncmp(name, prefixes[k], strlen(prefixes[k])))
			return true;
	return i->encoding == ZYDIS_INSTRUCTION_ENCODING_EVEX || i->encoding == ZYDIS_INSTRUCTION_ENCODING_MVEX ||
	       i->meta.isa_ext == ZYDIS_ISA_EXT_AMX_TILE || i->meta.isa_ext == ZYDIS_ISA_EXT_KEYLOCKER;
}

/* The register whose value is a bit offset, of bt and its like. */
static uint8_t bit_register(const ZydisDecodedInstruction *i, const ZydisDecodedOperand *op)
{
	bool bt = i->mnemonic == ZYDIS_MNEMONIC_BT || i->mnemonic == ZYDIS_MNEMONIC_BTS || i->mnemonic == ZYDIS_MNEMONIC_BTR ||
	          i->mnemonic == ZYDIS_MNEMONIC_BTC;
	return bt && op[1].type == ZYDIS_OPERAND_TYPE_REGISTER ? general(op[1].reg.value) : NONE;
}

/* SSE instructions, and moves that are said to be aligned. */
static bool may_need_alignment(const ZydisDecodedInstruction *i)
{
	const char *name = ZydisMnemonicGetString(i->mnemonic);
	return i->encoding == ZYDIS_INSTRUCTION_ENCODING_LEGACY || strstr(name, "mova") || strstr(name, "movnt") || strstr(name, "movdqa");
}

/* False: not one that sequences can have. */
static bool add_access(struct candidate *c, const ZydisDecodedInstruction *i, const ZydisDecodedOperand *all, const ZydisDecodedOperand *op)
{
	const ZydisDecodedOperandMem *m = &op->mem;
	if (m->type == ZYDIS_MEMOP_TYPE_AGEN)
		return true;
	if (c->n_accesses == 2 || op->size > 64 * 8 || m->segment == ZYDIS_REGISTER_FS)
		return false;
	struct access *a = &c->access[c->n_accesses++];
	*a = (struct access){.base = NONE, .index = NONE, .scale = m->scale, .bit_reg = bit_register(i, all), .disp = (int)m->disp.value};
	a->align = may_need_alignment(i) && op->size >= 128 ? (uint8_t)(op->size / 8) : 1;
	a->write = op->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE;
	c->rip = m->base == ZYDIS_REGISTER_RIP || m->base == ZYDIS_REGISTER_EIP;
	a->fixed = c->rip || m->base == ZYDIS_REGISTER_NONE;
	if (a->fixed && i->raw.disp.size < 32)
		return false;
	if (!a->fixed)
		a->base = general(m->base);
	if (m->type == ZYDIS_MEMOP_TYPE_VSIB) {
		a->vector = true;
		a->index = (uint8_t)ZydisRegisterGetId(m->index);
	} else if (m->index != ZYDIS_REGISTER_NONE) {
		a->index = general(m->index);
		a->byte = m->index == ZYDIS_REGISTER_AL;
	}
	return true;
}

static void add_write(struct candidate *c, ZydisRegister r)
{
	ZydisRegisterClass class = ZydisRegisterGetClass(r);
	uint8_t g = general(r);
	if (g != NONE)
		c->writes |= (uint16_t)BIT(g);
	else if (class == ZYDIS_REGCLASS_XMM || class == ZYDIS_REGCLASS_YMM)
		c->vector_writes |= BIT(ZydisRegisterGetId(r));
}

static bool analyze(struct candidate *c, const uint8_t *b, const ZydisDecodedInstruction *i, const ZydisDecodedOperand *op)
{
	*c = (struct candidate){.len = i->length,
	                        .narrow = i->address_width == 32,
	                        .repeated = is_repeated(i),
	                        .string = i->meta.category == ZYDIS_CATEGORY_STRINGOP};
	memcpy(c->b, b, i->length);
	if (i->raw.disp.size >= 32) {
		c->disp_at = i->raw.disp.offset;
		c->disp_size = i->raw.disp.size / 8;
	}
	if (i->mnemonic == ZYDIS_MNEMONIC_VZEROALL || i->mnemonic == ZYDIS_MNEMONIC_VZEROUPPER)
		c->vector_writes = ALL;
	for (int k = 0; k < i->operand_count; k++) {
		if (op[k].type == ZYDIS_OPERAND_TYPE_MEMORY && !add_access(c, i, op, &op[k]))
			return false;
		if (op[k].type == ZYDIS_OPERAND_TYPE_REGISTER && op[k].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)
			add_write(c, op[k].reg.value);
		if (op[k].type == ZYDIS_OPERAND_TYPE_MEMORY && c->string)
			c->width = (uint8_t)(op[k].size / 8);
	}
	return !(c->writes & BIT(RSP));
}

/* Nearly all machines have it: instructions of other extensions would fault whenever they run. */
static bool is_common(const ZydisDecodedInstruction *i)
{
	static const uint8_t extensions[] = {
	    ZYDIS_ISA_EXT_AES,   ZYDIS_ISA_EXT_AVX,   ZYDIS_ISA_EXT_AVX2,      ZYDIS_ISA_EXT_AVX2GATHER, ZYDIS_ISA_EXT_AVXAES,
	    ZYDIS_ISA_EXT_BASE,  ZYDIS_ISA_EXT_BMI1,  ZYDIS_ISA_EXT_BMI2,      ZYDIS_ISA_EXT_CLFSH,      ZYDIS_ISA_EXT_F16C,
	    ZYDIS_ISA_EXT_FMA,   ZYDIS_ISA_EXT_LZCNT, ZYDIS_ISA_EXT_LONGMODE,  ZYDIS_ISA_EXT_MMX,        ZYDIS_ISA_EXT_MOVBE,
	    ZYDIS_ISA_EXT_PAUSE, ZYDIS_ISA_EXT_SSE,   ZYDIS_ISA_EXT_PCLMULQDQ, ZYDIS_ISA_EXT_SSE2,       ZYDIS_ISA_EXT_SSE3,
	    ZYDIS_ISA_EXT_SSE4,  ZYDIS_ISA_EXT_SSSE3, ZYDIS_ISA_EXT_X87,
	};
	return memchr(extensions, i->meta.isa_ext, sizeof extensions) && i->meta.category != ZYDIS_CATEGORY_IOSTRINGOP &&
	       i->mnemonic != ZYDIS_MNEMONIC_DIV && i->mnemonic != ZYDIS_MNEMONIC_IDIV;
}

static void draw(struct candidate *c)
{
	uint8_t b[15];
	ZydisDecodedInstruction i;
	ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];
	do
		random_bytes(b, false);
	while (!random_is_wanted(&decoder, b, &i, op) || is_unfit(&i) || (!is_common(&i) && rnd(50)) || !analyze(c, b, &i, op));
}

bool sequence_is_high(void)
{
	return high;
}

bool sequence_modifies(void)
{
	return modifies;
}

void sequence_init(uint64_t to, bool is_high, bool may_modify)
{
	finish = to;
	high = is_high;
	modifies = may_modify;
	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
}

void sequence_stock(uint64_t seed)
{
	random_seed(seed);
	for (int k = 0; k < STOCK; k++)
		draw(&stock[k]);
}

/* ---- writing code ---- */

void put(struct gen *g, uint64_t v, int bytes)
{
	if (g->end - g->p < bytes) {
		g->bad = true;
		return;
	}
	memcpy(g->p, &v, (size_t)bytes);
	g->p += bytes;
}

void put8(struct gen *g, unsigned v)
{
	put(g, v, 1);
}

void put32(struct gen *g, int v)
{
	put(g, (uint32_t)v, 4);
}

void put_rex(struct gen *g, bool w, unsigned reg, unsigned index, unsigned base)
{
	unsigned rex = 0x40u | (unsigned)w << 3 | (reg >> 3 & 1) << 2 | (index >> 3 & 1) << 1 | (base >> 3 & 1);
	if (rex != 0x40)
		put8(g, rex);
}

void put_rr(struct gen *g, bool w, unsigned opcode, unsigned reg, unsigned rm)
{
	put_rex(g, w, reg, 0, rm);
	put8(g, opcode);
	put8(g, 0xc0 | (reg & 7) << 3 | (rm & 7));
}

void put_rm(struct gen *g, bool w, unsigned opcode, unsigned reg, unsigned base, int disp)
{
	bool small = disp == (int8_t)disp && rnd(8);
	put_rex(g, w, reg, 0, base);
	put8(g, opcode);
	put8(g, (small ? 0x40u : 0x80u) | (reg & 7) << 3 | (base & 7));
	if ((base & 7) == RSP)
		put8(g, 0x24);
	put(g, (uint32_t)disp, small ? 1 : 4);
}

void put_rip(struct gen *g, bool w, unsigned opcode, unsigned reg, const void *to)
{
	put_rex(g, w, reg, 0, 0);
	put8(g, opcode);
	put8(g, 0x05 | (reg & 7) << 3);
	put32(g, (int)((int64_t)to - (int64_t)(g->p + 4)));
}

void put_arith(struct gen *g, bool w, unsigned which, unsigned reg, int imm)
{
	bool small = imm == (int8_t)imm && rnd(4);
	put_rr(g, w, small ? 0x83 : 0x81, which, reg);
	put(g, (uint32_t)imm, small ? 1 : 4);
}

static void put_push(struct gen *g, unsigned reg)
{
	put_rex(g, false, 0, 0, reg);
	put8(g, 0x50 | (reg & 7));
}

static void put_pop(struct gen *g, unsigned reg)
{
	put_rex(g, false, 0, 0, reg);
	put8(g, 0x58 | (reg & 7));
}

static void put_jump(struct gen *g, unsigned opcode, uint64_t to)
{
	put8(g, opcode);
	put32(g, (int)(to - (uint64_t)(g->p + 4)));
}

/* ---- what registers hold ---- */

void set(struct gen *g, unsigned reg, struct value v)
{
	g->r[reg] = v;
	g->clobbered |= (uint16_t)BIT(reg);
}

struct value shifted(struct value v, int lo, int hi)
{
	v.lo += lo;
	v.hi += hi;
	return v;
}

static bool is_data(struct value v)
{
	return v.kind == POINTER && v.lo >= 512 && v.hi <= DATA_BYTES - 512;
}

/* May a register hold this, other than rsp? */
static bool is_tame(struct value v)
{
	if (v.kind == POINTER)
		return is_data(v) || (v.lo >= CELL_END + 256 && v.hi <= SLOT_BYTES - 512);
	return v.kind == ANY || (v.lo >= -32 && v.hi <= 32);
}

bool is_writable(const struct gen *g, unsigned reg)
{
	return reg != RSP && !(g->keep >> reg & 1);
}

/* A register that may be written; r11 more often than others. NONE: there is none, or it was not found. */
unsigned pick_target(const struct gen *g)
{
	for (int k = 0; k < 20; k++) {
		unsigned reg = rnd(8) ? rnd(16) : 11;
		if (is_writable(g, reg))
			return reg;
	}
	return NONE;
}

/* A register that holds a value of the kind. */
unsigned pick_kind(const struct gen *g, uint8_t kind)
{
	for (int k = 0; k < 40; k++) {
		unsigned reg = rnd(16);
		if (reg != RSP && g->r[reg].kind == kind)
			return reg;
	}
	return NONE;
}

static struct value either(struct value a, struct value b)
{
	if (a.kind != b.kind || a.kind == ANY)
		return anything;
	struct value v = {a.kind, a.lo < b.lo ? a.lo : b.lo, a.hi > b.hi ? a.hi : b.hi};
	return is_tame(v) ? v : anything;
}

void meet(struct gen *g, const struct gen *a)
{
	for (unsigned r = 0; r < 16; r++)
		if (r != RSP)
			g->r[r] = either(g->r[r], a->r[r]);
	for (int k = 0; k < g->depth; k++)
		g->pushed[k] = either(g->pushed[k], a->pushed[k]);
	g->small_vectors &= a->small_vectors;
}

/* ---- instructions of the stock ---- */

/* Where access a leads with the registers as they are, into [*lo, *hi]. False: anywhere. */
static bool reach(const struct gen *g, const struct access *a, int disp, int *lo, int *hi)
{
	struct value base = a->base == NONE ? (struct value){POINTER, 0, 0} : g->r[a->base];
	struct value index = {SMALL, 0, 0};
	if (a->vector)
		index = g->small_vectors >> (a->index & 15) & 1 ? (struct value){SMALL, -32, 32} : anything;
	else if (a->byte)
		index = (struct value){SMALL, 0, 255};
	else if (a->index != NONE)
		index = g->r[a->index];
	if (base.kind != POINTER || index.kind != SMALL || (a->bit_reg != NONE && g->r[a->bit_reg].kind != SMALL))
		return false;
	*lo = base.lo + index.lo * a->scale + disp - (a->bit_reg != NONE ? 16 : 0);
	*hi = base.hi + index.hi * a->scale + disp + 72;
	return true;
}

static bool is_within(const struct gen *g, const struct access *a, int lo, int hi, int *disp)
{
	if (a->fixed) {
		*disp += (int)(512 + (rnd(DATA_BYTES - 1024) & (rnd(3) || a->align > 1 ? ~31u : ~0u)));
		lo += *disp;
		hi += *disp;
		return g->slot && lo >= 0 && hi <= DATA_BYTES;
	}
	return (lo >= 0 && hi <= DATA_BYTES) || (g->slot && lo >= CELL_END && hi <= SLOT_BYTES);
}

/* Does c stay in bounds? *disp: the displacement to write. */
static bool fits(const struct gen *g, const struct candidate *c, int *disp)
{
	bool chosen = c->disp_size != 0, faults = false;
	*disp = 0;
	if (high && c->n_accesses && (c->narrow || (c->access[0].fixed && !c->rip)))
		return false;
	if ((c->writes & g->keep) || (c->repeated && (g->r[RCX].kind != SMALL || g->r[RCX].lo < 0 || g->r[RCX].hi > 8)))
		return false;
	if (chosen && c->n_accesses && !c->access[0].fixed)
		*disp = (int)(rnd(512) & (rnd(2) ? ~31u : ~0u)) - 256;
	for (int k = 0; k < c->n_accesses; k++) {
		int lo, hi;
		const struct access *a = &c->access[k];
		if (!reach(g, a, chosen ? *disp : a->disp, &lo, &hi) || !is_within(g, a, lo, hi + (c->repeated ? 64 : 0), disp))
			return false;
		if (lo != hi - 72 || lo % a->align)
			faults |= a->align > 1;
		if (c->string && (g->r[a->base].kind != POINTER || !is_data(shifted(g->r[a->base], 0, 64))))
			return false;
	}
	return !faults || rnd(50) == 0;
}

static void put_candidate(struct gen *g, const struct candidate *c, int disp)
{
	uint8_t *at = g->p;
	for (int k = 0; k < c->len; k++)
		put8(g, c->b[k]);
	if (g->bad || !c->disp_size || !c->n_accesses)
		return;
	int64_t v = disp;
	if (c->rip)
		v = (int64_t)(g->slot + disp) - (int64_t)g->p;
	else if (c->access[0].fixed)
		v = (int64_t)(g->slot + disp);
	memcpy(at + c->disp_at, &v, c->disp_size);
}

static void forget_pushed(struct gen *g)
{
	for (int k = 0; k < g->depth; k++)
		g->pushed[k] = anything;
}

static void after_candidate(struct gen *g, const struct candidate *c)
{
	int rounds = c->repeated ? g->r[RCX].hi : 1;
	for (unsigned r = 0; r < 16; r++) {
		if (!(c->writes >> r & 1))
			continue;
		if (c->string && (r == RSI || r == RDI))
			set(g, r, shifted(g->r[r], 0, rounds * c->width));
		else if (c->string && c->repeated && r == RCX)
			set(g, r, (struct value){SMALL, 0, g->r[r].hi});
		else
			set(g, r, anything);
	}
	g->small_vectors &= ~c->vector_writes;
	g->vector_clobbered |= c->vector_writes;
	for (int k = 0; k < c->n_accesses; k++)
		if (c->access[k].write && c->access[k].base != NONE && g->r[c->access[k].base].lo >= CELL_END)
			forget_pushed(g);
}

bool unit_stock(struct gen *g)
{
	for (int k = 0; k < 60; k++) {
		const struct candidate *c = &stock[rnd(STOCK)];
		int disp;
		if (!fits(g, c, &disp))
			continue;
		put_candidate(g, c, disp);
		after_candidate(g, c);
		return true;
	}
	return false;
}

/* ---- arithmetic that replay follows ---- */

/* Writes reg = slot + offset, or the address of anything else. */
void put_address(struct gen *g, unsigned reg, const void *to)
{
	bool imm64 = high || rnd(2);
	switch (rnd(3)) {
	case 0:
		put_rip(g, true, 0x8d, reg, to);
		break;
	case 1: /* mov r32, imm32 */
		if (high) {
			put_rip(g, true, 0x8d, reg, to);
			break;
		}
		put_rex(g, false, 0, 0, reg);
		put8(g, 0xb8 | (reg & 7));
		put(g, (uint64_t)to, 4);
		break;
	default: /* mov r64, imm64 or imm32 */
		put_rex(g, true, 0, 0, reg);
		if (imm64) {
			put8(g, 0xb8 | (reg & 7));
			put(g, (uint64_t)to, 8);
		} else {
			put8(g, 0xc7);
			put8(g, 0xc0 | (reg & 7));
			put(g, (uint64_t)to, 4);
		}
	}
}

int random_offset(void)
{
	return (int)(640 + (rnd(DATA_BYTES - 1280) & (rnd(4) ? ~31u : ~0u)));
}

static bool unit_pointer(struct gen *g)
{
	unsigned reg = pick_target(g);
	if (reg == NONE || !g->slot)
		return false;
	int at = random_offset();
	put_address(g, reg, g->slot + at);
	set(g, reg, (struct value){POINTER, at, at});
	return true;
}

static bool unit_small(struct gen *g)
{
	unsigned reg = pick_target(g);
	if (reg == NONE)
		return false;
	if (rnd(3)) {
		put_arith(g, rnd(2), 4, reg, 31);
		set(g, reg, (struct value){SMALL, 0, 31});
		return true;
	}
	int v = (int)rnd(64) - 32;
	if (v == 0 || rnd(4) == 0) {
		put_rr(g, rnd(2), 0x31, reg, reg);
		v = 0;
	} else {
		put_rex(g, true, 0, 0, reg);
		put8(g, 0xc7);
		put8(g, 0xc0 | (reg & 7));
		put32(g, v);
	}
	set(g, reg, (struct value){SMALL, v, v});
	return true;
}

/* A value after a 32-bit operation: low addresses are below 4 GB, negative numbers are not. */
static struct value zero_extended(struct value v)
{
	return (v.kind == SMALL && v.lo < 0) || (v.kind == POINTER && high) ? anything : v;
}

static bool unit_mov(struct gen *g)
{
	unsigned to = pick_target(g), from = rnd(16);
	bool w = rnd(4);
	struct value v = w ? g->r[from] : zero_extended(g->r[from]);
	if (to == NONE || !is_tame(v))
		return false;
	if (rnd(2))
		put_rr(g, w, 0x89, from, to);
	else
		put_rr(g, w, 0x8b, to, from);
	set(g, to, v);
	return true;
}

static bool unit_xchg(struct gen *g)
{
	unsigned a = pick_target(g), b = pick_target(g);
	if (a == NONE || b == NONE || a == b)
		return false;
	bool w = rnd(4);
	put_rr(g, w, 0x87, a, b);
	struct value v = g->r[a];
	set(g, a, w ? g->r[b] : zero_extended(g->r[b]));
	set(g, b, w ? v : zero_extended(v));
	return true;
}

static bool unit_add(struct gen *g)
{
	unsigned reg = pick_target(g);
	int by = (int)rnd(128) - 64;
	bool w = rnd(4), one = rnd(3) == 0;
	if (reg == NONE)
		return false;
	if (one)
		by = by < 0 ? -1 : 1;
	struct value v = shifted(g->r[reg], by, by);
	if (!w)
		v = zero_extended(v);
	if (!is_tame(v))
		return false;
	if (one)
		put_rr(g, w, 0xff, by < 0, reg);
	else if (rnd(2))
		put_arith(g, w, 0, reg, by);
	else
		put_arith(g, w, 5, reg, -by);
	set(g, reg, v);
	return true;
}

/* lea to, [base + index * scale + disp] */
static bool unit_lea(struct gen *g)
{
	unsigned to = pick_target(g), base = rnd(3) ? pick_kind(g, POINTER) : rnd(16), index = pick_kind(g, SMALL), scale = rnd(4);
	bool w = rnd(4);
	int disp = (int)rnd(200) - 100;
	if (to == NONE || base == NONE)
		return false;
	bool indexed = index != NONE && rnd(2);
	struct value v = shifted(g->r[base], disp, disp);
	if (indexed)
		v = shifted(v, g->r[index].lo * (1 << scale), g->r[index].hi * (1 << scale));
	if (!w)
		v = zero_extended(v);
	if (!is_tame(v))
		return false;
	if (!indexed) {
		put_rm(g, w, 0x8d, to, base, disp);
	} else {
		put_rex(g, w, to, index, base);
		put8(g, 0x8d);
		put8(g, 0x84 | (to & 7) << 3);
		put8(g, scale << 6 | (index & 7) << 3 | (base & 7));
		put32(g, disp);
	}
	set(g, to, v);
	return true;
}

/* A pointer from memory. */
static bool unit_load(struct gen *g)
{
	unsigned reg = pick_target(g);
	if (reg == NONE || !g->slot)
		return false;
	bool trap = rnd(6) == 0;
	put_rip(g, true, 0x8b, reg, g->slot + (trap ? CELL_TRAP : CELL_POINTER));
	set(g, reg, trap ? (struct value){POINTER, 2048, 2048} : (struct value){POINTER, 1024, 2048});
	return true;
}

/* ---- the stack ---- */

static bool unit_push(struct gen *g)
{
	unsigned reg = rnd(16), data = pick_kind(g, POINTER);
	if (g->depth == 8)
		return false;
	struct value v = anything;
	switch (rnd(6)) {
	case 0:                    /* push imm */
		if (rnd(4) == 0) { /* push fs, gs */
			put8(g, 0x0f);
			put8(g, 0xa0 | rnd(2) << 3);
			break;
		}
		put8(g, 0x68);
		put32(g, (int)rnd(1u << 31));
		break;
	case 1: /* push [data + disp] */
		if (data == NONE)
			return false;
		put_rm(g, false, 0xff, 6, data, (int)rnd(256) - 128);
		break;
	case 2: /* pushfq */
		put8(g, 0x9c);
		break;
	default:
		put_push(g, reg);
		v = is_tame(g->r[reg]) ? g->r[reg] : anything;
	}
	g->pushed[g->depth++] = v;
	g->r[RSP] = shifted(g->r[RSP], -8, -8);
	return true;
}

static void put_drop(struct gen *g, int n)
{
	if (rnd(2))
		put_rm(g, true, 0x8d, RSP, RSP, 8 * n);
	else
		put_arith(g, true, 0, RSP, 8 * n);
	g->depth -= n;
	g->r[RSP] = shifted(g->r[RSP], 8 * n, 8 * n);
}

static bool unit_pop(struct gen *g)
{
	unsigned reg = pick_target(g), data = pick_kind(g, POINTER);
	if (g->depth <= g->floor || reg == NONE)
		return false;
	unsigned how = rnd(5);
	if (how == 0) {
		put_drop(g, 1);
		return true;
	}
	g->depth--;
	g->r[RSP] = shifted(g->r[RSP], 8, 8);
	if (how == 1 && data != NONE && is_data(g->r[data])) { /* pop [data + disp] */
		put_rm(g, false, 0x8f, 0, data, (int)rnd(256) - 128);
	} else if (how == 2) { /* pop [rsp - disp] */
		put_rm(g, false, 0x8f, 0, RSP, -(int)rnd(64));
		forget_pushed(g);
	} else {
		put_pop(g, reg);
		set(g, reg, g->pushed[g->depth]);
	}
	return true;
}

/* push rbp; mov rbp, rsp; ...; leave */
static bool unit_frame(struct gen *g)
{
	if (!is_writable(g, 5) || g->depth == 8)
		return false;
	struct value rbp = g->r[5], rsp = g->r[RSP];
	uint16_t keep = g->keep;
	put_push(g, 5);
	put_rr(g, true, 0x89, RSP, 5);
	set(g, 5, shifted(rsp, -8, -8));
	int size = 8 * (int)rnd(16);
	if (size)
		put_arith(g, true, 5, RSP, size);
	g->r[RSP] = shifted(rsp, -8 - size, -8 - size);
	g->keep |= BIT(5);
	int depth = g->depth;
	g->pushed[g->depth++] = rbp;
	unit_stock(g);
	unit_stock(g);
	g->keep = keep;
	put8(g, 0xc9);
	g->depth = depth;
	set(g, 5, g->pushed[depth]);
	g->r[RSP] = rsp;
	return true;
}

/* rsp changes in a way that replay cannot follow, and back. */
static bool unit_align(struct gen *g)
{
	unsigned reg = pick_target(g);
	if (reg == NONE)
		return false;
	struct value rsp = g->r[RSP];
	uint16_t keep = g->keep;
	put_rr(g, true, 0x8b, reg, RSP);
	put_arith(g, true, 4, RSP, -(16 << rnd(3)));
	set(g, reg, is_tame(rsp) ? rsp : anything);
	g->r[RSP] = shifted(rsp, -64, 0);
	g->keep |= (uint16_t)BIT(reg);
	unit_stock(g);
	g->keep = keep;
	if (rnd(2)) {
		put_rr(g, true, 0x8b, RSP, reg);
	} else {
		put_rr(g, true, 0x87, reg, RSP);
		set(g, reg, anything);
	}
	g->r[RSP] = rsp;
	return true;
}

/* ---- string operations ---- */

/* rcx = 0 to 7 */
static void put_count(struct gen *g)
{
	if (rnd(2)) {
		put8(g, 0xb9);
		put32(g, (int)rnd(8));
	} else {
		put_arith(g, rnd(2), 4, RCX, 7);
	}
	set(g, RCX, (struct value){SMALL, 0, 7});
}

static bool prepare_pointer(struct gen *g, unsigned reg)
{
	if (!is_writable(g, reg))
		return false;
	if (is_data(shifted(g->r[reg], -64, 64)))
		return true;
	if (!g->slot)
		return false;
	int at = random_offset();
	put_address(g, reg, g->slot + at);
	set(g, reg, (struct value){POINTER, at, at});
	return true;
}

static bool unit_string(struct gen *g)
{
	static const uint8_t opcodes[] = {0xa4, 0xa6, 0xaa, 0xac, 0xae};
	if (!is_writable(g, RCX) || !is_writable(g, 0) || !prepare_pointer(g, RSI) || !prepare_pointer(g, RDI))
		return false;
	bool down = rnd(6) == 0;
	unsigned op = opcodes[rnd(5)] | rnd(2);
	put_count(g);
	if (down)
		put8(g, 0xfd);
	put8(g, rnd(3) ? 0xf3 : 0xf2);
	if (rnd(2))
		put_rex(g, true, 0, 0, 0);
	put8(g, op);
	if (down)
		put8(g, 0xfc);
	if ((op & 0xfe) == 0xac)
		set(g, 0, anything);
	for (unsigned r = RSI; r <= RDI; r++)
		set(g, r, shifted(g->r[r], down ? -56 : 0, down ? 0 : 56));
	return true;
}

/* ---- branches ---- */

void make_units(struct gen *g, int n)
{
	g->level++;
	for (int k = 0; k < n; k++)
		make_unit(g);
	g->level--;
}

/* A branch with its displacement to come; returns where the code after it starts. */
static uint8_t *put_forward(struct gen *g, bool near)
{
	unsigned kind = rnd(20);
	if (kind >= 18 && !near) { /* jrcxz, jecxz */
		if (rnd(2))
			put8(g, 0x67);
		put8(g, 0xe3);
		put8(g, 0);
		return g->p;
	}
	kind &= 15;
	if (!near) {
		put8(g, 0x70 | kind);
		put8(g, 0);
	} else {
		put8(g, 0x0f);
		put8(g, 0x80 | kind);
		put32(g, 0);
	}
	return g->p;
}

/* The code reached both ways has the same depth of stack. */
void rebalance(struct gen *g, int depth)
{
	if (g->depth > depth)
		put_drop(g, g->depth - depth);
}

/* Something for the branch to depend on. */
static void put_test(struct gen *g)
{
	unsigned a = rnd(16), b = rnd(16);
	if (rnd(3) == 0)
		put_rr(g, rnd(2), rnd(2) ? 0x85 : 0x39, a, b);
	else if (rnd(2))
		put_arith(g, rnd(2), 7, a, (int)rnd(256) - 128);
}

static bool unit_if(struct gen *g)
{
	if (g->level > 2)
		return false;
	put_test(g);
	struct gen start = *g;
	for (int near = (int)rnd(2); near < 2; near++) {
		*g = start;
		uint8_t *from = put_forward(g, near);
		g->floor = g->depth;
		make_units(g, 1 + (int)rnd(3));
		rebalance(g, start.depth);
		g->floor = start.floor;
		int64_t d = g->p - from;
		if (g->bad || (!near && d > 127))
			continue;
		memcpy(near ? from - 4 : from - 1, &d, near ? 4 : 1);
		meet(g, &start);
		return true;
	}
	return false;
}

/* A jump over junk. */
static bool unit_jump(struct gen *g)
{
	unsigned n = rnd(12);
	put8(g, 0xeb);
	put8(g, n);
	for (; n; n--)
		put8(g, rnd(256));
	return true;
}

/* jmp reg, to one of two places, which are reached with the same state. */
static bool unit_indirect(struct gen *g)
{
	unsigned a = pick_target(g), b = pick_target(g);
	if (g->level > 2 || a == NONE || b == NONE || a == b)
		return false;
	uint8_t *lea[2];
	const unsigned reg[2] = {a, b};
	for (int k = 0; k < 2; k++) {
		put_rip(g, true, 0x8d, reg[k], g->p);
		lea[k] = g->p;
		set(g, reg[k], anything);
	}
	put_rex(g, true, a, 0, b); /* cmovcc a, b */
	put8(g, 0x0f);
	put8(g, 0x40 | rnd(16));
	put8(g, 0xc0 | (a & 7) << 3 | (b & 7));
	put_rr(g, false, 0xff, 4, a);
	struct gen start = *g;
	for (int k = 0; k < 2; k++) {
		if (g->bad)
			return false;
		int32_t d = (int32_t)(g->p - lea[k]);
		memcpy(lea[k] - 4, &d, 4);
		if (k == 0) {
			g->floor = g->depth;
			make_units(g, 1 + (int)rnd(2));
			rebalance(g, start.depth);
			g->floor = start.floor;
		}
	}
	meet(g, &start);
	return true;
}

/* The registers that a loop must leave as they are: what is known of them holds each time. */
static uint16_t known_registers(const struct gen *g)
{
	uint16_t known = 0;
	for (unsigned r = 0; r < 16; r++)
		if (g->r[r].kind != ANY)
			known |= (uint16_t)BIT(r);
	return known;
}

/* A few rounds; a pointer may move in each. */
static bool unit_loop(struct gen *g)
{
	unsigned counter = rnd(3) ? pick_target(g) : RCX, moved = pick_kind(g, POINTER);
	int rounds = 1 + (int)rnd(4), step = (int)rnd(64) - 32;
	if (g->level > 1 || counter == NONE || !is_writable(g, counter))
		return false;
	put_rex(g, false, 0, 0, counter);
	put8(g, 0xb8 | (counter & 7));
	put32(g, rounds);
	set(g, counter, (struct value){SMALL, 0, rounds});
	if (moved == NONE || !is_writable(g, moved) || moved == counter || !is_tame(shifted(g->r[moved], -128, 128)))
		step = 0;
	else
		set(g, moved, shifted(g->r[moved], step < 0 ? rounds * step : 0, step < 0 ? 0 : rounds * step));
	g->small_vectors = 0;
	uint16_t keep = g->keep;
	int floor = g->floor, depth = g->depth, times = g->times;
	struct gen start = *g;
	uint8_t *head = g->p;
	g->keep |= known_registers(g);
	g->times *= rounds;
	g->floor = depth;
	make_units(g, 1 + (int)rnd(3));
	rebalance(g, depth);
	g->keep = keep;
	g->floor = floor;
	g->times = times;
	if (step)
		put_rm(g, true, 0x8d, moved, moved, step);
	if (counter == RCX && rnd(2) && head - g->p > -120) { /* loop; loope, loopne: perhaps fewer rounds */
		if (rnd(6) == 0)
			put8(g, 0x67);
		put8(g, rnd(2) ? 0xe2 : 0xe0 + rnd(2));
		put8(g, (unsigned)(head - (g->p + 1)) & 0xff);
	} else {
		put_rr(g, rnd(2), 0xff, 1, counter);
		put8(g, 0x0f);
		put8(g, 0x85);
		put32(g, (int)(head - (g->p + 4)));
	}
	meet(g, &start);
	set(g, counter, anything);
	return true;
}

/* ---- calls ---- */

/* call, directly, through a register, through memory or the stack. Returns how many bytes it leaves on the stack. */
static int put_call(struct gen *g, uint64_t to)
{
	unsigned reg = pick_target(g), how = g->slot ? rnd(8) : 0;
	bool usable = reg != NONE && reg != RCX;
	if (how == 3 && usable) {
		put_address(g, reg, (const void *)to);
		set(g, reg, anything);
		put_rr(g, false, 0xff, 2, reg);
	} else if (how == 4 && g->cell + 8 <= CELL_END) {
		memcpy(g->slot + g->cell, &to, 8);
		put_rip(g, false, 0xff, 2, g->slot + g->cell);
		g->cell += 8;
	} else if (how == 5 && !high) { /* push to; call [rsp] */
		put8(g, 0x68);
		put(g, to, 4);
		put(g, 0x2414ff, 3);
		return 8;
	} else if (how == 6 && usable) { /* lea reg, [rip + after]; push reg; jmp to; after: */
		put_rip(g, true, 0x8d, reg, g->p + 7 + (reg < 8 ? 1 : 2) + 5);
		set(g, reg, anything);
		put_push(g, reg);
		put_jump(g, 0xe9, to);
	} else {
		put_jump(g, 0xe8, to);
	}
	return 0;
}

static bool prepare_call(struct gen *g, const struct function *f)
{
	if ((g->keep & f->clobbers) || (f->counts && !is_writable(g, RCX)))
		return false;
	for (unsigned r = 0; r < 16; r++) {
		struct value v = g->r[r];
		if (!(f->needs >> r & 1) || (v.kind == POINTER && v.lo >= 1024 && v.hi <= 2560))
			continue;
		if (!is_writable(g, r) || !g->slot)
			return false;
	}
	for (unsigned r = 0; r < 16; r++) {
		struct value v = g->r[r];
		if (!(f->needs >> r & 1) || (v.kind == POINTER && v.lo >= 1024 && v.hi <= 2560))
			continue;
		int at = 1024 + 32 * (int)rnd(48);
		put_address(g, r, g->slot + at);
		set(g, r, (struct value){POINTER, at, at});
	}
	return true;
}

static bool unit_call(struct gen *g)
{
	if (!n_functions)
		return false;
	const struct function *f = &functions[rnd((uint32_t)n_functions)];
	if (g->cost + g->times * f->cost > MAX_COST || !prepare_call(g, f))
		return false;
	g->cost += g->times * f->cost;
	g->stack = f->stack > g->stack ? f->stack : g->stack;
	if (f->counts) {
		put8(g, 0xb9);
		put32(g, 1 + (int)rnd(3));
		set(g, RCX, anything);
	}
	uint16_t keep = g->keep;
	g->keep |= f->needs | (uint16_t)(f->counts ? BIT(RCX) : 0);
	for (int k = 0; k < f->pushed; k++)
		put_push(g, rnd(16));
	int left = put_call(g, f->at);
	g->keep = keep;
	for (unsigned r = 0; r < 16; r++)
		if (f->clobbers >> r & 1)
			set(g, r, anything);
	g->small_vectors &= ~f->vector_clobbers;
	g->vector_clobbered |= f->vector_clobbers;
	if (f->skips) {
		unsigned reg = pick_target(g);
		bool mov = reg != NONE && reg < 8;
		put8(g, mov ? 0xb8 | reg : 0xa9);
		put32(g, (int)rnd(1u << 31)); /* mov r32, imm32, or test eax, imm32 */
		if (mov)
			set(g, reg, anything);
	}
	if (left)
		put_rm(g, true, 0x8d, RSP, RSP, left);
	return true;
}

/* The ways a function ends. */
static void put_end(struct gen *g, struct function *f)
{
	unsigned reg = pick_target(g);
	unsigned how = reg == NONE ? 0 : rnd(10);
	switch (how) {
	case 0: /* ret n */
		f->pushed = (uint8_t)(1 + rnd(2));
		put8(g, 0xc2);
		put(g, 8u * f->pushed, 2);
		return;
	case 1: /* changes its return address, at times */
		put8(g, 0x70 | rnd(16));
		put8(g, 5);
		/* fall through */
	case 2: /* add qword [rsp], 5; ret */
		f->skips = true;
		put(g, 0x0524048348ull, 5);
		break;
	case 3: /* pop reg; (lea reg, [reg + 5]); jmp reg */
	case 4: /* ... push reg; ret */
		put_pop(g, reg);
		f->skips = rnd(2);
		if (f->skips)
			put_rm(g, true, 0x8d, reg, reg, 5);
		set(g, reg, anything);
		if (how == 3) {
			put_rr(g, false, 0xff, 4, reg);
			return;
		}
		put_push(g, reg);
		break;
	default:
		break;
	}
	put8(g, 0xc3);
}

/* lea rcx, [rcx - 1]; jrcxz over; call itself; over: */
static void put_recursion(struct gen *g, struct function *f)
{
	put_rm(g, true, 0x8d, RCX, RCX, -1);
	set(g, RCX, anything);
	put8(g, 0xe3);
	put8(g, 5);
	put_jump(g, 0xe8, f->at);
}

static void begin(struct gen *g, uint8_t *code, uint32_t room)
{
	*g = (struct gen){.p = code, .end = code + room, .cell = CELL_FIRST, .times = 1};
	g->r[RSP] = (struct value){POINTER, STACK_TOP, STACK_TOP};
}

static void make_function(struct gen *g, struct function *f)
{
	*f = (struct function){.at = (uint64_t)g->p};
	for (unsigned r = 0; r < 16; r++) {
		g->r[r] = anything;
		if (r == RSP || r == RCX || rnd(4))
			continue;
		f->needs |= (uint16_t)BIT(r);
		g->r[r] = (struct value){POINTER, 1024, 2560};
	}
	g->r[RSP] = anything; /* so that nothing random is written to the stack */
	f->counts = rnd(6) == 0;
	g->keep = f->needs | (uint16_t)(f->counts ? BIT(RCX) : 0);
	g->clobbered = 0;
	g->small_vectors = 0;
	g->vector_clobbered = 0;
	g->cost = 1;
	g->stack = 0;
	g->times = f->counts ? 3 : 1;
	make_units(g, 1 + (int)rnd(3));
	if (f->counts) {
		put_recursion(g, f);
		put8(g, 0xc3);
	} else {
		put_end(g, f);
	}
	f->cost = g->cost;
	f->stack = g->stack + (f->counts ? 24 : 8 + 8 * f->pushed);
	f->clobbers = g->clobbered;
	f->vector_clobbers = g->vector_clobbered;
}

uint32_t sequence_functions(uint8_t *code, uint64_t seed)
{
	struct gen g;
	random_seed(seed);
	begin(&g, code, FUNCTIONS_BYTES);
	n_functions = 0;
	while (n_functions < N_FUNCS) {
		uint8_t *start = g.p;
		make_function(&g, &functions[n_functions]);
		if (g.bad)
			return (uint32_t)(start - code);
		n_functions++;
	}
	return (uint32_t)(g.p - code);
}

/* ---- sequences ---- */

static const struct {
	uint8_t weight;
	bool in_function;
	bool (*make)(struct gen *g);
} units[] = {
    {40, true, unit_stock},   {8, false, unit_pointer}, {5, true, unit_small},   {6, true, unit_mov},    {3, true, unit_xchg},
    {8, true, unit_add},      {8, true, unit_lea},      {6, false, unit_load},   {8, false, unit_push},  {8, false, unit_pop},
    {3, false, unit_frame},   {2, false, unit_align},   {3, false, unit_string}, {14, true, unit_if},    {3, true, unit_jump},
    {3, true, unit_indirect}, {3, true, unit_loop},     {13, true, unit_call},   {2, false, unit_flags}, {1, false, unit_enter},
    {2, false, unit_stack16}, {1, false, unit_x87},     {2, true, unit_divide},  {1, true, unit_trap},   {1, true, unit_syscall},
    {2, false, unit_table},   {3, false, unit_modify},
};

/* One unit that is possible here. */
bool make_unit(struct gen *g)
{
	for (int k = 0; k < 30; k++) {
		uint32_t n = rnd(159);
		unsigned u = 0;
		while (u + 1 < sizeof units / sizeof *units && n >= units[u].weight)
			n -= units[u++].weight;
		if (!g->slot && !units[u].in_function)
			continue;
		struct gen before = *g;
		g->cost += g->times;
		if (g->cost <= MAX_COST && units[u].make(g) && !g->bad)
			return true;
		*g = before;
	}
	return false;
}

/* What each register holds at the start. */
static void choose_start(struct gen *g, struct sequence *s)
{
	for (unsigned r = 0; r < 16; r++) {
		uint32_t kind = r == RDI ? 0 : rnd(8);
		if (r == RSP) {
			s->in[r] = (uint64_t)g->slot + STACK_TOP;
		} else if (kind < 4) {
			int at = random_offset();
			s->in[r] = (uint64_t)g->slot + (uint64_t)at;
			g->r[r] = (struct value){POINTER, at, at};
		} else if (kind < 6) {
			s->in[r] = (uint64_t)-16;
			s->mask[r] = 31;
			g->r[r] = (struct value){SMALL, -16, 15};
		} else {
			s->mask[r] = ~0ull;
		}
	}
	g->small_vectors = 0x5555;
}

void sequence_make(struct sequence *s, uint8_t *code, uint8_t *slot)
{
	struct gen g;
	memset(s, 0, sizeof *s);
	begin(&g, code, SEQUENCE_BYTES - 64);
	g.slot = slot;
	s->entry = (uint64_t)code;
	choose_start(&g, s);
	for (int n = 3 + (int)rnd(16); n > 0; n--)
		make_unit(&g);
	g.end += 64;
	rebalance(&g, 0);
	if (high) { /* jmp [rip]; the address */
		put(&g, 0x25ff, 6);
		put(&g, finish, 8);
	} else {
		put_jump(&g, 0xe9, finish);
	}
	s->bytes = (uint32_t)(g.p - code);
	s->n_cells = (g.cell - CELL_FIRST) / 8;
}
