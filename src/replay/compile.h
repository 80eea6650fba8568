/*
 * Compiling one program to machine code (code.h). Method: registers of the program are followed symbolically, as a
 * machine register plus a constant, so that updates which add constants cost only one store at the end. The constant
 * parts of references and blocks (pc, size, type...) are in a struct tw_stretch: an execution writes addresses and a
 * pointer to that.
 */
#ifndef TW_COMPILE_H
#define TW_COMPILE_H

#include "replay/code_place.h"
#include "replay/program.h"

struct tw_value_slot;

/*
 * Start of the code of `p`, or NULL: there is no room, or it must not be compiled; then *place is unchanged. `slots`:
 * how values are predicted now, if they are encoded.
 */
const uint8_t *tw_compile(struct tw_compile_place *place, const struct tw_program *p, const struct tw_value_slot *slots);

/* Takes the next tag and jumps to its code, or to the exit. */
void tw_compile_dispatch(struct as *a, const struct tw_compile_place *place);

#endif
