/*
 * Packing: an analyzer's state as bytes, for its pack() and unpack() (<trackway/analyzer.h>). Numbers and arrays
 * follow one another, as they are in memory. Their meaning is up to the analyzer, and changes with its pack_version.
 *
 * All functions return 0 or an enum tw_error; TW_ERR_DAMAGED: the bytes end too early, or are not valid.
 */
#ifndef TW_PACKED_H
#define TW_PACKED_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

int tw_pack_number(FILE *to, uint64_t n);
int tw_pack_bytes(FILE *to, const void *bytes, size_t n);

/* n items of `size` bytes, behind their number. */
int tw_pack_array(FILE *to, const void *items, size_t n, size_t size);

int tw_unpack_number(FILE *from, uint64_t *n);
int tw_unpack_bytes(FILE *from, void *bytes, size_t n);

/* *items is NULL, or the caller's from malloc; it is made larger, *n are the items then, *room those there is room for (base/array.h). */
int tw_unpack_array(FILE *from, void **items, size_t *n, size_t *room, size_t size);

#endif
