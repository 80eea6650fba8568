/*
 * Lets recorded processes continue natively while they run (base/leave.h; `trackway stop`).
 *
 * Threads are stopped one at a time (ptrace), while the others run, and brought to where they park. A thread in
 * translated code is brought there by the engine, which knows its program's registers; a thread in a system call of
 * its program as it is; a thread in the engine as soon as it leaves it. Parked threads hold nothing that others could
 * wait for. When all are parked, the engine is no longer needed: its memory is unmapped, and each thread continues in
 * its program's own code. A thread in a system call waits on, for the rest of its time.
 */
#ifndef TW_DETACH_H
#define TW_DETACH_H

#include "base/channel.h"

#include <sys/types.h>

/* What was let go. */
struct tw_detached {
	unsigned processes, threads;
};

/* All processes recorded through this channel. 0, or -1 with one sentence in `why`: the remaining ones are still recorded. */
int tw_detach_all(const struct tw_control *control, struct tw_detached *done, char *why, size_t size);

#endif
