/* Values that are not as predicted: code that all fragments share. */
#ifndef TW_COMPILE_MISS_H
#define TW_COMPILE_MISS_H

#include "replay/code_place.h"

/* The code of `other`; what has come time and again goes on at `often`, with all as it was. */
void tw_compile_other(struct as *a, const uint8_t *often);

/* The code of `miss`, on the stack as its caller left it; what is rare goes on at `by_reader`, likewise. */
void tw_compile_miss(struct as *a, const uint8_t *by_reader);

#endif
