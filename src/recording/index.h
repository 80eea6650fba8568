/*
 * The index of a recording: for each chunk the times of its events, the code that ran in it, and the memory that it
 * read and wrote. A search for a time, an instruction or an address reads only the chunks that may contain it; chunks
 * without an entry may contain anything.
 *
 * The addresses of a chunk are known only when it is replayed: the collector sees just the registers that replay
 * cannot compute. So the index is not written by the recorder, which it would cost a replay, but at first use
 * (analyze/index_maker.h), to the file `index` (docs/format.md). An entry belongs to a chunk by its checksums: the
 * index stays valid while a recording grows, and the entry of a changed chunk is not found. A damaged index counts as
 * none.
 *
 * A list is a set of lines of 64 bytes, as ranges in ascending order. Neighbouring ranges are merged as far as needed
 * to keep the list small: it may contain too much, never too little.
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
	uint64_t first_tsc, last_tsc; /* times of events, and of system calls that started; 0: no event has one */
	uint8_t *list[TW_INDEX_LISTS];
	uint32_t bytes[TW_INDEX_LISTS];
	uint32_t has_buffers; /* 1: includes memory that the kernel used for system calls, as far as known (analyze/syscall_buffers.h) */
};

/*
 * The encoded form of n ranges that are in order and do not touch. It takes at most `most` bytes, but one range is
 * always encoded. *bytes is from malloc.
 */
int tw_lines_code(const struct tw_lines *lines, size_t n, uint32_t most, uint8_t **bytes, uint32_t *n_bytes);

/* Frees an entry's lists. */
void tw_index_entry_free(struct tw_index_entry *e);

struct tw_index;

/* The index of the recording, empty if there is none. Until tw_index_add only reads it may be used by many threads at once. TW_ERR_MEMORY. */
int tw_index_open(const struct tw_recording *r, struct tw_index **out);
void tw_index_close(struct tw_index *x);

/* What is known of a chunk; NULL: nothing. */
const struct tw_index_entry *tw_index_of(const struct tw_index *x, size_t thread, size_t chunk);

/* May the list contain an address from `low` to `high`? */
int tw_index_may_have(const struct tw_index_entry *e, enum tw_index_list list, uint64_t low, uint64_t high);

/* Takes the entry over. */
void tw_index_add(struct tw_index *x, size_t thread, size_t chunk, struct tw_index_entry *e);

/* Maximum size of a list of this chunk, so that the whole index takes about 1 % of the recording. */
uint32_t tw_index_list_most(const struct tw_chunk_info *c);

/*
 * Writes it. An index larger than 2 % of the recording, and than 64 KB, is made coarser first. TW_ERR_SYSTEM: it
 * cannot be written there.
 */
int tw_index_write(struct tw_index *x);

#endif
