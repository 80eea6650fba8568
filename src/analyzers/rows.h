/*
 * Rows of counts, each found by a key of two numbers. Rows are numbered in order of creation, and keep their numbers.
 */
#ifndef TW_ROWS_H
#define TW_ROWS_H

#include <stddef.h>
#include <stdint.h>

/* All zeros but for `width`, the counts of a row. */
struct tw_rows {
	unsigned width;
	uint64_t *items; /* of each row the two numbers of its key, then its counts */
	size_t n, room;
	uint32_t *slots; /* open hash of numbers of rows + 1 */
	size_t n_slots;
};

enum { TW_ROWS_NONE = UINT32_MAX };

/* The row's number; a new one is all zeros. TW_ROWS_NONE: no memory. */
uint32_t tw_rows_number(struct tw_rows *r, uint64_t a, uint64_t b);

/* The same if there is such a row, else TW_ROWS_NONE. */
uint32_t tw_rows_find(const struct tw_rows *r, uint64_t a, uint64_t b);

void tw_rows_free(struct tw_rows *r);

/* Adds the counts of other rows of the same width. 0 or TW_ERR_MEMORY. */
int tw_rows_merge(struct tw_rows *r, const struct tw_rows *more);

/* Valid until a row is made. */
static inline uint64_t *tw_rows_key(const struct tw_rows *r, size_t number)
{
	return r->items + number * (r->width + 2);
}

static inline uint64_t *tw_rows_counts(const struct tw_rows *r, size_t number)
{
	return tw_rows_key(r, number) + 2;
}

/* The counts of the row of this key, which may be new. NULL: no memory. */
static inline uint64_t *tw_rows_at(struct tw_rows *r, uint64_t a, uint64_t b)
{
	uint32_t number = tw_rows_number(r, a, b);
	return number == TW_ROWS_NONE ? NULL : tw_rows_counts(r, number);
}

#endif
