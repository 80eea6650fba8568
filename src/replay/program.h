/*
 * A program: a descriptor in the compact form that replay executes. What a descriptor leaves open is resolved here
 * once: absent registers and segment bases become register slots, instruction addresses are computed, and frequent
 * shapes of operations get kinds of their own.
 */
#ifndef TW_PROGRAM_H
#define TW_PROGRAM_H

#include <string.h>
#include <trackway/analyzer.h>
#include <trackway/descriptor.h>

/* Slots of the register file replay keeps: the 16 registers, one that is always 0, the segment bases, one that nobody reads. */
enum tw_slot_number { TW_SLOT_ZERO = TW_NREGS, TW_SLOT_FS, TW_SLOT_GS, TW_SLOT_NOWHERE, TW_NREG_SLOTS };

/*
 * The addresses that replay computes, in machine code: those of calls are where calls put and returns take return
 * addresses. Registers of the program are tracked unless it is NONE. Addresses that are not computed have space all
 * the same.
 *
 * COUNTED and LINES: executions of fragments without operations that need the walk are in no batch's list. They are
 * counted, or the lines they touch are marked (replay/counted.h).
 */
enum tw_addresses { TW_ADDRESSES_ALL, TW_ADDRESSES_OF_CALLS, TW_ADDRESSES_NONE, TW_ADDRESSES_COUNTED, TW_ADDRESSES_LINES };

static inline int tw_addresses_count(enum tw_addresses a)
{
	return a >= TW_ADDRESSES_COUNTED;
}

/* What a step does. */
enum tw_step_kind {
	TW_STEP_PLAIN, /* see struct tw_step: RECORD, SET and REF operations without flags, which is nearly all there is */
	TW_STEP_BLOCK, /* block number `base` of the fragment begins */
	TW_STEP_OTHER, /* operation number `base` of the descriptor, by the book */
	TW_STEP_END,   /* the fragment is done */
};

/*
 * A plain step computes V = from[base] + R[seg] + (R[index] << scale) + disp, where `from` is R or, with
 * TW_STEP_VALUE, the values of this execution in the M stream; sets R[dest] to V; and with TW_STEP_REF makes a
 * reference to V. So all plain steps are one piece of code without a branch.
 */
struct tw_step {
	uint64_t pc;    /* of the instruction */
	uint64_t shape; /* size, insn and type of the reference, in the layout of struct tw_ref_shape */
	int64_t disp;
	uint8_t kind; /* enum tw_step_kind */
	uint8_t dest, index, seg;
	uint8_t scale;
	uint8_t flags; /* enum tw_step_flags */
	uint16_t base;
};

enum tw_step_flags { TW_STEP_REF = 1, TW_STEP_VALUE = 2 };

/* A fragment. Its steps are in the order of the descriptor's operations, TW_STEP_END last. */
struct tw_program {
	const struct tw_descriptor *descriptor;
	uint16_t n_values;
	uint8_t loops;           /* its value says how often it ran in a row */
	_Atomic uint64_t open;   /* bit per value: its prediction mode keeps changing */
	_Atomic uint32_t runs;   /* step by step, about: threads count at once */
	uint32_t n_plain;        /* plain steps before the first of another kind; after that, its disp says how many follow */
	const uint64_t *insn_pc; /* format `call`: the address of each instruction; else NULL */
	struct tw_step step[];
};

/* References of one execution (without REP) and blocks: a descriptor with more is refused. Engines stay far below. */
enum { TW_PROGRAM_MAX = 8192 };

/* What struct tw_ref_shape holds after pc. */
static inline uint64_t tw_ref_shape(uint32_t size, uint16_t insn, uint8_t type)
{
	struct tw_ref_shape ref = {.size = size, .insn = insn, .type = type};
	uint64_t shape;
	memcpy(&shape, &ref.size, sizeof shape);
	return shape;
}

#endif
