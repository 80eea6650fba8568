/* The place of machine code, its jump targets, and the contents of its registers. */
#ifndef TW_CODE_PLACE_H
#define TW_CODE_PLACE_H

#include "jit/assemble.h"

#include <stddef.h>

struct tw_value_map;
struct tw_stretch;

/*
 * Machine registers with a fixed meaning in all code. The others except rsp are free, rax only briefly. Most code
 * comes from the second-level cache or beyond, and is decoded each time: registers are chosen, and pointers offset,
 * for few and short instructions.
 */
enum {
	CODE_WALK = AS_RBX,     /* struct tw_walk, TW_WALK_AHEAD behind its start */
	CODE_SLOT = AS_RBP,     /* the fragment's first slot, and TW_SLOT_AHEAD; if values are not encoded: */
	CODE_M = AS_RBP,        /* w->m */
	CODE_RUN = AS_RDI,      /* w->values.run, in 32 bits */
	CODE_STRETCH = AS_R11,  /* w->stretch */
	CODE_SUMS = AS_R12,     /* w->sums */
	CODE_ADDR = AS_R13,     /* w->addr + TW_CODE_ADDR_AHEAD */
	CODE_LITERALS = AS_R14, /* w->values.literals.at */
	CODE_CUT = AS_R10,      /* if lines are marked: which bits of an address are the line's number. Otherwise free */
	CODE_C = AS_R15,        /* w->c */
};

enum { TW_WALK_AHEAD = 128, TW_SLOT_AHEAD = 128 };

/* The memory `at` bytes from the walk's start; a field of it. */
static inline struct as_mem tw_code_walk(size_t at)
{
	return as_at(CODE_WALK, (int32_t)at - TW_WALK_AHEAD);
}

#define WALK(field) tw_code_walk(offsetof(struct tw_walk, field))

/* Where code goes and what it jumps to. */
struct tw_compile_place {
	uint8_t *code, *code_end;             /* `code` is moved behind what was written */
	uint8_t *data, *data_end;             /* what stretches point to, likewise; within 2 GB of the code */
	struct tw_stretch *stretches;         /* by number, likewise */
	const uint8_t *back;                  /* exit, with the tag that was taken last as the next one */
	const uint8_t *out;                   /* out */
	const uint8_t *helper;                /* called for a step that is not plain: rsi program, rdx step */
	uint32_t n_stretches, most_stretches; /* whose numbers are given away; that there is room for */
	const uint8_t *odd;                   /* called for an unaligned reference: rax its address, rcx its shape; changes no register */
	uint8_t addresses;                    /* enum tw_addresses: those that are worked out */
	ptrdiff_t run;                        /* distance from where code and data are written to where they are executed and read */
	/*
	 * If values are encoded, otherwise NULL: the values of all descriptors; then the routines called for a value at the
	 * end of a run: eax slot, returns the value in rax, which is learned; ...for one that is predicted in a mode for
	 * which the code was not made: likewise; ...for the slots of a fragment that runs for the first time: eax its
	 * number; ...for all values of an execution, stored in w->record: eax number, ecx count; and `back` with these
	 * values.
	 */
	const struct tw_value_map *values;
	const uint8_t *miss, *other, *start, *take, *back_taken;
};

#endif
