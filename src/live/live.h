/*
 * Analyzers while the program runs: a process of their own, which gets all buffers from the collector as they come (channel/feed.h) and replays each once for all
 * analyzers. So an analyzer that crashes, or takes all memory, costs its own answer only: neither the program nor what is stored of it.
 *
 * What must hold: buffers of one traced thread are replayed one after another, in their order, and each analyzer has one state for each thread; those of different
 * threads are replayed side by side. Where a thread has ended its states are merged with those of the threads numbered right before and after it that have
 * ended too, so that there are never more than twice as many states as threads that run (and one for each number that no thread has told anything under). While
 * batches are looked at, what is known of the program (struct tw_recording, struct tw_programs) does not change: it is under a lock that all walks share.
 *
 * Analyzers that want all threads in the order of time, or names, replay the buffers when the program has ended: they are kept as they came (tw_recording_live_keep), which takes less time than to
 * encode them and decode them again.
 */
#ifndef TW_LIVE_H
#define TW_LIVE_H

#include "channel/feed.h"
#include "export/outfile.h"
#include "plugin/request.h"

#include <sys/types.h>

/* One analyzer. */
struct tw_live_request {
	struct tw_request request;
	struct tw_outfile to; /* where its answer goes */
};

struct tw_live_options {
	struct tw_live_request
	    *requests; /* those that look at buffers as they come, and then those that replay all when the program has ended */
	size_t n, n_kept;
	uint64_t most_kept;                   /* bytes of buffers that are kept for these in memory; what is more goes into a file */
	const struct tw_recording_info *info; /* as in a recording that is not closed yet */
	unsigned jobs;
	int yields; /* 1: the process works when nobody else wants its processors (base/helper_thread.h) */
	/* In the new process: an answer is complete; ends it and closes the stream. Returns 0, or that something was wrong, after having said it. */
	int (*end)(struct tw_live_request *r, struct tw_answer *answer);
	/* Likewise: has one of the second kind replay what was kept, and answer. */
	int (*replay)(struct tw_live_request *r, struct tw_recording *recording);
};

/* Makes the process. While this one has one thread. The feed is the collector's from then on. 0 or TW_ERR_SYSTEM. */
int tw_live_start(const struct tw_live_options *options, struct tw_feed *feed, pid_t *pid);

/* How a process of analyzers ends by itself: all have answered, or something was wrong, which has been said. */
enum { TW_LIVE_ANSWERED = 100, TW_LIVE_WRONG };

/* Waits for its end, after tw_feed_end. Says on stderr if it was killed, or an analyzer ended it. 0: every analyzer has answered. */
int tw_live_wait(pid_t pid);

/* Runs an analyzer in one more process, as it may crash, and waits for that. `run` returns 0, or that something was wrong, which has been said, and so does this. */
int tw_live_apart(const char *name, int (*run)(void *arg), void *arg);

#endif
