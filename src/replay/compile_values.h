/* Values that are coded. */
#ifndef TW_COMPILE_VALUES_H
#define TW_COMPILE_VALUES_H

#include "replay/compiler.h"

/* Whether the program's values fit its slots; sets first_slot and `inlined`. */
int tw_compile_values(struct compiler *c);

/* At the program's start: makes sure that values can be taken. */
void tw_compile_take(struct compiler *c);

/* The next value, of register `reg`, into a machine register. */
void tw_compile_value(struct compiler *c, uint8_t reg, uint8_t host);

/* After the program: code for unexpected values. Returns 0 if there is no room. */
int tw_compile_unexpected(struct compiler *c);

#endif
