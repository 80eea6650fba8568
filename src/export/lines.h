/*
 * A recording as lines of text: references, blocks, or what Valgrind's Lackey would print.
 *
 *     references   TID PC TYPE ADDR SIZE     1 7f0012a4 R 7ffc1230 8
 *                  TID PC TYPE ADDR SIZE faulted   an access that was not made, where it should have been; TYPE X: it was to be executed
 *     blocks       TID PC INSNS ENDING       1 7f0012a4 5 cond
 *     lackey       as `valgrind --tool=lackey --trace-mem=yes`
 *     champsim     records of 64 bytes of one thread (champsim.h): no text
 *
 * TID is the number of the thread in the recording, decimal. PC and ADDR are hexadecimal without 0x and without leading zeros; SIZE and INSNS
 * are decimal. TYPE is R, W, or M for a modify. ENDING is how the block ends, or `stopped` when a signal or a fault cut it short.
 */
#ifndef TW_LINES_H
#define TW_LINES_H

#include <trackway/replay.h>

enum tw_lines_kind { TW_LINES_REFS, TW_LINES_BLOCKS, TW_LINES_LACKEY, TW_LINES_CHAMPSIM };

struct tw_lines_options {
	enum tw_lines_kind kind;
	int fd;
	unsigned jobs;
	int64_t one_thread; /* only this thread (by its serial number); -1: all, one after another */
	uint64_t last;      /* only the last so many of each thread; 0: `from` and `count` apply */
	uint64_t from,
	    count; /* of references, blocks or (lackey, champsim) instructions, without accesses not made; UINT64_MAX: to the end */
	int (*damage)(void *context, size_t thread, size_t chunk, int error); /* as in struct tw_replay_options */
	void *context;
};

/* A positive result of tw_lines: writing failed; errno has the reason. */
enum { TW_LINES_WRITE = 1 };

/* Writes the lines. 0, a negative enum tw_error, what damage() returned, or TW_LINES_WRITE. */
int tw_lines(const struct tw_recording *r, const struct tw_lines_options *options);

/* Name of an enum tw_end. */
const char *tw_end_name(unsigned end);

#endif
