/* Units, the blocks of an expansion (expand_state.h), by program. */
#ifndef TW_EXPAND_UNITS_H
#define TW_EXPAND_UNITS_H

#include "channel/expand_state.h"

/* A descriptor becomes a unit of its program. 0 or TW_ERR_MEMORY. */
int tw_expand_add_unit(struct tw_expand *x, const struct tw_descriptor *d);

/* Adds what was only counted of the units of a program, or of all, and forgets those of the program. */
void tw_expand_forget_units(struct tw_expand *x, uint32_t program, struct tw_totals *totals);
void tw_expand_tally_units(struct tw_expand *x, struct tw_totals *totals);

/* The unit with this tag in the current program, or NULL. */
struct tw_unit *tw_expand_unit(struct tw_expand *x, uint32_t tag);

/* The unit that this address stands for in the current program, or NULL. */
const struct tw_unit *tw_expand_unit_at(struct tw_expand *x, uint64_t pc);

#endif
