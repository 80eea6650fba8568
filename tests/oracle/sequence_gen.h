/*
 * What the parts of the generator share (sequence.c, sequence_rare.c): the code being written, and what is known of registers while it is.
 */
#ifndef SEQUENCE_GEN_H
#define SEQUENCE_GEN_H

#include "sequence.h"
#include "random_insn.h"

#define RAX    0
#define RCX    1
#define RDX    2
#define RBX    3
#define RSP    4
#define RBP    5
#define RSI    6
#define RDI    7
#define NONE   0xff
#define BIT(r) (1u << (r))

enum value_kind { ANY, POINTER, SMALL };

/* POINTER: offsets in the slot; SMALL: numbers. */
struct value {
	uint8_t kind;
	int lo, hi;
};

static const struct value anything = {ANY, 0, 0};

/* The code being written. */
struct gen {
	uint8_t *p, *end;
	uint8_t *slot; /* NULL: a function's code, for any slot */
	struct value r[16];
	uint32_t small_vectors; /* whose elements are small numbers */
	uint16_t keep;          /* registers that must not be written */
	uint16_t clobbered;
	uint32_t vector_clobbered;
	uint32_t cell;
	int depth, floor; /* quadwords pushed, and how many must stay */
	struct value pushed[8];
	int level;       /* branches and loops that are open */
	int cost, times; /* units run so far at the most; rounds of the open loops */
	int stack;       /* that calls take, in bytes */
	bool bad;        /* out of room: to be made again */
};

/* As sequence_init was told. */
bool sequence_is_high(void);
bool sequence_modifies(void);

/* ---- writing code ---- */

void put(struct gen *g, uint64_t v, int bytes);
void put8(struct gen *g, unsigned v);
void put32(struct gen *g, int v);

/* A REX prefix for ModRM's reg, index and base, w: 64 bits. */
void put_rex(struct gen *g, bool w, unsigned reg, unsigned index, unsigned base);

/* An instruction of one opcode byte with two registers... */
void put_rr(struct gen *g, bool w, unsigned opcode, unsigned reg, unsigned rm);

/* ... with [base + disp]... */
void put_rm(struct gen *g, bool w, unsigned opcode, unsigned reg, unsigned base, int disp);

/* ... with memory at a fixed address. */
void put_rip(struct gen *g, bool w, unsigned opcode, unsigned reg, const void *to);

/* One of group 1, 0: add, 1: or, 5: sub, 4: and, 7: cmp, with an immediate. */
void put_arith(struct gen *g, bool w, unsigned which, unsigned reg, int imm);

/* reg = the address. */
void put_address(struct gen *g, unsigned reg, const void *to);

/* ---- what registers hold ---- */

void set(struct gen *g, unsigned reg, struct value v);
struct value shifted(struct value v, int lo, int hi);

/* May it be written? */
bool is_writable(const struct gen *g, unsigned reg);

/* A register that may be written; NONE: not found. */
unsigned pick_target(const struct gen *g);

/* A register that holds a value of the kind; NONE: not found. */
unsigned pick_kind(const struct gen *g, uint8_t kind);

/* Where code comes together that left g as in `a`. */
void meet(struct gen *g, const struct gen *a);

/* An offset in a slot that leaves room for data on both sides. */
int random_offset(void);

/* ---- units: false: not possible here, g is to be put back ---- */

/* An instruction of the stock. */
bool unit_stock(struct gen *g);

bool make_unit(struct gen *g);
void make_units(struct gen *g, int n);

/* Drops what was pushed beyond `depth` quadwords. */
void rebalance(struct gen *g, int depth);

/* sequence_rare.c */
bool unit_flags(struct gen *g);
bool unit_enter(struct gen *g);
bool unit_stack16(struct gen *g);
bool unit_x87(struct gen *g);
bool unit_divide(struct gen *g);
bool unit_trap(struct gen *g);
bool unit_syscall(struct gen *g);
bool unit_table(struct gen *g);
bool unit_modify(struct gen *g);

#endif
