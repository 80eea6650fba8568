/*
 * Has a traced thread vanished without notice? The collector looks in /proc, where a process in its own PID namespace
 * has another number than the one it knows.
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
	char state;   /* state from /proc: R runs; 0: unknown */
	uint64_t cpu; /* time it has computed, in clock ticks */
};

/* The same for a thread that knows itself as `own`, until it has been looked up. */
static inline uint32_t tw_seen_pid(const struct tw_seen *seen, uint32_t own)
{
	return seen->pid ? seen->pid : own;
}

static inline uint32_t tw_seen_tid(const struct tw_seen *seen, uint32_t own)
{
	return seen->pid ? seen->tid : own;
}

/*
 * 1: the thread that has this slot, ACTIVE or RESERVED, no longer runs, or executes another program without the
 * engine. If it was the last of its process, *seen notes how that ended. `channel`: inode of the memfd; `namespaces`:
 * tw_control's.
 */
int tw_thread_has_ended(const struct tw_slot *slot, ino_t channel, int namespaces, struct tw_seen *seen);

#endif
