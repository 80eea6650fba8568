/*
 * Lets recorded processes go on natively, while they run (base/leave.h; `trackway stop`).
 *
 * Threads are stopped one at a time (ptrace) while the others run, and brought to where they park: one in translated code by the engine, which knows its program's registers there;
 * one in a system call of its program's as it is; one in the engine as soon as it comes out. Those that have parked hold nothing that others could wait for. When all have, nothing of the
 * engine is needed any more: its memory is unmapped, and each thread goes on in its program's own code; one in a system call waits on there, for what is left of its time.
 */
#ifndef TW_DETACH_H
#define TW_DETACH_H

#include "base/channel.h"

#include <sys/types.h>

/* What was let go. */
struct tw_detached {
	unsigned processes, threads;
};

/* All that are recorded by way of this channel. 0, or -1 with one sentence in `why`: what is left goes on being recorded. */
int tw_detach_all(const struct tw_control *control, struct tw_detached *done, char *why, size_t size);

#endif
