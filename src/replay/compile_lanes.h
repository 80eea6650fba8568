/* Masked lanes, side by side. */
#ifndef TW_COMPILE_LANES_H
#define TW_COMPILE_LANES_H

#include "replay/compiler.h"

/* Whether lanes can have code in line, and the bytes of data that takes. */
int tw_compile_has_lanes(const struct tw_op *op);
size_t tw_compile_lanes_data(void);

/* A step of lanes, between two stretches. Returns 0, with nothing done, if the walk must do it. */
int tw_compile_lanes(struct compiler *c, const struct tw_step *s);

/* After the program: lanes whose mask was not as expected. There must be room. */
void tw_compile_other_lanes(struct compiler *c);

#endif
