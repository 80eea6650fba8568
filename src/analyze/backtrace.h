/*
 * Backtraces: what a thread did last, and its call stack, by replaying only its last chunks.
 *
 * A call instruction pushes a frame. The frame is removed when a return takes its address from the stack, when
 * another call writes its return address there or above, or when a keyframe shows the stack pointer above it; so
 * frames left by longjmp and exceptions are removed, too. In a recording without references a return is matched by
 * its target. A signal handler's frames are on top of a frame for its signal. What was called before the first
 * replayed chunk is not known.
 */
#ifndef TW_BACKTRACE_H
#define TW_BACKTRACE_H

#include <trackway/replay.h>

/* A call that had not returned, or a signal whose handler had not. */
struct tw_back_frame {
	uint64_t pc;     /* of the instruction that called; of a signal, where it came */
	uint64_t slot;   /* where the return address stands; 0: not known */
	uint64_t back;   /* the return address */
	uint32_t signal; /* its number; 0: a call */
};

/* One of the last blocks. */
struct tw_back_block {
	uint64_t pc;
	const struct tw_descriptor *descriptor;
	uint16_t block, n_insns; /* as in struct tw_block_run */
};

struct tw_backtrace {
	struct tw_back_frame *frames; /* the innermost last */
	size_t n_frames, frames_room;
	int whole;                    /* 1: all of the thread was replayed, so that no frame is missing */
	struct tw_back_block *blocks; /* a ring; tw_backtrace_block gives them in order */
	size_t n_blocks, most_blocks, next_block;
	struct tw_fault fault; /* the last one that was told; number 0: none was */
};

struct tw_backtrace_options {
	size_t blocks;                   /* how many of the last blocks are wanted */
	uint64_t insns;                  /* replay at least this many of the last instructions; 0: as many as the blocks need */
	struct tw_replay_options replay; /* `damage` and its context only */
};

/* Fills *out for a thread of the recording (as in tw_recording_thread); tw_backtrace_free in any case. 0 or an enum tw_error. */
int tw_backtrace(const struct tw_recording *r, size_t thread, const struct tw_backtrace_options *options, struct tw_backtrace *out);
void tw_backtrace_free(struct tw_backtrace *b);

/* Block number i, the earliest first. */
const struct tw_back_block *tw_backtrace_block(const struct tw_backtrace *b, size_t i);

#endif
