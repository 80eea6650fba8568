/*
 * Descriptors: what the engine writes about a fragment to shared memory, before any record of it can appear in a
 * buffer (base/channel.h).
 */
#ifndef TW_DESCRIBE_H
#define TW_DESCRIBE_H

#include "engine/record/recorded.h"

struct block;
struct plan;

/* Tagged form: upper halves and head of f, whose first block has its tag and whose last one last_tag. */
void tw_describe_tagged(struct tw_recorded *f, u32 last_tag);

/*
 * Numbers the fragment and publishes its descriptor. If there is no more room the recording has failed, and the
 * program continues: the number is 0, at which readers of the buffer stop.
 */
void tw_describe(struct tw_recorded *f, const struct block *b, const struct plan *p);

/*
 * The blocks of a superblock that a process of this program has described and that starts with those at pc[0] and
 * pc[1] and knows the same registers (known.h), into blocks[BLOCK_MAX_PARTS]; `loops`: it occurs several times in a
 * row. Returns their number, 0: there is none. Without this, forks that run side by side, each with its own paths,
 * would describe ever new ones. Other processes do not ask, since the search takes time.
 */
u32 tw_described_path(const u64 *pc, u32 context, u64 *blocks, bool *loops);

#endif
