/*
 * Basic block vectors for SimPoint (.bb): what ran in each interval of so many instructions of a thread.
 *
 *     T:1:1024 :7:99634          one line an interval: block id, instructions executed in that block
 *
 * Ids count from 1 in the order in which blocks were first seen, over all threads. An interval ends with the block that fills it; what that has
 * too much belongs to the next one's length. The last line of a thread is a shorter one. The counts of all lines sum up to what the thread executed. What a damaged chunk had is missing in its
 * intervals.
 */
#ifndef TW_SIMPOINT_H
#define TW_SIMPOINT_H

#include <trackway/replay.h>

struct tw_simpoint {
	const struct tw_recording *recording;
	const char
	    *path; /* of the first thread's vectors; those of every other go to "PATH.THREAD" (its serial number). "-": standard output */
	uint64_t interval; /* instructions; not 0 */
};

/* Whether it can be done: standard output is for recordings of one thread. 0 or TW_ERR_SYSTEM, the detail says why. */
int tw_simpoint_check(const struct tw_simpoint *s);

/* Writes the vectors when it ends; its arg is a struct tw_simpoint. Its result is 0, TW_ERR_MEMORY, or TW_ERR_SYSTEM: a file cannot be written, the detail says which and why. */
extern const struct tw_analyzer tw_simpoint_analyzer;

#endif
