/*
 * The contents of a chunk as counts, without blocks and references: for checking it against its header (check).
 *
 * Values are decoded nevertheless, since the prediction of one depends on those before it, and some say how often a
 * loop or a string instruction ran. But no machine code is made: with many fragments neither code nor branch history
 * stays in the processor's caches. One loop processes tags, and one the slots that they name.
 */
#ifndef TW_COUNT_H
#define TW_COUNT_H

#include <trackway/recording.h>

struct tw_coded_chunk;
struct tw_descriptor;
struct tw_value_map;
struct tw_count_map;
struct tw_counter;

/*
 * What n fragments count for, all that chunks have: valid descriptors, of two with the same number the later one. All
 * must stay. NULL: no memory, or this method does not suit them.
 */
struct tw_count_map *tw_count_map_new(const struct tw_descriptor *const *descriptor, size_t n, const struct tw_value_map *values);
void tw_count_map_free(struct tw_count_map *map);

/* Used by one thread at a time, for one chunk after another. `map` must stay. NULL: no memory. */
struct tw_counter *tw_counter_new(const struct tw_count_map *map);
void tw_counter_free(struct tw_counter *c);

/*
 * 1: the chunk is good, and holds what its header says: a walk would find no error, and as many instructions, blocks,
 * references, reads, writes and events. 0: it does not, or it contains something that only a walk can check; nothing
 * has been established then.
 */
int tw_counter_holds(struct tw_counter *c, const struct tw_coded_chunk *chunk);

#endif
