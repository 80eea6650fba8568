/*
 * Basic block vectors for SimPoint (.bb): what ran in each interval of so many instructions of a thread.
 *
 *     T:1:1024 :7:99634          one line an interval: block id, instructions executed in that block
 *
 * Ids count from 1 in order of first appearance, over all threads. An interval ends with the block that fills it; the
 * excess counts towards the next interval's length. The last line of a thread is shorter. The counts of all lines add
 * up to what the thread executed, except for damaged chunks, which are missing in their intervals.
 */
#ifndef TW_SIMPOINT_H
#define TW_SIMPOINT_H

#include <trackway/replay.h>

struct tw_simpoint {
	const struct tw_recording *recording;
	const char *path; /* for the first thread's vectors; other threads' go to "PATH.THREAD" (its serial number). "-": standard output */
	uint64_t interval; /* instructions; not 0 */
};

/* Whether it is possible: standard output works only for recordings of one thread. 0 or TW_ERR_SYSTEM with the reason as detail. */
int tw_simpoint_check(const struct tw_simpoint *s);

/*
 * Writes the vectors at its end; its arg is a struct tw_simpoint. Its result is 0, TW_ERR_MEMORY, or TW_ERR_SYSTEM
 * with the failed file and the reason as detail.
 */
extern const struct tw_analyzer tw_simpoint_analyzer;

#endif
