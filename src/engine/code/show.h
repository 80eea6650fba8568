/* --show-fragment: what became of a block, stage by stage: the application's instructions, the descriptor, the code in the cache. */
#ifndef TW_SHOW_H
#define TW_SHOW_H

#include "engine/code/fragment.h"

struct block;
struct plan;

void tw_show_fragment(const struct fragment *f, const struct block *b, const struct plan *p);

#endif
