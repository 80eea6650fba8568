/*
 * The last part of tw_cc_code_match() (code.h): instructions whose own addresses are stored, through labels of inline
 * assembly, to be found by them: those that may fault, in tables of fixups; those that are to be patched. Code is
 * inserted before such a label, not after it.
 *
 * Anything else that reaches the label runs that instruction unrecorded: it ends its block, and the code after it is
 * entered in unknown ways.
 */
#ifndef TW_CC_MARKS_H
#define TW_CC_MARKS_H

#include "cc/code.h"

/* Sets insn.marked. 0, or -1: there is no memory. */
int tw_cc_marks_find(struct tw_cc_code *c);

/* Where code before marked instruction k is inserted: the statement of the first label for it; its own statement if there is none. */
uint32_t tw_cc_marks_label(const struct tw_cc_code *c, uint32_t k);

/* Is the code at a block's end inserted before its last instruction i? */
static inline int tw_cc_ends_before(const struct tw_cc_insn *i)
{
	return i->d.kind != INSN_PLAIN || i->marked;
}

#endif
