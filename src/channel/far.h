/*
 * Buffers that the collector reads and clears by system calls, so that it touches none of their pages. On a virtual
 * machine whose page tables the host maintains, a process pays 20 us for each page that it first reads and then
 * writes for the first time, 6 ms per buffer, and for a short program this applies to all buffers. Elsewhere mapped
 * memory is faster from the start.
 *
 * By one thread at a time.
 */
#ifndef TW_FAR_H
#define TW_FAR_H

#include <stdint.h>

enum { TW_FAR_TIMES = 16 }; /* a buffer is worth mapping when it comes the next time */

struct tw_far {
	uint8_t *room; /* NULL: there is none */
	int pays;      /* pages are dear */
	uint8_t *copy; /* of a buffer; NULL: there is none yet */
};

/* Where a buffer of the channel is: its parts are at the places that they have in memory (channel.h). */
struct tw_far_buffer {
	const struct tw_far *far;
	int fd;
	uint64_t at;
};

void tw_far_begin(struct tw_far *f);
void tw_far_end(struct tw_far *f);

/* The used part of a buffer, in memory of the collector's own, followed by the slack as in the buffer. NULL: not possible. */
uint8_t *tw_far_read(struct tw_far *f, const struct tw_far_buffer *b, uint32_t bytes, uint32_t slack_end);

/* Copies this many bytes from one file to another. TW_ERR_SYSTEM: fewer. */
int tw_far_copy(const struct tw_far *f, int from, uint64_t from_at, int to, uint64_t to_at, uint64_t bytes);

/* Zeroes the used part of a buffer, as tw_clear_buffer (clear.h) defines it. TW_ERR_SYSTEM. */
int tw_far_clear(const struct tw_far_buffer *b, uint32_t bytes, uint32_t slack_end);

#endif
