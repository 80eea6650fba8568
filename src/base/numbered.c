#include "base/numbered.h"
#include "base/zeros.h"

#include <sys/mman.h>

_Static_assert(TW_STRETCH * 8 % TW_PAGE == 0, "the items of a stretch are whole pages");

enum { STRETCHES = TW_NUMBERED_ROW / TW_STRETCH };

static size_t row_bytes(const struct tw_numbered *t)
{
	return TW_NUMBERED_ROW * t->item;
}

void tw_numbered_free(struct tw_numbered *t)
{
	for (uint32_t i = 0; i < t->n_rows; i++)
		tw_zeros_free(t->row[t->upper[i]], row_bytes(t));
}

void *tw_numbered_add_row(struct tw_numbered *t, uint32_t upper)
{
	if (t->row[upper])
		return t->row[upper];
	void *row = tw_zeros_new(row_bytes(t));
	if (!row)
		return NULL;
	for (size_t i = 0; t->fill && i < row_bytes(t) / sizeof t->fill; i++)
		((uint64_t *)row)[i] = t->fill;
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
