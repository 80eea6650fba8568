/*
 * What a program carries, besides the run-time part, that was linked with `trackway cc --batch`: replay, and between that and the run-time part (base/cc_batch.h) the following.
 * Made one object file (Makefile: trackway-cc-batch.o), all of whose names but those of <trackway/analyzer.h> are its own.
 */
#ifndef TW_CC_BATCH_ROOM_H
#define TW_CC_BATCH_ROOM_H

#include "channel/demux.h"
#include "replay/walk.h"

/* One thread of the program, or several that have ended, numbered one right after the other. */
struct tw_cc_line {
	struct tw_cc_line *next; /* with a higher number */
	uint32_t first, last;
	bool ended;
	void *state;                                 /* the analyzer's */
	uint64_t first_insn, first_block, first_ref; /* so much has been seen */
	uint32_t sequence;                           /* chunks */
};

/* ---- lines.c ---- */

/* The line of this thread, which has a state. NULL: the routine cannot be used, or has stopped, and that has been said. By any thread. */
struct tw_cc_line *tw_cc_line_of(uint32_t serial);

/* Its thread has ended: states of threads that have ended are merged with those of their neighbours. */
void tw_cc_line_end(struct tw_cc_line *line);

/* The routine's batch(), until one call of the analyzer's has not returned 0. */
int tw_cc_line_batch(struct tw_cc_line *line, const struct tw_batch *b);

/* Forgets all lines, without a word to the routine: they are of another process. */
void tw_cc_lines_forget(void);

/* Merges all, and ends the one that is left. */
void tw_cc_lines_end(void);

/* One sentence on standard error. */
void tw_cc_complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
