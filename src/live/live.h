/*
 * Analyzers that run while the program runs: a process of their own gets all buffers from the collector as they come
 * (channel/feed.h), and replays each once for all analyzers. So an analyzer that crashes or takes all memory loses
 * only its own answer, neither the program nor the stored recording.
 *
 * What must hold: buffers of one traced thread are replayed in order, one after another, and each analyzer has one
 * state for each thread; different threads are replayed in parallel. When a thread has ended, its states are merged
 * with those of ended threads whose numbers are adjacent. So there are never more than twice as many states as
 * running threads (plus one for each number under which no thread has told anything). While batches are analyzed, the
 * data about the program (struct tw_recording, struct tw_programs) does not change: all walks share a lock on it.
 *
 * Analyzers that need names, or all threads in the order of time, replay the buffers after the program has ended:
 * these are kept as they came (tw_recording_live_keep), which is faster than encoding and decoding them.
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
	    *requests; /* those that analyze buffers as they come, then those that replay everything after the program has ended */
	size_t n, n_kept;
	uint64_t most_kept;                   /* bytes of buffers kept in memory for the latter; the rest goes into a file */
	const struct tw_recording_info *info; /* as in a recording that is not closed yet */
	unsigned jobs;
	int yields; /* 1: the process works when its processors are otherwise idle (base/helper_thread.h) */
	/* In the new process: an answer is complete; ends it and closes the stream. Returns 0, or not 0 after reporting an error. */
	int (*end)(struct tw_live_request *r, struct tw_answer *answer);
	/* Likewise for the second kind: replays what was kept, and answers. */
	int (*replay)(struct tw_live_request *r, struct tw_recording *recording);
};

/* Creates the process; only while this one has a single thread. From then on, the feed is the collector's. 0 or TW_ERR_SYSTEM. */
int tw_live_start(const struct tw_live_options *options, struct tw_feed *feed, pid_t *pid);

/* Exit status of a process of analyzers: all have answered, or an error has been reported. */
enum { TW_LIVE_ANSWERED = 100, TW_LIVE_WRONG };

/* Waits for its end, after tw_feed_end. Reports on stderr if it was killed, or an analyzer ended it. 0: every analyzer has answered. */
int tw_live_wait(pid_t pid);

/*
 * Runs an analyzer in one more process, since it may crash, and waits for it. `run` and this function return 0, or
 * not 0 after reporting an error.
 */
int tw_live_apart(const char *name, int (*run)(void *arg), void *arg);

#endif
