/*
 * How selected instructions access memory: bytes, distinct cache lines, and the most frequent stride, so that a loop
 * over rows and a loop over columns can be told apart.
 *
 * The stride is the difference to the address that the same thread's last execution of the instruction referenced.
 * The most frequent one is found as in Misra and Gries: a few candidates are counted, and their counts are lower
 * bounds.
 */
#ifndef TW_STRIDES_H
#define TW_STRIDES_H

#include <trackway/replay.h>

struct tw_stride {
	uint64_t pc; /* filled in by the caller, sorted, each once; of all images */
	uint64_t refs, bytes;
	uint64_t lines;  /* distinct ones, of 64 bytes */
	int64_t stride;  /* the most frequent */
	uint64_t strode; /* how often it was, at least */
};

/* Fills in what is said of each of n instructions. `run` as in hot.h, or NULL. 0 or an enum tw_error. */
int tw_strides(const struct tw_recording *r, const struct tw_replay_options *replay, struct tw_stride *items, size_t n);

#endif
