/*
 * Arrays that grow as items are added to them.
 */
#ifndef TW_ARRAY_H
#define TW_ARRAY_H

#include <stddef.h>

/*
 * The array with room for item number n, counted from 0: `items` where it is, or moved to more room, of which the new part is not set. *room: the items there
 * is room for, 0 where `items` is NULL. NULL: no memory; then nothing has changed. It is the caller's to free().
 */
void *tw_array_room(void *items, size_t n, size_t *room, size_t size);

/* The same, with the new part set to zeros. */
void *tw_array_zeros(void *items, size_t n, size_t *room, size_t size);

#endif
