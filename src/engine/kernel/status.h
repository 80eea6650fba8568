/*
 * What programs read about signals in /proc, their own and those of other recorded processes: the lines SigPnd,
 * ShdPnd, SigBlk, SigIgn and SigCgt of status, and the four numbers of stat with the same meaning. The kernel has the
 * engine's handlers and masks there; reads return what they would be without the engine.
 *
 * Such a file is recognized by being in procfs and by its beginning, so it does not matter how its descriptor was
 * obtained. A file opened under its name is recognized also if less than its beginning is read at a time. The file
 * itself stays open and keeps its position. sendfile, splice and io_uring read the kernel's contents; so does a read
 * from elsewhere than the beginning through a descriptor that was not opened under the file's name in this process.
 */
#ifndef TW_STATUS_H
#define TW_STATUS_H

#include "engine/kernel/room.h"

/* The application has opened a file of this name, the last part of its path. */
void tw_status_opened(u64 fd, const char *name);

/* Is this open file one of procfs? */
bool tw_status_in_proc(u64 fd);

/* Is it known to be such a file? */
bool tw_status_known(u64 fd);

/* Is this data, just read, the beginning of such a file? */
bool tw_status_begins(u64 buffer, i64 bytes);

/* In a new process, which has none of the threads that may have been reading. */
void tw_status_forked(void);

/* Result of a read of at most n bytes at this offset; TW_STATUS_PASS: it is no such file. `moves`: the file's position advances. */
i64 tw_status_read(u64 fd, u64 offset, u64 to, u64 n, bool moves);
#define TW_STATUS_PASS (-513)

#endif
