/*
 * Tags: what stands for a block in buffers of the tagged form and of bits. A tag is the block's address, as long as that has 4 bytes, lies where the low
 * arena is or below, and stands for nothing else in this program; otherwise it is an alias, which is an address within the code cache, where no
 * program has code.
 *
 * So of blocks that stood at one address one after the other (code that changes, libraries that come and go), the first has the address. Which addresses have
 * been given away is kept in the channel, for all processes of the recording.
 */
#ifndef TW_TAGS_H
#define TW_TAGS_H

#include "engine/record/room.h"

/*
 * Gives a descriptor that is complete but for this its tag, and TW_DESC_ANNOUNCED where other code of the program had its address before. Under the
 * descriptor lock.
 */
void tw_tag_draw(struct tw_descriptor *d);

#endif
