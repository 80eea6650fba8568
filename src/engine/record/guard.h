/*
 * Guard pages: nothing can be read or written there, so a store that runs over a buffer's data, or its slack, faults.
 *
 * Since Linux 6.15 a page of shared memory can be one without being a mapping of its own (MADV_GUARD_INSTALL): so all buffers of a thread are one mapping, whether it has
 * come to them or not, and a thread cannot come to its next buffer too late, when the program has made all the mappings that the kernel allows. Before, guards are
 * pages of other protection, and each buffer takes four mappings when it is first used.
 */
#ifndef TW_GUARD_H
#define TW_GUARD_H

#include "engine/record/room.h"

/* Makes a buffer (base/channel.h) accessible but for its two guards. It may be in use already. False: there are too many mappings. */
bool tw_guard_open(u8 *buffer);

/* The same of one that is accessible. */
bool tw_guard_set(u8 *buffer);

/* Makes the guard behind a buffer's data accessible for a while, and a guard again. */
void tw_guard_lend(u8 *buffer);
void tw_guard_take_back(u8 *buffer);

#endif
