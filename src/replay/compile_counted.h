/*
 * Code of fragments whose executions are counted, or whose lines are marked (counted.h), instead of being listed in a
 * batch.
 *
 * Each address is checked for alignment; nearly all are aligned. References that are not, or have an impossible size,
 * are listed.
 */
#ifndef TW_COMPILE_COUNTED_H
#define TW_COMPILE_COUNTED_H

#include "replay/compiler.h"

/* Is the address of the stretch's next reference checked? */
int tw_compile_watches(const struct compiler *c);

/* The stretch's next reference, with its address in `reg`. */
void tw_compile_watch(struct compiler *c, uint8_t reg);

/* The end of a stretch that is counted; the instructions of any. */
void tw_compile_count(struct compiler *c);
void tw_compile_count_insns(struct compiler *c);

/* Jumps to `to` when enough has been counted, or something is full. */
void tw_compile_if_full(struct compiler *c, const uint8_t *to);

/* The code for unaligned references, after all other code. Returns 0 if there is no room. */
int tw_compile_odd(struct compiler *c);

/* struct tw_compile_place, `odd`. */
void tw_compile_take_odd(struct as *a);

#endif
