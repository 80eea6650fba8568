/*
 * Basic block vectors for SimPoint (.bb): what ran in each interval of so many instructions of a thread.
 *
 *     T:1:1024 :7:99634          one line an interval: block id, instructions executed in that block
 *
 * Ids count from 1 in the order in which blocks were first seen, over all threads. An interval ends with the block that fills it; what that has
 * too much belongs to the next one's length. The last line of a thread is a shorter one. The counts of all lines sum up to what the thread executed.
 */
#ifndef TW_SIMPOINT_H
#define TW_SIMPOINT_H

#include <trackway/replay.h>

/*
 * Replays `r` and writes the vectors of its first thread to the file `path`, of every other to "PATH.THREAD" (its serial number); "-" is standard
 * output, for a recording of one thread. 0, a negative enum tw_error (TW_ERR_SYSTEM: a file cannot be written, the detail says which and why), or what
 * options->damage returned.
 */
int tw_simpoint(const struct tw_recording *r, const struct tw_replay_options *options, const char *path, uint64_t interval);

#endif
