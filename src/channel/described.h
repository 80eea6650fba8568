/*
 * Descriptors that the code file of a recording does not have yet, as they are, in a part of the spool's file (spool.h). Descriptors are compressed, many at a time; what waits in the spool needs its own on the
 * disk at once, since both are all that there is left when the collector is killed.
 *
 * Bytes of descriptors are numbered as they come. The part of the file has a sequence of pieces that follow on each other, from its start; once the code file has all that is in it it begins anew. What stands
 * behind its last piece is left of what was there before: it does not go on where the last one ends.
 *
 * By one thread at a time.
 */
#ifndef TW_DESCRIBED_H
#define TW_DESCRIBED_H

#include <stddef.h>
#include <stdint.h>

struct tw_described;

/* In so many bytes from `at` on in a file, which stays the caller's. NULL: no memory. */
struct tw_described *tw_described_new(int fd, uint64_t at, uint64_t room);
void tw_described_free(struct tw_described *d); /* accepts NULL; what is in the file stays */

/* The bytes before number `end`. They must stay until they are in the code file. TW_ERR_MEMORY. */
int tw_described_add(struct tw_described *d, const uint8_t *bytes, size_t n, uint64_t end);

/*
 * Writes what was added, but what the code file has: all before number `coded`. False: there is no room for it, here or on the disk. Then there is a gap, until the code file has all that was added so far.
 */
int tw_described_write(struct tw_described *d, uint64_t coded);

/* The bytes that there are in a file from number `from` on, without a gap. The caller frees *bytes, which is NULL where there are none. TW_ERR_MEMORY. */
int tw_described_read(int fd, uint64_t at, uint64_t room, uint64_t from, uint8_t **bytes, size_t *n);

#endif
