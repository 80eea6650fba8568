#include "base/numbered.h"
#include "base/array.h"
#include "base/zeros.h"

#include <stdlib.h>
#include <sys/mman.h>

_Static_assert(TW_STRETCH * 8 % TW_PAGE == 0, "the items of a stretch are whole pages");

enum { STRETCHES = TW_NUMBERED_ROW / TW_STRETCH };

static size_t row_bytes(const struct tw_numbered *t)
{
	return TW_NUMBERED_ROW * t->item;
}

/* Filled rows are written as a whole, so a few of them are together on a huge page. */
static size_t rows_together(const struct tw_numbered *t)
{
	return row_bytes(t) < TW_HUGE_PAGE ? TW_HUGE_PAGE / row_bytes(t) : 1;
}

static void *filled_row(const struct tw_numbered *t)
{
	const size_t behind = t->n_rows % rows_together(t);
	size_t bytes = rows_together(t) * row_bytes(t);
	char *first = behind ? t->row[t->upper[t->n_rows - behind]] : tw_array_huge(&bytes);
	uint64_t *row = first ? (uint64_t *)(first + behind * row_bytes(t)) : NULL;
	for (size_t i = 0; row && i < row_bytes(t) / sizeof t->fill; i++)
		row[i] = t->fill;
	return row;
}

void tw_numbered_free(struct tw_numbered *t)
{
	for (uint32_t i = 0; i < t->n_rows; i++) {
		void *row = t->row[t->upper[i]];
		if (!t->fill)
			tw_zeros_free(row, row_bytes(t));
		else if (i % rows_together(t) == 0)
			free(row);
	}
}

void *tw_numbered_add_row(struct tw_numbered *t, uint32_t upper)
{
	if (t->row[upper])
		return t->row[upper];
	void *row = t->fill ? filled_row(t) : tw_zeros_new(row_bytes(t));
	if (!row)
		return NULL;
	__atomic_store_n(&t->row[upper], row, __ATOMIC_RELEASE);
	if (t->n_rows < TW_NUMBERED_ROW) /* none has one twice: numbers are not used again */
		t->upper[t->n_rows++] = (uint16_t)upper;
	return row;
}

void tw_numbered_forget(struct tw_numbered *t, uint32_t first)
{
	void **row = &t->row[first >> 16];
	int all = ++t->forgotten[first >> 16] == STRETCHES;
	if (!*row)
		return;
	if (!all) {
		madvise((char *)*row + (first & 0xffff) * t->item, TW_STRETCH * t->item, MADV_DONTNEED);
		return;
	}
	void *gone = *row;
	__atomic_store_n(row, NULL, __ATOMIC_RELEASE);
	tw_zeros_free(gone, row_bytes(t));
}
