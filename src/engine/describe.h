/*
 * Descriptors: what the engine says of a fragment in shared memory, before a record of it can appear in any buffer (channel/channel.h).
 */
#ifndef TW_DESCRIBE_H
#define TW_DESCRIBE_H

#include "engine/fragment.h"

struct block;
struct plan;

/* Tagged form: upper halves and head of f, whose first block has its tag and whose last one last_tag. */
void tw_describe_tagged(struct fragment *f, u32 last_tag);

/*
 * Numbers the fragment and publishes its descriptor. When there is no more room the recording has failed, and the program goes on: the number is 0, at
 * which whoever reads the buffer stops.
 */
void tw_describe(struct fragment *f, const struct block *b, const struct plan *p);

/*
 * The path of a superblock that a process of this program has described, one that begins like this path (known.h). False: there is none. Forks that live on
 * beside each other, each of which looks for its own, would else describe ever new ones; who is no fork does not ask, since looking takes time.
 */
bool tw_described_path(const struct tw_path *like, struct tw_path *path);

#endif
