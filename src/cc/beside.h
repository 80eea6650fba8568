/*
 * What of a function stands outside of it in the assembly, and is wanted twice with it: tables of its labels, of clang's jumps or for computed goto, and clang's tables of exceptions.
 * Tables that something else refers to as well stay as they are.
 */
#ifndef TW_CC_BESIDE_H
#define TW_CC_BESIDE_H

#include "cc/versions.h"

/* Finds them, and makes their labels the units'. 0, or -1: there is no memory. */
int tw_cc_beside_find(struct tw_cc_twice *w);

/* Writes those of the unit for its second version. */
void tw_cc_beside_write(struct tw_cc_twice *w, const struct tw_cc_unit *u);

#endif
