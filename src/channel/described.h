/*
 * Descriptors that the code file of a recording does not have yet, in a file beside it, as they are. Descriptors are compressed, many at a time; what waits in the spool (spool.h) needs its own
 * on the disk at once, since both are all that there is left when the collector is killed.
 *
 * Bytes of descriptors are numbered as they come. The file is a sequence of pieces that follow on each other, from its start; once the code file has all that is in it it begins anew. What stands
 * behind its last piece is left of what was there before: it does not go on where the last one ends.
 *
 * By one thread at a time.
 */
#ifndef TW_DESCRIBED_H
#define TW_DESCRIBED_H

#include <stddef.h>
#include <stdint.h>

struct tw_described;

/* The file is made when there is something to write, in this directory, which must stay open. NULL: no memory. */
struct tw_described *tw_described_new(int dir_fd);
void tw_described_free(struct tw_described *d); /* accepts NULL; the file stays */

/* The bytes before number `end`. They must stay until they are in the code file. TW_ERR_MEMORY. */
int tw_described_add(struct tw_described *d, const uint8_t *bytes, size_t n, uint64_t end);

/*
 * Writes what was added, but what the code file has: all before number `coded`. Where that cannot be, since the disk is full or no more files may be open, recording goes on without it: there is a gap then, until
 * the file begins anew.
 */
void tw_described_write(struct tw_described *d, uint64_t coded);

/* The bytes that a file has from number `from` on, without a gap; none where there is no file. The caller frees *bytes, which is NULL where there are none. TW_ERR_MEMORY. */
int tw_described_read(int dir_fd, uint64_t from, uint8_t **bytes, size_t *n);

#endif
