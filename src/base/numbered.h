/*
 * Tables of items by fragment number: a row for each upper half, made when first needed. Numbers are drawn in
 * stretches (channel.h), and whole stretches can be forgotten: their items are zero again and take no memory.
 *
 * One thread adds and forgets; others may look at items that stay.
 */
#ifndef TW_NUMBERED_H
#define TW_NUMBERED_H

#include "base/channel.h"

#include <stddef.h>

enum { TW_NUMBERED_ROW = 65536 };

/* All zeros except `item`, its size: a multiple of 8, so that stretches are whole pages; and `fill`, if needed. */
struct tw_numbered {
	size_t item;
	uint64_t fill;                      /* initial contents of rows, eight bytes each; if not 0, nothing is forgotten */
	uint32_t n_rows;                    /* that there have been... */
	uint16_t upper[TW_NUMBERED_ROW];    /* ...of which upper halves */
	void *row[TW_NUMBERED_ROW];         /* NULL: there is none */
	uint8_t forgotten[TW_NUMBERED_ROW]; /* stretches of each */
};

void tw_numbered_free(struct tw_numbered *t);

/* The row of an upper half; if new, all zeros, or `fill`. NULL: no memory. */
void *tw_numbered_add_row(struct tw_numbered *t, uint32_t upper);

/* Forgets the stretch that begins at number `first`, which is not forgotten yet. */
void tw_numbered_forget(struct tw_numbered *t, uint32_t first);

/* A row, by any thread, or NULL. */
static inline void *tw_numbered_row(const struct tw_numbered *t, uint32_t upper)
{
	return upper < TW_NUMBERED_ROW ? __atomic_load_n(&t->row[upper], __ATOMIC_ACQUIRE) : NULL;
}

#endif
