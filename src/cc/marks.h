/*
 * The last part of tw_cc_code_match() (code.h): instructions whose own addresses are kept, by labels of inline assembly, to be found by them: those that may fault, in tables of what to do then; those
 * that are to be written over. What is inserted stands before such a label, not behind it.
 *
 * Whatever else comes to the label runs that instruction unrecorded: it ends its block, and what stands behind it is entered in unknown ways.
 */
#ifndef TW_CC_MARKS_H
#define TW_CC_MARKS_H

#include "cc/code.h"

/* Sets insn.marked. 0, or -1: there is no memory. */
int tw_cc_marks_find(struct tw_cc_code *c);

/* Where what belongs before marked instruction k goes: the statement of the first label that stands for it; its own: there is none. */
uint32_t tw_cc_marks_label(const struct tw_cc_code *c, uint32_t k);

/* Does what ends a block stand before its last instruction i? */
static inline int tw_cc_ends_before(const struct tw_cc_insn *i)
{
	return i->d.kind != INSN_PLAIN || i->marked;
}

#endif
