/*
 * What a chunk holds, without blocks and references: for who wants to know only whether it is what its header says (check).
 *
 * Values are decoded all the same, since how one is predicted depends on those before it, and some say how often a loop or a string instruction ran. But no machine
 * code is made: with many fragments neither that nor what its branches led to stays in the processor's caches. One loop goes over tags, and one over the slots they name.
 */
#ifndef TW_COUNT_H
#define TW_COUNT_H

#include <trackway/recording.h>

struct tw_coded_chunk;
struct tw_descriptor;
struct tw_value_map;
struct tw_count_map;
struct tw_counter;

/* What n fragments count for, all that chunks have: valid descriptors, the later of two with the same number counts. All must stay. NULL: no memory, or this way does not suit them. */
struct tw_count_map *tw_count_map_new(const struct tw_descriptor *const *descriptor, size_t n, const struct tw_value_map *values);
void tw_count_map_free(struct tw_count_map *map);

/* Used by one thread at a time, for one chunk after another. `map` must stay. NULL: no memory. */
struct tw_counter *tw_counter_new(const struct tw_count_map *map);
void tw_counter_free(struct tw_counter *c);

/*
 * 1: the chunk is good, and holds what its header says: a walk would find no error, and as many instructions, blocks, references, reads, writes and events. 0: it is not, or it
 * has something that a walk has to look at; nothing has been found out then.
 */
int tw_counter_holds(struct tw_counter *c, const struct tw_coded_chunk *chunk);

#endif
