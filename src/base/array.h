/*
 * Arrays: they grow as items are added to them, and are searched when they are sorted.
 */
#ifndef TW_ARRAY_H
#define TW_ARRAY_H

#include <stddef.h>

/* As for qsort and bsearch. */
typedef int tw_compare(const void *, const void *);

/*
 * The array with room for item number n, counted from 0: `items` itself, or moved to a larger block, whose new part is not
 * initialized. *room: number of items there is room for; 0 if `items` is NULL. NULL: no memory, and nothing has changed. The
 * caller must free() it.
 */
void *tw_array_room(void *items, size_t n, size_t *room, size_t size);

/* The same, with the new part set to zeros. */
void *tw_array_zeros(void *items, size_t n, size_t *room, size_t size);

/*
 * Like calloc, for free(). Large tables are on huge pages if the kernel provides them on request (madvise): random
 * access to tables of many megabytes is faster there.
 */
void *tw_array_table(size_t n, size_t size);

/*
 * Memory of at least this many bytes that starts on a huge page and takes whole ones, if the kernel provides them on
 * request: *bytes becomes the size. It is not set, and for free(). NULL: no memory.
 */
void *tw_array_huge(size_t *bytes);

/*
 * `items` with room for *bytes, which may become more, of which the first `used` keep their contents, and the others
 * are not set. If small pages are expensive, large arrays are on huge pages (dear.h). It is the caller's to free().
 * NULL: no memory; then nothing has changed.
 */
void *tw_array_more(void *items, size_t used, size_t *bytes);

/*
 * Address space for this many bytes, whole pages, starting at a huge page boundary, for mapping something there:
 * inaccessible. `where`: 0, or MAP_32BIT. For munmap. NULL: not available, and errno says why.
 */
void *tw_array_addresses(size_t bytes, int where);

/*
 * This many bytes of memory are about to be written: populates missing pages in one call, where writing would fault
 * once for each. That costs a twentieth on some virtual machines. Contents stay.
 */
void tw_array_take_pages(void *at, size_t bytes);

/* Of n items sorted by `compare`, how many come before the key; and how many before it or are equal to it. */
size_t tw_array_before(const void *key, const void *items, size_t n, size_t size, tw_compare *compare);
size_t tw_array_until(const void *key, const void *items, size_t n, size_t size, tw_compare *compare);

/* Compares 64-bit numbers, or what begins with one; and 32-bit ones. */
int tw_by_number(const void *a, const void *b);
int tw_by_number32(const void *a, const void *b);

#endif
