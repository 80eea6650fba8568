/* Mispredicted values: code shared by all fragments. */
#ifndef TW_COMPILE_MISS_H
#define TW_COMPILE_MISS_H

#include "replay/code_place.h"

/* The code of `other`; a value that has come repeatedly continues at `often`, with everything unchanged. */
void tw_compile_other(struct as *a, const uint8_t *often);

/* The code of `miss`, with the stack as its caller left it; rare cases continue at `by_reader`, likewise. */
void tw_compile_miss(struct as *a, const uint8_t *by_reader);

#endif
