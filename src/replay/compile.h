/*
 * Compiling one program to machine code (code.h). Method: registers of the program are followed symbolically, as a machine register plus a constant,
 * so that updates which add constants cost nothing but one store at the end. What is constant in references and blocks (pc, size,
 * type...) stands in a struct tw_stretch: an execution writes addresses and where that is.
 */
#ifndef TW_COMPILE_H
#define TW_COMPILE_H

#include "replay/code_place.h"
#include "replay/program.h"

struct tw_value_slot;

/* Where the code of `p` begins, or NULL: there is no room, or it is not to be compiled; then *place is as it was. `slots`: how values are predicted now,
 * where they are coded. */
const uint8_t *tw_compile(struct tw_compile_place *place, const struct tw_program *p, const struct tw_value_slot *slots);

/* Takes the next tag and goes on with its code, or out. */
void tw_compile_dispatch(struct as *a, const struct tw_compile_place *place);

#endif
