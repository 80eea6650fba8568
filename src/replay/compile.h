/*
 * Compiling one program to machine code (code.h). Method: registers of the program are followed symbolically, as a machine register plus a constant,
 * so that updates which add constants cost nothing but one store at the end. What is constant in references and blocks (pc, size,
 * type...) stands in a struct tw_stretch: an execution writes addresses and where that is.
 */
#ifndef TW_COMPILE_H
#define TW_COMPILE_H

#include "jit/assemble.h"
#include "replay/program.h"

/* Machine registers with a fixed meaning in all code. The others but rsp are free, rax for a moment only. */
enum {
	CODE_WALK = AS_RBX,     /* struct tw_walk, whose registers stand first */
	CODE_LITERALS = AS_RBP, /* w->values.literals.at */
	CODE_STRETCH = AS_R12,  /* w->stretch */
	CODE_ADDR = AS_R13,     /* w->addr */
	CODE_C = AS_R14,        /* w->c */
	CODE_M = AS_R15,        /* w->m; where values are coded: */
	CODE_SLOTS = AS_R15,    /* w->values.p.slot */
	CODE_RUN = AS_R10,      /* w->values.run */
	CODE_SUMS = AS_R11,     /* w->sums */
};

/* Where code goes and what it jumps to. */
struct tw_compile_place {
	uint8_t *code, *code_end; /* `code` is moved behind what was written */
	uint8_t *data, *data_end; /* stretches, likewise; within 2 GB of the code */
	const uint8_t *back;      /* out, with the tag that was taken last as the next one */
	const uint8_t *out;       /* out */
	const uint8_t *helper;    /* to be called for a step that is not plain: rsi program, rdx step */
	/* Where values are coded, else NULL: the values of all descriptors; to be called for a value when the run is at its end: eax slot, then rax is the
	 * value, which is learned; ...for one that is predicted, but in a way the code was not made for: likewise; ...if that has come time and again: rax
	 * slot and, in its upper half, the fragment's number, then rax is the value; ...for the slots of a fragment that runs for the first time: eax its number; ...for all values of an execution, which
	 * are in w->record then: eax number, ecx how many; and `back` with these values. */
	const struct tw_value_map *values;
	const uint8_t *miss, *other, *often, *start, *take, *back_taken;
};

/* Where the code of `p` begins, or NULL: there is no room, or it is not to be compiled; then *place is as it was. `slots`: how values are predicted now,
 * where they are coded. */
const uint8_t *tw_compile(struct tw_compile_place *place, const struct tw_program *p, const struct tw_value_slot *slots);

/* Takes the next tag and goes on with its code, or out. */
void tw_compile_dispatch(struct as *a, const struct tw_compile_place *place);

/* The code of `other`. */
void tw_compile_other(struct as *a);

/* The code of `miss`, on the stack as its caller left it; what is rare goes on at `by_reader`, with all as it was. */
void tw_compile_miss(struct as *a, const uint8_t *by_reader);

#endif
