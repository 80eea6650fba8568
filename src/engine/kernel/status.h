/*
 * What programs read in /proc of signals, their own and those of other recorded processes: the lines SigPnd, ShdPnd, SigBlk, SigIgn and SigCgt of status, and the four
 * numbers of stat that say the same. The kernel has the engine's handlers and masks there; what is read is as it would be without.
 *
 * Such a file is known by what it is, in procfs, and how it begins, so that it does not matter how its descriptor was come by; and one that is opened under its name also
 * where less than its beginning is read at a time. The file itself stays open and keeps its position. What sendfile, splice and io_uring read is the kernel's; so is
 * what is read from elsewhere than the beginning through a descriptor that was not opened under the file's name in this process.
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

/* Is this the beginning of one, that has been read? */
bool tw_status_begins(u64 buffer, i64 bytes);

/* In a new process, which has none of the threads that may have been reading. */
void tw_status_forked(void);

/* What a read of at most n bytes at this offset gives; TW_STATUS_PASS: it is no such file. `moves`: the file's position follows. */
i64 tw_status_read(u64 fd, u64 offset, u64 to, u64 n, bool moves);
#define TW_STATUS_PASS (-513)

#endif
