/* The two forms that are expanded: expand.h describes their buffers. */
#ifndef TW_EXPAND_FORMS_H
#define TW_EXPAND_FORMS_H

#include "channel/expand_state.h"

/* Expands until the piece is full (1), the buffer's end (0), or an error. */
int tw_expand_tagged(struct tw_expand *x);
int tw_expand_bits(struct tw_expand *x);

#endif
