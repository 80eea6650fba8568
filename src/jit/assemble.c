#include "jit/assemble.h"

#include <string.h>

static void put(struct as *a, const void *bytes, unsigned n)
{
	memcpy(a->at, bytes, n);
	a->at += n;
}

static void put8(struct as *a, unsigned v)
{
	*a->at++ = (uint8_t)v;
}

static void put32(struct as *a, uint32_t v)
{
	put(a, &v, sizeof v);
}

static void put64(struct as *a, uint64_t v)
{
	put(a, &v, sizeof v);
}

/* An opcode of one byte, or of two of which the first is 0f. */
static void put_opcode(struct as *a, unsigned opcode)
{
	if (opcode > 0xff)
		put8(a, opcode >> 8);
	put8(a, opcode);
}

static unsigned rex_bits(int wide, unsigned reg, unsigned index, unsigned base)
{
	return (unsigned)(wide != 0) << 3 | (reg >> 3 & 1) << 2 | (index >> 3 & 1) << 1 | (base >> 3 & 1);
}

/* The prefix, where one is needed. */
static void rex(struct as *a, int wide, unsigned reg, unsigned index, unsigned base)
{
	unsigned bits = rex_bits(wide, reg, index, base);
	if (bits)
		put8(a, 0x40 | bits);
}

/* AS_NONE has bit 3 clear, so it asks for no extension. */
static void rex_mem(struct as *a, int wide, unsigned reg, struct as_mem m)
{
	rex(a, wide, reg, m.index, m.base);
}

/* ModRM, SIB and displacement. */
static void put_mem(struct as *a, unsigned reg, struct as_mem m)
{
	unsigned r = (reg & 7) << 3;
	int sib = m.index != AS_NONE || m.base == AS_NONE || (m.base & 7) == 4;
	int none = m.disp == 0 && (m.base & 7) != 5, small = m.disp >= -128 && m.disp <= 127;
	unsigned mod = m.base == AS_NONE ? 0 : none ? 0 : small ? 0x40 : 0x80;
	put8(a, mod | r | (sib ? 4 : m.base & 7u));
	if (sib)
		put8(a, (unsigned)m.scale << 6 | (m.index == AS_NONE ? 4u : m.index & 7u) << 3 | (m.base == AS_NONE ? 5 : m.base & 7u));
	if (m.base == AS_NONE || mod == 0x80)
		put32(a, (uint32_t)m.disp);
	else if (mod == 0x40)
		put8(a, (uint8_t)m.disp);
}

static void reg_mem(struct as *a, unsigned opcode, unsigned reg, struct as_mem m, int wide)
{
	rex_mem(a, wide, reg, m);
	put_opcode(a, opcode);
	put_mem(a, reg, m);
}

static void reg_reg(struct as *a, unsigned opcode, unsigned reg, unsigned rm, int wide)
{
	rex(a, wide, reg, 0, rm);
	put_opcode(a, opcode);
	put8(a, 0xc0 | (reg & 7) << 3 | (rm & 7));
}

/* The same with a byte operand: without the prefix, registers 4 to 7 would be different ones. */
static void byte_mem(struct as *a, unsigned opcode, unsigned reg, struct as_mem m)
{
	put8(a, 0x40 | rex_bits(0, reg, m.index, m.base));
	put_opcode(a, opcode);
	put_mem(a, reg, m);
}

static void reg_byte(struct as *a, unsigned opcode, unsigned reg, unsigned rm, int wide)
{
	put8(a, 0x40 | rex_bits(wide, reg, 0, rm));
	put_opcode(a, opcode);
	put8(a, 0xc0 | (reg & 7) << 3 | (rm & 7));
}

void as_load(struct as *a, uint8_t reg, struct as_mem m)
{
	reg_mem(a, 0x8b, reg, m, 1);
}

void as_load_signed32(struct as *a, uint8_t reg, struct as_mem m)
{
	reg_mem(a, 0x63, reg, m, 1);
}

void as_load_signed(struct as *a, uint8_t reg, struct as_mem m, unsigned bytes)
{
	uint8_t shift = (uint8_t)(64 - 8 * bytes);
	if (bytes == 1 || bytes == 2) {
		reg_mem(a, bytes == 1 ? 0x0fbe : 0x0fbf, reg, m, 1);
	} else if (bytes == 4) {
		as_load_signed32(a, reg, m);
	} else {
		as_load(a, reg, m);
		if (shift)
			as_shift(a, AS_SHL, reg, shift, 1);
		if (shift)
			as_shift(a, AS_SAR, reg, shift, 1);
	}
}

void as_load8(struct as *a, uint8_t reg, struct as_mem m)
{
	reg_mem(a, 0x0fb6, reg, m, 0);
}

void as_load16(struct as *a, uint8_t reg, struct as_mem m)
{
	reg_mem(a, 0x0fb7, reg, m, 0);
}

void as_store(struct as *a, struct as_mem m, uint8_t reg)
{
	reg_mem(a, 0x89, reg, m, 1);
}

void as_store32(struct as *a, struct as_mem m, uint8_t reg)
{
	reg_mem(a, 0x89, reg, m, 0);
}

void as_store16(struct as *a, struct as_mem m, uint8_t reg)
{
	put8(a, 0x66);
	reg_mem(a, 0x89, reg, m, 0);
}

void as_store8(struct as *a, struct as_mem m, uint8_t value)
{
	reg_mem(a, 0xc6, 0, m, 0);
	put8(a, value);
}

void as_store_constant(struct as *a, struct as_mem m, int32_t value)
{
	reg_mem(a, 0xc7, 0, m, 1);
	put32(a, (uint32_t)value);
}

void as_store8_register(struct as *a, struct as_mem m, uint8_t reg)
{
	byte_mem(a, 0x88, reg, m);
}

void as_lea(struct as *a, uint8_t reg, struct as_mem m, int wide)
{
	reg_mem(a, 0x8d, reg, m, wide);
}

void as_move(struct as *a, uint8_t to, uint8_t from)
{
	reg_reg(a, 0x8b, to, from, 1);
}

void as_constant(struct as *a, uint8_t reg, uint64_t value)
{
	if (value <= UINT32_MAX) {
		rex(a, 0, 0, 0, reg);
		put8(a, 0xb8 | (reg & 7u));
		put32(a, (uint32_t)value);
	} else if ((int64_t)value == (int32_t)value) {
		rex(a, 1, 0, 0, reg);
		put8(a, 0xc7);
		put8(a, 0xc0 | (reg & 7u));
		put32(a, (uint32_t)value);
	} else {
		rex(a, 1, 0, 0, reg);
		put8(a, 0xb8 | (reg & 7u));
		put64(a, value);
	}
}

void as_alu(struct as *a, enum as_alu op, uint8_t to, uint8_t from, int wide)
{
	reg_reg(a, 8u * op + 3, to, from, wide);
}

void as_alu_mem(struct as *a, enum as_alu op, uint8_t to, struct as_mem m)
{
	reg_mem(a, 8u * op + 3, to, m, 1);
}

void as_alu_mem32(struct as *a, enum as_alu op, uint8_t to, struct as_mem m)
{
	reg_mem(a, 8u * op + 3, to, m, 0);
}

void as_alu_constant(struct as *a, enum as_alu op, uint8_t to, int32_t value, int wide)
{
	int small = value >= -128 && value <= 127;
	reg_reg(a, small ? 0x83 : 0x81, op, to, wide);
	if (small)
		put8(a, (uint8_t)value);
	else
		put32(a, (uint32_t)value);
}

void as_multiply(struct as *a, uint8_t to, uint8_t from, int wide)
{
	reg_reg(a, 0x0faf, to, from, wide);
}

void as_multiply_mem(struct as *a, uint8_t to, struct as_mem m)
{
	reg_mem(a, 0x0faf, to, m, 1);
}

void as_multiply_constant(struct as *a, uint8_t to, struct as_mem m, int32_t value)
{
	reg_mem(a, 0x69, to, m, 1);
	put32(a, (uint32_t)value);
}

void as_shift(struct as *a, enum as_shift op, uint8_t reg, uint8_t count, int wide)
{
	reg_reg(a, 0xc1, op, reg, wide);
	put8(a, count);
}

void as_shift_by_rcx(struct as *a, enum as_shift op, uint8_t reg, int wide)
{
	reg_reg(a, 0xd3, op, reg, wide);
}

void as_extend(struct as *a, uint8_t to, uint8_t from, unsigned bits, int sign, int wide)
{
	unsigned opcode = bits == 32 ? 0x63 : (sign ? 0x0fbe : 0x0fb6) + (bits == 16);
	if (bits == 8)
		reg_byte(a, opcode, to, from, wide);
	else
		reg_reg(a, opcode, to, from, wide || bits == 32);
}

void as_set(struct as *a, enum as_condition condition, uint8_t reg)
{
	reg_byte(a, 0x0f90u | condition, 0, reg, 0);
}

void as_load_if(struct as *a, enum as_condition condition, uint8_t reg, struct as_mem m)
{
	reg_mem(a, 0x0f40u | condition, reg, m, 1);
}

void as_lowest_bit(struct as *a, uint8_t to, uint8_t from)
{
	reg_reg(a, 0x0fbc, to, from, 1);
}

void as_test(struct as *a, uint8_t reg, int wide)
{
	reg_reg(a, 0x85, reg, reg, wide);
}

void as_test8(struct as *a, uint8_t reg, uint8_t bits)
{
	reg_byte(a, 0xf6, 0, reg, 0);
	put8(a, bits);
}

void as_decrement(struct as *a, struct as_mem m)
{
	reg_mem(a, 0xff, 1, m, 1);
}

void as_decrement32(struct as *a, uint8_t reg)
{
	reg_reg(a, 0xff, 1, reg, 0);
}

void as_increment8(struct as *a, struct as_mem m)
{
	reg_mem(a, 0xfe, 0, m, 0);
}

void as_increment32(struct as *a, struct as_mem m)
{
	reg_mem(a, 0xff, 0, m, 0);
}

/* A VEX prefix contains the registers' highest bits, and all of `which`, inverted. */
void as_cut_bits(struct as *a, uint8_t to, uint8_t from, uint8_t which)
{
	put8(a, 0xc4);
	put8(a, (~to & 8u) << 4 | 1u << 6 | (~from & 8u) << 2 | 2);
	put8(a, 1u << 7 | (~which & 15u) << 3);
	put8(a, 0xf7);
	put8(a, 0xc0 | (to & 7u) << 3 | (from & 7u));
}

void as_compare8_register(struct as *a, struct as_mem m, uint8_t reg)
{
	byte_mem(a, 0x38, reg, m);
}

void as_add_constant_mem(struct as *a, struct as_mem m, int32_t value)
{
	int small = value >= -128 && value <= 127;
	reg_mem(a, small ? 0x83 : 0x81, 0, m, 1);
	if (small)
		put8(a, (uint8_t)value);
	else
		put32(a, (uint32_t)value);
}

void as_add_to_mem(struct as *a, struct as_mem m, uint8_t reg)
{
	reg_mem(a, 0x01, reg, m, 1);
}

void as_compare8(struct as *a, struct as_mem m, uint8_t value)
{
	reg_mem(a, 0x80, 7, m, 0);
	put8(a, value);
}

static void vector_opcode(struct as *a, unsigned opcode, unsigned vector, unsigned base)
{
	rex(a, 0, vector, 0, base);
	put8(a, 0x0f);
	put8(a, opcode);
}

/* An operand at `data`, relative to rip, which ends the instruction. */
static void put_data(struct as *a, unsigned reg, const uint8_t *data)
{
	put8(a, (reg & 7u) << 3 | 5);
	put32(a, (uint32_t)(data - (a->at + 4)));
}

static void reg_data(struct as *a, unsigned opcode, unsigned reg, const uint8_t *data)
{
	rex(a, 1, reg, 0, 0);
	put8(a, opcode);
	put_data(a, reg, data);
}

void as_lea_data(struct as *a, uint8_t reg, const uint8_t *data)
{
	reg_data(a, 0x8d, reg, data);
}

void as_add_data(struct as *a, uint8_t to, const uint8_t *data)
{
	reg_data(a, 0x03, to, data);
}

void as_load_vector_at(struct as *a, uint8_t vector, struct as_mem m)
{
	vector_opcode(a, 0x10, vector, m.base);
	put_mem(a, vector, m);
}

void as_add_quadwords(struct as *a, uint8_t vector, const uint8_t *data)
{
	put8(a, 0x66);
	vector_opcode(a, 0xd4, vector, 0);
	put_data(a, vector, data);
}

void as_store_vector(struct as *a, struct as_mem m, uint8_t vector)
{
	vector_opcode(a, 0x11, vector, m.base);
	put_mem(a, vector, m);
}

static void put_rel32(struct as *a, const uint8_t *to)
{
	put32(a, (uint32_t)(to - (a->at + 4)));
}

void as_jump(struct as *a, const uint8_t *to)
{
	put8(a, 0xe9);
	put_rel32(a, to);
}

void as_jump_if(struct as *a, enum as_condition condition, const uint8_t *to)
{
	put8(a, 0x0f);
	put8(a, 0x80u | condition);
	put_rel32(a, to);
}

uint8_t *as_jump_forward(struct as *a, enum as_condition condition)
{
	as_jump_if(a, condition, a->at);
	return a->at;
}

void as_here(struct as *a, uint8_t *jump)
{
	uint32_t distance = (uint32_t)(a->at - jump);
	memcpy(jump - 4, &distance, sizeof distance);
}

void as_jump_reg(struct as *a, uint8_t reg)
{
	reg_reg(a, 0xff, 4, reg, 0);
}

void as_jump_mem(struct as *a, struct as_mem m)
{
	reg_mem(a, 0xff, 4, m, 0);
}

void as_call(struct as *a, const uint8_t *to)
{
	put8(a, 0xe8);
	put_rel32(a, to);
}

void as_call_reg(struct as *a, uint8_t reg)
{
	reg_reg(a, 0xff, 2, reg, 0);
}

void as_return(struct as *a)
{
	put8(a, 0xc3);
}

void as_push(struct as *a, uint8_t reg)
{
	rex(a, 0, 0, 0, reg);
	put8(a, 0x50 | (reg & 7u));
}

void as_pop(struct as *a, uint8_t reg)
{
	rex(a, 0, 0, 0, reg);
	put8(a, 0x58 | (reg & 7u));
}
