/*
 * The code of one assembly file, as its encodings show it: every instruction with the statements in which it was
 * written, its references (as tw_op, from the engine's decoder), the registers and flags it reads and writes, and
 * where it leads. Made by match.c; flow.c finds the blocks.
 *
 * What must hold: an instruction is here only if its bytes lie exactly between the place of its own statement and the
 * start of the next one. If they do not (data in code, an assembler's macro), the *function* is left alone, and
 * reported.
 */
#ifndef TW_CC_CODE_H
#define TW_CC_CODE_H

#include "cc/object.h"
#include "cc/text.h"
#include <string.h>
#include "engine/x86_64/decode.h"

/* A displacement or constant that is known only once the program is linked. Values of `patch`: enum tw_cc_patch, or NO_PATCH. */
enum { TW_CC_NO_PATCH = 0xff };

/* How control may reach an instruction other than from the previous one or by a visible branch. */
enum tw_cc_entry {
	TW_CC_ENTRY_FUNCTION = 1, /* called, or jumped to, by the ABI's rules */
	TW_CC_ENTRY_DATA = 2,     /* its label is in data, or its address is taken: jump tables, computed goto */
	TW_CC_ENTRY_LANDING = 4,  /* exceptions lead here */
	TW_CC_ENTRY_UNKNOWN = 8,  /* its label cannot be told from others: whatever leads here */
	TW_CC_ENTRY_TAKEN =
	    16, /* a function's, which may have unseen callers: its name is visible outside the file, or its address is taken */
};

struct tw_cc_insn {
	struct insn d;
	uint32_t first, last; /* statements */
	uint32_t section;
	uint64_t at;
	uint32_t op;        /* first of d.n_ops in code.op */
	uint16_t use, kill; /* general registers read; wholly written */
	uint16_t touch;     /* either, or written in part */
	uint8_t flags_use;  /* status flags: enum tw_cc_flags */
	uint8_t flags_kill;
	uint8_t entry;               /* enum tw_cc_entry */
	uint8_t disp_patch, disp_at; /* of the memory operand */
	uint8_t imm_patch, imm_at;   /* of a constant */
	uint8_t was;                 /* GOT: the byte two before the displacement */
	uint8_t mem_base, mem_index; /* registers of the memory operand */
	uint8_t glued;               /* nothing may stand between it and the one before */
	uint8_t labelled;            /* a label stands before it */
	uint8_t marked;              /* its own address is stored somewhere (marks.h): no code is inserted between its label and it */
	uint8_t falls;               /* the next in the array is what runs after it, if it does not transfer control */
	uint8_t keeps_all;           /* a call that changes no registers, and may read all of them */
	uint8_t computes;  /* a call of a compiler's helper function, never instrumented, which just computes and calls nobody back */
	int32_t branch;    /* instruction that it leads to; -1: it leads out of the file, or is none */
	uint32_t function; /* in code.function */
	uint32_t symbol;   /* that its relocation is for, or 0 */
	uint8_t joint;     /* in a second version: the way to a loop from the first */
	uint32_t head;     /* in a second version: of this loop (twice.h), or 0 */
};

struct tw_cc_function {
	const char *name; /* "": code without a function's symbol */
	uint32_t line;
	const char *why; /* it is left alone; or NULL */
	uint32_t why_line;
	uint32_t same_as; /* another name of this function; or 0 */
};

struct tw_cc_code {
	struct tw_cc_text text;
	struct tw_cc_object object;
	struct tw_cc_insn *insn; /* by section and place */
	uint32_t n_insns;
	struct memop *op;
	uint32_t n_ops, ops_room;
	struct tw_cc_function *function; /* 0 is code outside of functions */
	uint32_t n_functions;
};

/* Writes the text with a label before each instruction, so that match() finds them. 0 or -1. */
int tw_cc_code_label(const struct tw_cc_text *t, const char *path);

/* Makes the code of text and object, which it owns from then on. 0, or -1: there is no memory. */
int tw_cc_code_match(struct tw_cc_code *c);
void tw_cc_code_free(struct tw_cc_code *c);

/* Leaves the function that contains instruction i alone. The first reason is kept. */
void tw_cc_code_leave(struct tw_cc_code *c, const struct tw_cc_insn *i, const char *why);

#endif
