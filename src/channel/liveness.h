/*
 * Whether a traced thread is gone without a word: the collector asks /proc, where a process in a namespace of its own has another number than the one it
 * knows itself by.
 */
#ifndef TW_LIVENESS_H
#define TW_LIVENESS_H

#include "base/channel.h"

#include <sys/types.h>

/* A thread as the collector has seen it. All 0 to begin with. */
struct tw_seen {
	uint32_t pid, tid; /* in the collector's /proc; 0: not looked for */
	int certain;       /* its memory told that they are these */
	int dead;          /* its process has died, with this status: */
	int32_t wait_status;
	char state;   /* as /proc tells it: R runs; 0: it could not be seen */
	uint64_t cpu; /* time it has computed, in clock ticks */
};

/* The same of a thread that knows itself by `own`, until it has been looked for. */
static inline uint32_t tw_seen_pid(const struct tw_seen *seen, uint32_t own)
{
	return seen->pid ? seen->pid : own;
}

static inline uint32_t tw_seen_tid(const struct tw_seen *seen, uint32_t own)
{
	return seen->pid ? seen->tid : own;
}

/*
 * 1: the thread that has this slot, ACTIVE or RESERVED, runs no more, or executes another program without the engine. Where it was the last of its
 * process, how that ended is noted in *seen. `channel`: inode of the memfd; `namespaces`: tw_control's.
 */
int tw_thread_has_ended(const struct tw_slot *slot, ino_t channel, int namespaces, struct tw_seen *seen);

#endif
