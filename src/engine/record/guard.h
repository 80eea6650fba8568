/*
 * Guard pages: they cannot be read or written, so a store beyond a buffer's data, or its slack, faults.
 *
 * Since Linux 6.15 a page of shared memory can be a guard without being a mapping of its own (MADV_GUARD_INSTALL). So
 * all buffers of a thread are one mapping, used or not, and a thread can always use its next buffer, even if the
 * program has made all the mappings that the kernel allows. Before, guards are pages with another protection, and
 * each buffer takes four mappings when it is first used.
 */
#ifndef TW_GUARD_H
#define TW_GUARD_H

#include "engine/record/room.h"

/* Makes a buffer (base/channel.h) accessible except for its two guards. It may be in use already. False: there are too many mappings. */
bool tw_guard_open(u8 *buffer);

/* The same of one that is accessible. */
bool tw_guard_set(u8 *buffer);

/* Makes the guard after a buffer's data accessible temporarily, and a guard again. */
void tw_guard_lend(u8 *buffer);
void tw_guard_take_back(u8 *buffer);

#endif
