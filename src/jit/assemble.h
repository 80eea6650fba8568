/*
 * A small assembler for the machine code that replay, the encoder and the demultiplexer make from descriptors:
 * x86-64, 64-bit registers, no labels. Each function writes one instruction at a->at and advances it; none checks for
 * room. Registers are numbered as in the machine (0: rax ... 15: r15).
 */
#ifndef TW_JIT_ASSEMBLE_H
#define TW_JIT_ASSEMBLE_H

#include <stdint.h>

enum {
	AS_RAX,
	AS_RCX,
	AS_RDX,
	AS_RBX,
	AS_RSP,
	AS_RBP,
	AS_RSI,
	AS_RDI,
	AS_R8,
	AS_R9,
	AS_R10,
	AS_R11,
	AS_R12,
	AS_R13,
	AS_R14,
	AS_R15,
	AS_NONE
};

/* Operations on two operands, by their place in the machine's table; and shifts. */
enum as_alu { AS_ADD, AS_OR, AS_AND = 4, AS_SUB, AS_XOR, AS_CMP };
enum as_shift { AS_SHL = 4, AS_SHR, AS_SAR = 7 };

enum as_condition { AS_BELOW = 2, AS_ABOVE_EQUAL = 3, AS_EQUAL, AS_NOT_EQUAL, AS_ABOVE = 7, AS_NEGATIVE };

struct as {
	uint8_t *at;
};

/* [base + (index << scale) + disp]; base and index may be AS_NONE, index not rsp. */
struct as_mem {
	uint8_t base, index, scale;
	int32_t disp;
};

static inline struct as_mem as_at(uint8_t base, int32_t disp)
{
	return (struct as_mem){base, AS_NONE, 0, disp};
}

void as_load(struct as *a, uint8_t reg, struct as_mem m);
void as_load_signed32(struct as *a, uint8_t reg, struct as_mem m);
void as_load_signed(struct as *a, uint8_t reg, struct as_mem m, unsigned bytes); /* 1 to 8; reads 8 where that is no power of 2 */
void as_load8(struct as *a, uint8_t reg, struct as_mem m);                       /* zero-extended */
void as_load16(struct as *a, uint8_t reg, struct as_mem m);                      /* zero-extended */
void as_store(struct as *a, struct as_mem m, uint8_t reg);
void as_store32(struct as *a, struct as_mem m, uint8_t reg);
void as_store16(struct as *a, struct as_mem m, uint8_t reg);
void as_store8(struct as *a, struct as_mem m, uint8_t value);
void as_store_constant(struct as *a, struct as_mem m, int32_t value); /* a quadword */
void as_store8_register(struct as *a, struct as_mem m, uint8_t reg);
void as_lea(struct as *a, uint8_t reg, struct as_mem m, int wide); /* wide 0: the lower 32 bits, zero-extended */
void as_move(struct as *a, uint8_t to, uint8_t from);
void as_constant(struct as *a, uint8_t reg, uint64_t value);
void as_alu(struct as *a, enum as_alu op, uint8_t to, uint8_t from, int wide);
void as_alu_mem(struct as *a, enum as_alu op, uint8_t to, struct as_mem m);
void as_alu_mem32(struct as *a, enum as_alu op, uint8_t to, struct as_mem m);
void as_alu_constant(struct as *a, enum as_alu op, uint8_t to, int32_t value, int wide);
void as_multiply(struct as *a, uint8_t to, uint8_t from, int wide);
void as_multiply_mem(struct as *a, uint8_t to, struct as_mem m);
void as_multiply_constant(struct as *a, uint8_t to, struct as_mem m, int32_t value); /* to = the quadword * value */
void as_shift(struct as *a, enum as_shift op, uint8_t reg, uint8_t count, int wide);
void as_shift_by_rcx(struct as *a, enum as_shift op, uint8_t reg, int wide);               /* by as many bits as its lowest byte says */
void as_extend(struct as *a, uint8_t to, uint8_t from, unsigned bits, int sign, int wide); /* from its lowest 8, 16 or 32 (signed) bits */
/* The bits of it that `which` selects: the first one in its lowest byte, their number in the next. BMI1. */
void as_cut_bits(struct as *a, uint8_t to, uint8_t from, uint8_t which);
void as_set(struct as *a, enum as_condition condition, uint8_t reg);                      /* its lowest byte, to 0 or 1 */
void as_load_if(struct as *a, enum as_condition condition, uint8_t reg, struct as_mem m); /* reads m in any case */
void as_lowest_bit(struct as *a, uint8_t to, uint8_t from); /* the number of the lowest bit that is 1; there must be one */
void as_test(struct as *a, uint8_t reg, int wide);
void as_test8(struct as *a, uint8_t reg, uint8_t bits);                 /* its lowest byte */
void as_decrement(struct as *a, struct as_mem m);                       /* a quadword; sets flags */
void as_add_constant_mem(struct as *a, struct as_mem m, int32_t value); /* to a quadword */
void as_add_to_mem(struct as *a, struct as_mem m, uint8_t reg);         /* likewise */
void as_decrement32(struct as *a, uint8_t reg);                         /* sets flags */
void as_increment8(struct as *a, struct as_mem m);                      /* a byte; sets flags */
void as_increment32(struct as *a, struct as_mem m);                     /* likewise */
void as_compare8(struct as *a, struct as_mem m, uint8_t value);         /* a byte */
void as_compare8_register(struct as *a, struct as_mem m, uint8_t reg);  /* ... with the lowest of a register */

/* Of `data`, which is within 2 GB: its address; to + the quadword there. */
void as_lea_data(struct as *a, uint8_t reg, const uint8_t *data);
void as_add_data(struct as *a, uint8_t to, const uint8_t *data);

/* Vectors of 16 bytes, in memory without an index. */
void as_load_vector_at(struct as *a, uint8_t vector, struct as_mem m);
void as_add_quadwords(struct as *a, uint8_t vector, const uint8_t *data); /* two of them, aligned to 16, within 2 GB */
void as_store_vector(struct as *a, struct as_mem m, uint8_t vector);

void as_jump(struct as *a, const uint8_t *to);
void as_jump_if(struct as *a, enum as_condition condition, const uint8_t *to);
uint8_t *as_jump_forward(struct as *a, enum as_condition condition); /* to be given to as_here() */
void as_here(struct as *a, uint8_t *jump);
void as_jump_reg(struct as *a, uint8_t reg);
void as_jump_mem(struct as *a, struct as_mem m);
void as_call(struct as *a, const uint8_t *to);
void as_call_reg(struct as *a, uint8_t reg);
void as_return(struct as *a);
void as_push(struct as *a, uint8_t reg);
void as_pop(struct as *a, uint8_t reg);

#endif
