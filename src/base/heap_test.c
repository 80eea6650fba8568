#include "base/heap.h"
#include "base/channel.h"
#include "unit.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { BYTES = 8 << 20, PIECE = 4000 };

/* Faults that it takes to write so many bytes in pieces from malloc. */
static long write_pieces(void **piece, size_t n)
{
	const long before = unit_faults();
	for (size_t i = 0; i < n; i++) {
		piece[i] = malloc(PIECE);
		CHECK(piece[i]);
		memset(piece[i], 1, PIECE);
	}
	return unit_faults() - before;
}

/* Whether the kernel gives huge pages to who asks, now. */
static int has_huge_pages(void)
{
	char *at = aligned_alloc(TW_HUGE_PAGE, BYTES);
	CHECK(at);
	madvise(at, BYTES, MADV_HUGEPAGE);
	const long before = unit_faults();
	memset(at, 1, BYTES);
	const int has = unit_faults() - before < 64;
	free(at);
	return has;
}

int main(void)
{
	enum { PIECES = BYTES / PIECE };
	static void *piece[PIECES];
	const int has = has_huge_pages();
	tw_heap_to_answer();
	const long taken = write_pieces(piece, PIECES);
	CHECK(!has || taken < PIECES / 4);
	for (size_t i = 0; i < PIECES; i++)
		free(piece[i]);
	CHECK(write_pieces(piece, PIECES) < PIECES / 4); /* freed memory stays */
	for (size_t i = 0; i < PIECES; i++)
		free(piece[i]);
	return UNIT_END();
}
