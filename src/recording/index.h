/*
 * The index of a recording: of each chunk when its events were, which code ran in it and which memory it read and wrote. Who looks for a moment, an instruction or
 * an address reads only the chunks that may have it; chunks without an entry may have anything.
 *
 * Which addresses a chunk has is known when it is replayed: the collector sees only the registers that replay cannot work out. So the index is not written by
 * the recorder, which it would cost a replay, but by who first has a use for it (analyze/index_maker.h), to the file `index` (docs/format.md). An entry belongs to a chunk by the
 * checksums of that: the index stays right while a recording grows, and that of a chunk which has changed is not found. An index that is damaged is none.
 *
 * A list is a set of lines of 64 bytes, as ranges in ascending order. Ranges that are near each other become one, as far as it takes for the list to
 * have few bytes: it may say too much, never too little.
 */
#ifndef TW_RECORDING_INDEX_H
#define TW_RECORDING_INDEX_H

#include <trackway/recording.h>

enum tw_index_list {
	TW_INDEX_CODE,    /* blocks that began */
	TW_INDEX_READ,    /* memory; what is modified is read and written */
	TW_INDEX_WRITTEN, /* memory */
	TW_INDEX_LISTS
};

/* Lines of 64 bytes, by number: address / 64. Both are part of it. */
struct tw_lines {
	uint64_t first, last;
};
enum { TW_LINE_SHIFT = 6 };

struct tw_index_entry {
	uint64_t first_tsc, last_tsc; /* times of events, and of system calls that began; 0: no event has one */
	uint8_t *list[TW_INDEX_LISTS];
	uint32_t bytes[TW_INDEX_LISTS];
	uint32_t
	    has_buffers; /* 1: memory that the kernel read and filled for system calls is there, too, as far as it is known (analyze/syscall_buffers.h) */
};

/* The coded form of n ranges that are in order and do not touch. It takes at most `most` bytes, but one range is always coded. *bytes is from malloc. */
int tw_lines_code(const struct tw_lines *lines, size_t n, uint32_t most, uint8_t **bytes, uint32_t *n_bytes);

/* Frees an entry's lists. */
void tw_index_entry_free(struct tw_index_entry *e);

struct tw_index;

/* The index of the recording, empty if there is none. Until tw_index_add only reads it may be used by many threads at once. TW_ERR_MEMORY. */
int tw_index_open(const struct tw_recording *r, struct tw_index **out);
void tw_index_close(struct tw_index *x);

/* What is known of a chunk; NULL: nothing. */
const struct tw_index_entry *tw_index_of(const struct tw_index *x, size_t thread, size_t chunk);

/* Whether one of the addresses from `low` to `high` may be in the list. */
int tw_index_may_have(const struct tw_index_entry *e, enum tw_index_list list, uint64_t low, uint64_t high);

/* Takes the entry over. */
void tw_index_add(struct tw_index *x, size_t thread, size_t chunk, struct tw_index_entry *e);

/* Most bytes that a list of this chunk is to have, so that the whole index takes about 1 % of the recording. */
uint32_t tw_index_list_most(const struct tw_chunk_info *c);

/* Writes it. An index that would take more than 2 % of the recording, and more than 64 KB, is made coarser first. TW_ERR_SYSTEM: it cannot be written there. */
int tw_index_write(struct tw_index *x);

#endif
