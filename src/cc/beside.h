/*
 * Parts of a function that are outside it in the assembly, and must be duplicated with it: tables of its labels, for
 * clang's jumps or computed goto, and clang's exception tables. Tables to which something else refers as well stay as
 * they are.
 */
#ifndef TW_CC_BESIDE_H
#define TW_CC_BESIDE_H

#include "cc/versions.h"

/* Finds them, and adds their labels to the units. 0, or -1: no memory. */
int tw_cc_beside_find(struct tw_cc_twice *w);

/* Writes those of the unit for its second version. */
void tw_cc_beside_write(struct tw_cc_twice *w, const struct tw_cc_unit *u);

#endif
