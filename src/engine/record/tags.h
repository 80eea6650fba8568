/*
 * Tags: they identify blocks in buffers of the tagged form and of bits. A tag is the block's address, if that has 4
 * bytes, is in the low arena or below, and stands for nothing else in this program. Otherwise it is an alias, an
 * address within the code cache, where no program has code.
 *
 * So among blocks that occupied one address in turn (code that changes, libraries that come and go), the first has
 * the address. The channel records which addresses are taken, for all processes of the recording.
 */
#ifndef TW_TAGS_H
#define TW_TAGS_H

#include "engine/record/room.h"

/*
 * Gives its tag to a descriptor that is otherwise complete, and TW_DESC_ANNOUNCED if other code of the program had
 * its address before. Under the descriptor lock.
 */
void tw_tag_draw(struct tw_descriptor *d);

#endif
