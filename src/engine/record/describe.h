/*
 * Descriptors: what the engine says of a fragment in shared memory, before a record of it can appear in any buffer (base/channel.h).
 */
#ifndef TW_DESCRIBE_H
#define TW_DESCRIBE_H

#include "engine/record/recorded.h"

struct block;
struct plan;

/* Tagged form: upper halves and head of f, whose first block has its tag and whose last one last_tag. */
void tw_describe_tagged(struct tw_recorded *f, u32 last_tag);

/*
 * Numbers the fragment and publishes its descriptor. When there is no more room the recording has failed, and the program goes on: the number is 0, at
 * which whoever reads the buffer stops.
 */
void tw_describe(struct tw_recorded *f, const struct block *b, const struct plan *p);

/*
 * The blocks of a superblock that a process of this program has described, one that begins with those at pc[0] and pc[1] and knows the same registers (known.h), into
 * blocks[BLOCK_MAX_PARTS]; `loops`: it comes several times in a row. Returns how many they are, 0: there is none. Forks that live on
 * beside each other, each of which looks for its own, would else describe ever new ones; who is no fork does not ask, since looking takes time.
 */
u32 tw_described_path(const u64 *pc, u32 context, u64 *blocks, bool *loops);

#endif
