/*
 * Descriptors that the code file of a recording does not have yet, unchanged, in a part of the spool's file
 * (spool.h). Descriptors are compressed many at a time, but what waits in the spool needs its own on disk at once,
 * since both are all that is left if the collector is killed.
 *
 * Bytes of descriptors are numbered as they arrive. The part of the file contains a sequence of consecutive pieces,
 * from its start; once the code file has all of them it starts again. Whatever follows the last piece is old: it does
 * not continue where the last one ends.
 *
 * By one thread at a time.
 */
#ifndef TW_DESCRIBED_H
#define TW_DESCRIBED_H

#include <stddef.h>
#include <stdint.h>

struct tw_described;

/* Uses this many bytes from `at` on in a file, which stays the caller's. NULL: no memory. */
struct tw_described *tw_described_new(int fd, uint64_t at, uint64_t room);
void tw_described_free(struct tw_described *d); /* accepts NULL; what is in the file stays */

/* The bytes before number `end`. They must stay valid until they are in the code file. TW_ERR_MEMORY. */
int tw_described_add(struct tw_described *d, const uint8_t *bytes, size_t n, uint64_t end);

/*
 * Writes what was added, except what the code file has: everything before number `coded`. False: there is no room for
 * it, here or on the disk. Then there is a gap, until the code file has everything added so far.
 */
int tw_described_write(struct tw_described *d, uint64_t coded);

/* The bytes in a file from number `from` on, up to a gap. The caller frees *bytes, which is NULL if there are none. TW_ERR_MEMORY. */
int tw_described_read(int fd, uint64_t at, uint64_t room, uint64_t from, uint8_t **bytes, size_t *n);

#endif
