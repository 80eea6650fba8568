/*
 * Descriptors as text: every fragment with its blocks, instructions and operations.
 */
#ifndef TW_CODE_H
#define TW_CODE_H

#include "base/text.h"

#include <trackway/descriptor.h>

void tw_code_print(struct tw_text *t, const struct tw_descriptor *d);

#endif
