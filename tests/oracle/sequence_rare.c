/* Units of what compilers rarely make, and engines rarely get right. */
#include "sequence_gen.h"

#define R11 11

/* A byte string, as in the manuals. */
#define PUT(g, ...)                                                                                                                        \
	do {                                                                                                                               \
		static const uint8_t bytes[] = {__VA_ARGS__};                                                                              \
		for (size_t k_ = 0; k_ < sizeof bytes; k_++)                                                                               \
			put8(g, bytes[k_]);                                                                                                \
	} while (0)

/* An instruction 0F op /reg with memory at a fixed address. */
static void put_0f_rip(struct gen *g, bool w, unsigned opcode, unsigned reg, const void *to)
{
	if (w)
		put8(g, 0x48);
	put8(g, 0x0f);
	put8(g, opcode);
	put8(g, 0x05 | reg << 3);
	put32(g, (int)((int64_t)to - (int64_t)(g->p + 4)));
}

/* A dword in memory at a fixed address. */
static void put_store(struct gen *g, uint8_t *to, uint32_t v)
{
	put8(g, 0xc7);
	put8(g, 0x05);
	put32(g, (int)((int64_t)to - (int64_t)(g->p + 8)));
	put(g, v, 4);
}

/* ---- flags and the stack ---- */

/* popfq; nothing but status flags and ID changes, DF for one instruction. */
bool unit_flags(struct gen *g)
{
	enum { STATUS = 0x8d5, ID = 1 << 21, DIRECTION = 0x400 };
	switch (rnd(5)) {
	case 0: /* pushfq; popfq */
		PUT(g, 0x9c, 0x9d);
		break;
	case 1: /* pushfq; xor dword [rsp], bits; popfq */
		PUT(g, 0x9c, 0x81, 0x34, 0x24);
		put(g, rnd(1u << 31) & (STATUS | ID), 4);
		put8(g, 0x9d);
		break;
	case 2: /* push imm32; popfq */
		put8(g, 0x68);
		put(g, (rnd(1u << 31) & STATUS) | 0x202, 4);
		put8(g, 0x9d);
		break;
	case 3: /* push imm16; popfw; pushfw; popfw */
		PUT(g, 0x66, 0x68);
		put(g, (rnd(1u << 31) & STATUS) | 0x202, 2);
		PUT(g, 0x66, 0x9d, 0x66, 0x9c, 0x66, 0x9d);
		break;
	default: /* pushfq; or dword [rsp], DF; popfq; stosq; cld */
		if (!g->slot || !is_writable(g, RDI))
			return false;
		put_address(g, RDI, g->slot + random_offset());
		set(g, RDI, anything);
		PUT(g, 0x9c, 0x81, 0x0c, 0x24);
		put(g, DIRECTION, 4);
		put8(g, 0x9d);
		if (rnd(2))
			put8(g, 0x48);
		put8(g, 0xaa | rnd(2));
		put8(g, 0xfc);
	}
	return true;
}

/* enter, of levels 0 to 2; ...; leave */
bool unit_enter(struct gen *g)
{
	if (!is_writable(g, RBP) || g->depth == 8)
		return false;
	struct value rbp = g->r[RBP], rsp = g->r[RSP];
	uint16_t keep = g->keep;
	int size = (int)rnd(64), depth = g->depth, level = (int)rnd(rbp.kind == POINTER ? 3 : 2); /* 2 reads at rbp */
	put8(g, 0xc8);
	put(g, (uint64_t)size, 2);
	put8(g, (unsigned)level);
	set(g, RBP, shifted(rsp, -8, -8));
	size += 8 + 8 * level;
	g->r[RSP] = shifted(rsp, -size, -size);
	g->keep |= BIT(RBP);
	g->pushed[g->depth++] = rbp;
	unit_stock(g);
	g->keep = keep;
	put8(g, 0xc9);
	g->depth = depth;
	set(g, RBP, g->pushed[depth]);
	g->r[RSP] = rsp;
	return true;
}

/* A push and a pop of 16 bits, rsp odd words in between. */
bool unit_stack16(struct gen *g)
{
	unsigned from = rnd(16), to = pick_target(g);
	if (to == NONE)
		return false;
	struct value rsp = g->r[RSP];
	put8(g, 0x66);
	if (rnd(3)) {
		put_rex(g, false, 0, 0, from);
		put8(g, 0x50 | (from & 7));
	} else {
		put8(g, 0x68);
		put(g, rnd(1u << 16), 2);
	}
	g->r[RSP] = shifted(rsp, -2, -2);
	unit_stock(g);
	if (rnd(2)) {
		put8(g, 0x66);
		put_rex(g, false, 0, 0, to);
		put8(g, 0x58 | (to & 7));
		set(g, to, anything);
	} else if (rnd(2)) {
		put_rm(g, true, 0x8d, RSP, RSP, 2);
	} else {
		put_arith(g, true, 0, RSP, 2);
	}
	g->r[RSP] = rsp;
	return true;
}

/* ---- floating point ---- */

/* The environment, saved and loaded: after fninit no address of an instruction is in it. */
bool unit_x87(struct gen *g)
{
	if (!g->slot)
		return false;
	uint8_t *to = g->slot + (random_offset() & ~15);
	bool w = rnd(2), load = rnd(2);
	switch (rnd(5)) {
	case 0: /* fninit; fnstenv; fldenv */
		PUT(g, 0xdb, 0xe3);
		to += rnd(16);
		put_rip(g, false, 0xd9, 6, to);
		if (load)
			put_rip(g, false, 0xd9, 4, to);
		break;
	case 1: /* fninit; fnsave; frstor */
		PUT(g, 0xdb, 0xe3);
		put_rip(g, false, 0xdd, 6, to);
		if (load)
			put_rip(g, false, 0xdd, 4, to);
		break;
	case 2: /* registers of zeros; fxsave; fxrstor */
		PUT(g, 0xd9, 0xee, 0xd9, 0xee, 0xd9, 0xee, 0xd9, 0xee, 0xd9, 0xee, 0xd9, 0xee, 0xd9, 0xee, 0xd9, 0xee, 0xdb, 0xe3);
		put_0f_rip(g, w, 0xae, 0, to);
		if (load)
			put_0f_rip(g, w, 0xae, 1, to);
		break;
	case 3: /* fldcw with another precision and rounding; fnstcw */
		put_store(g, to, 0x7f | rnd(16) << 8);
		put_rip(g, false, 0xd9, 5, to);
		put_rip(g, false, 0xd9, 7, to + 8);
		break;
	default: /* ldmxcsr with another rounding, zeros for denormals; stmxcsr */
		put_store(g, to, 0x1f80 | rnd(4) << 13 | rnd(2) << 15 | rnd(2) << 6);
		put_0f_rip(g, false, 0xae, 2, to);
		put_0f_rip(g, false, 0xae, 3, to + 8);
	}
	return true;
}

/* ---- faults and system calls ---- */

/* div or idiv by 0 to 7. */
bool unit_divide(struct gen *g)
{
	unsigned by = pick_target(g);
	if (by == NONE || by == RAX || by == RDX || !is_writable(g, RAX) || !is_writable(g, RDX))
		return false;
	bool w = rnd(2), is_signed = rnd(2);
	put_arith(g, w, 4, by, 7);
	if (rnd(4))
		put_arith(g, w, 1, by, 1);
	if (!is_signed) {
		PUT(g, 0x31, 0xd2); /* xor edx, edx */
	} else {
		put_rex(g, w, 0, 0, 0); /* cqo, cdq */
		put8(g, 0x99);
	}
	put_rr(g, w, 0xf7, is_signed ? 7 : 6, by);
	set(g, by, (struct value){SMALL, 0, 7});
	set(g, RAX, anything);
	set(g, RDX, anything);
	return true;
}

/* An instruction that faults, jumped over or not. */
bool unit_trap(struct gen *g)
{
	static const uint8_t traps[][3] = {{1, 0xcc}, {2, 0x0f, 0x0b}, {1, 0xf4}, {1, 0xec}, {1, 0xfa}, {2, 0xcd, 0x21}, {2, 0x0f, 0x06}};
	const uint8_t *t = traps[rnd(sizeof traps / sizeof *traps)];
	if (rnd(2))
		return false;
	put8(g, 0x70 | rnd(16));
	put8(g, t[0]);
	for (unsigned k = 1; k <= t[0]; k++)
		put8(g, t[k]);
	return true;
}

/* A call with the same result in each run; rcx and r11 afterwards are where it returned and the flags. */
bool unit_syscall(struct gen *g)
{
	static const uint16_t numbers[] = {102, 104, 107, 108, 1000}; /* getuid, getgid, geteuid, getegid, none */
	if (!is_writable(g, RAX) || !is_writable(g, RCX) || !is_writable(g, R11))
		return false;
	put8(g, 0xb8);
	put32(g, numbers[rnd(sizeof numbers / sizeof *numbers)]);
	PUT(g, 0x0f, 0x05);
	set(g, RAX, anything);
	set(g, RCX, anything);
	set(g, R11, anything);
	return true;
}

/* ---- code ---- */

/* jmp [table + index * 8], to one of four places, one after another. */
bool unit_table(struct gen *g)
{
	unsigned index = pick_target(g), base = sequence_is_high() || rnd(2) ? pick_target(g) : NONE;
	uint8_t *table = g->slot + g->cell;
	if (g->level > 2 || index == NONE || (base == NONE && sequence_is_high()) || base == index || g->cell + 32 > CELL_END)
		return false;
	g->cell += 32;
	put_arith(g, rnd(2), 4, index, 3);
	set(g, index, (struct value){SMALL, 0, 3});
	if (base != NONE) {
		put_address(g, base, table);
		set(g, base, anything);
	}
	put_rex(g, false, 0, index, base == NONE ? 0 : base);
	put8(g, 0xff);
	put8(g, base == NONE ? 0x24 : 0x64);
	put8(g, 0xc0 | (index & 7) << 3 | (base == NONE ? 5 : base & 7));
	put(g, base == NONE ? (uint64_t)table : 0, base == NONE ? 4 : 1);
	struct gen start = *g;
	g->floor = g->depth;
	for (int k = 0; k < 4; k++) {
		uint64_t at = (uint64_t)g->p;
		memcpy(table + 8 * k, &at, 8);
		if (k == 3)
			break;
		make_units(g, (int)rnd(2));
		rebalance(g, start.depth);
		meet(g, &start);
	}
	g->floor = start.floor;
	return true;
}

/* Changes the immediate of an instruction that follows, at once or after a jump. */
bool unit_modify(struct gen *g)
{
	unsigned to = pick_target(g), from = rnd(16);
	if (!sequence_modifies() || to == NONE || rnd(4))
		return false;
	int jump = rnd(2) ? 2 : 0;
	if (rnd(2)) { /* mov [rip + imm], from */
		bool byte = rnd(2);
		put_rex(g, false, from, 0, 0);
		if (byte && from >= RSP && from < 8)
			return false; /* ah to bh */
		put8(g, byte ? 0x88 : 0x89);
		put8(g, 0x05 | (from & 7) << 3);
		put32(g, jump + 1 + (to >= 8));
	} else { /* mov dword [rip + imm], imm32 */
		PUT(g, 0xc7, 0x05);
		put32(g, jump + 1 + (to >= 8));
		put32(g, (int)rnd(1u << 31));
	}
	if (jump)
		PUT(g, 0xeb, 0x00);
	put_rex(g, false, 0, 0, to); /* mov to, imm32 */
	put8(g, 0xb8 | (to & 7));
	put32(g, 0x11111111);
	set(g, to, anything);
	return true;
}
