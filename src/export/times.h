/*
 * The events of a recording that have a time, of all threads, in the order of their times: one line each.
 *
 *     TIME THREAD PC KIND [DETAIL...]
 *
 * TIME: cycles of the time stamp counter since the start of the recording. PC: hexadecimal, "-" where the event has none. KIND and DETAIL:
 *     lock-before lock-after mfence-... lfence-... sfence-...   a STAMP
 *     syscall NUMBER BEGAN NAME                                 BEGAN: the time before the call; TIME is after it
 *     keyframe                                                  a buffer begins, or a signal's handler does, or it returned
 *     thread-start PID TID, thread-end, fork PID TID, program PATH, child-end PID STATUS, window-open, window-closed (and `budget`, or `buffer`, where that was the reason)
 */
#ifndef TW_TIMES_H
#define TW_TIMES_H

#include "base/text.h"
#include <trackway/recording.h>

/*
 * Or only system calls, with names, arguments and results:
 *
 *     SECONDS THREAD PID/TID CALL(ARGUMENTS) = RESULT <SECONDS> FUNCTION
 *
 * When the call was made, by which thread, how long it took, and in which function (of which file). Cycles instead of
 * seconds if the recording does not have their rate.
 */
struct tw_names;
struct tw_times_options {
	struct tw_names *syscalls; /* only system calls; NULL: all events that have a time */

	int64_t one_thread;   /* serial number; -1: all */
	uint64_t from, count; /* lines: leave out so many, print at most so many */
	/* A chunk cannot be read: non-zero: stop with this result. As in struct tw_replay_options. */
	int (*damage)(void *context, size_t thread, size_t chunk, int error);
	void *context;
};

/*
 * Holds the events of one chunk of each thread at a time. Returns 0, a negative enum tw_error (TW_ERR_COUNT_ONLY,
 * TW_ERR_NOTHING: no streams), or the negative of what damage() returned; failed writes are in *t.
 */
int tw_times_print(struct tw_text *t, const struct tw_recording *r, const struct tw_times_options *options);

#endif
