/*
 * Blocks of the instrumented functions, how control goes between them, and which registers and flags matter where.
 *
 * A block is entered only at its first instruction, and ends where control is transferred, before the next label that
 * is a target, or where it has become large. A call ends a block. Blocks are in the order of their code.
 *
 * Liveness: at a call the ABI's argument registers are read, and the callee-saved ones, in which global variables of
 * gcc may be; only r11 is certainly overwritten, since there are other conventions (keeps.h). At a return its results
 * and the callee-saved registers are read; the latter are read throughout if nothing leads to a return: an exception
 * takes them from there. Functions are compiled so that this also holds between functions of one file (driver.c). An
 * indirect jump leads to every place of its function that data refer to, and so, because of exceptions, may a call;
 * the same holds for a marked instruction (marks.h), because of a fault handler.
 */
#ifndef TW_CC_FLOW_H
#define TW_CC_FLOW_H

#include "cc/code.h"

enum {
	TW_CC_MAX_INSNS = 64, /* of a block */
	TW_CC_MAX_VALUES = 120,
	TW_CC_PATH_BYTES = 8192, /* written between checks, or three times as many where flags are in use */
	TW_CC_RSP_BIT = 1 << TW_RSP,
};

enum tw_cc_check { TW_CC_NO_CHECK, TW_CC_CHECK, TW_CC_CHECK_KEEPS_FLAGS };

struct tw_cc_options {
	int pic;     /* shared libraries: the slot is found through the global offset table, and functions may be interposed */
	int values;  /* references are recorded */
	int by_hand; /* hand-written: functions may have their own conventions, so all registers and flags matter at calls and exits */
	int guard;   /* each buffer ends in write-protected memory: only code that may have another thread's, or module's, pointer checks */
	int large;   /* the module may have more blocks than one upper half of their numbers has room for */
};

/* What its callers may rely on: instrumented throughout, entered only at its first instruction (calls.h). */
struct tw_cc_callee {
	uint8_t is_known;   /* calls of this file lead here, and nowhere else */
	uint8_t is_private; /* nothing else enters it */
	uint8_t returns;    /* it is left by its own return instructions only */
	uint8_t calls;      /* it contains a compiler-generated call: so it has no data below its stack pointer, anywhere */
	uint8_t is_bounded; /* writes at most `bytes`, including its callees, and never checks whether the buffer is full */
	int32_t entry;      /* its first block; -1: it is not known */
	uint32_t bytes;
	uint16_t changes; /* registers that it, or its callees, write; all of them if not known */
};

struct tw_cc_block_info {
	uint32_t first, n;    /* instructions */
	int32_t fall, target; /* blocks; -1: none */
	uint8_t end;          /* enum tw_end */
	uint8_t entry;        /* enum tw_cc_entry */
	uint8_t returns_here; /* the block before is a call that returns to it */
	uint8_t leaves;       /* it leads out of the function, by the ABI's rules */
	uint8_t ends;         /* it, or what may follow it, leaves the function or returns */
	uint8_t reentered;    /* a function is entered at it, and its own instructions lead there, too */
	uint8_t looped;       /* a loop's branch leads back to it: each cycle has such a block */
	uint8_t flags_live;   /* at its start */
	uint16_t live_in, live_out;
	uint16_t use, kill;
	uint16_t touch; /* registers its instructions name */
	uint16_t free;  /* neither touched nor live anywhere in it */
	uint8_t flags_use, flags_kill;
	uint32_t bytes;       /* of its record, at most */
	uint8_t check;        /* enum tw_cc_check: at its start, whether the buffer is full */
	uint8_t check_behind; /* a call: there is a check where it comes back to, in r11 */
	int32_t callee;       /* function that it calls; -1: it is not known which, or not a call */
};

struct tw_cc_flow {
	struct tw_cc_code *code;
	struct tw_cc_block_info *block;
	uint32_t n_blocks;
	int32_t *block_of; /* by instruction; -1: none */
	uint16_t chain;    /* r10, if calls pass it on */
	uint16_t outside;  /* read by code that is in no function, such as fixups of faults */
	uint8_t *jumps;    /* by function: has it indirect jumps? */
	uint16_t *keeps;   /* by function: registers that its callers may rely on although the ABI does not say so (keeps.h) */
	int pic, large, guard, by_hand;
	struct tw_cc_callee *function; /* by function */
	uint32_t *order;               /* blocks, each after those that lead to it, except for loops' back edges (checks.h) */
	uint32_t *rank;                /* by block: where it is in `order` */
};

/* Everything except how functions call each other (calls.h), the order of blocks, and checks (checks.h). -1: no memory. */
int tw_cc_flow_make(struct tw_cc_code *c, const struct tw_cc_options *o, struct tw_cc_flow *f);
void tw_cc_flow_free(struct tw_cc_flow *f);

/* Calls fn for each block that control may go to from b within the function. */
void tw_cc_flow_each(const struct tw_cc_flow *f, uint32_t b, void (*fn)(void *, uint32_t), void *arg);

/* Registers live right before instruction i of block b. */
uint16_t tw_cc_flow_live_before(const struct tw_cc_flow *f, uint32_t b, uint32_t insn);

/* Is block b entered by indirect jumps of its own function, and otherwise only in visible ways? */
static inline int tw_cc_is_dispatched(const struct tw_cc_flow *f, const struct tw_cc_block_info *b)
{
	return b->entry == TW_CC_ENTRY_DATA && !b->returns_here && f->jumps[f->code->insn[b->first].function];
}

static inline int tw_cc_is_call(const struct tw_cc_block_info *b)
{
	return b->end == TW_END_CALL || b->end == TW_END_ICALL;
}

/* What is known of the function that block b calls; NULL: nothing. */
static inline const struct tw_cc_callee *tw_cc_callee_of(const struct tw_cc_flow *f, const struct tw_cc_block_info *b)
{
	return b->callee >= 0 ? &f->function[b->callee] : NULL;
}

/* Is the return to the code after block b, a call, always by the called function's own return instruction? */
static inline int tw_cc_comes_back(const struct tw_cc_flow *f, const struct tw_cc_block_info *b)
{
	return b->callee >= 0 && f->function[b->callee].returns;
}

/* Is the way from block `from` to `to` a back edge? */
static inline int tw_cc_goes_back(const struct tw_cc_flow *f, uint32_t from, uint32_t to)
{
	return f->rank[to] <= f->rank[from];
}

static inline const struct tw_cc_insn *tw_cc_last(const struct tw_cc_flow *f, const struct tw_cc_block_info *b)
{
	return &f->code->insn[b->first + b->n - 1];
}

/*
 * How many of the block's first instructions stay at its start, with inserted code after them: endbr64, and room for
 * patches (-fpatchable-function-entry), which is found by its address.
 */
uint32_t tw_cc_lead(const struct tw_cc_flow *f, const struct tw_cc_block_info *b);

#endif
