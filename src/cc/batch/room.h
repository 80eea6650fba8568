/*
 * The part of a program linked with `trackway cc --batch` besides the run-time part: replay, and the following
 * between that and the run-time part (base/cc_batch.h). One object file (Makefile: trackway-cc-batch.o), whose names
 * are all private except those of <trackway/analyzer.h>.
 */
#ifndef TW_CC_BATCH_ROOM_H
#define TW_CC_BATCH_ROOM_H

#include "channel/demux.h"
#include "replay/walk.h"

/* One thread of the program, or several ended ones with consecutive numbers. */
struct tw_cc_line {
	struct tw_cc_line *next; /* with a higher number */
	uint32_t first, last;
	bool ended;
	void *state;                                 /* the analyzer's */
	uint64_t first_insn, first_block, first_ref; /* so much has been seen */
	uint32_t sequence;                           /* chunks */
};

/* ---- lines.c ---- */

/* The line of this thread, which has a state. NULL: the routine cannot be used, or has stopped, which has been reported. By any thread. */
struct tw_cc_line *tw_cc_line_of(uint32_t serial);

/* Its thread has ended: states of ended threads are merged with those of their neighbours. */
void tw_cc_line_end(struct tw_cc_line *line);

/* The routine's batch(), until a call of the analyzer has returned nonzero. */
int tw_cc_line_batch(struct tw_cc_line *line, const struct tw_batch *b);

/* Forgets all lines without telling the routine: they belong to another process. */
void tw_cc_lines_forget(void);

/* Merges all, and ends the one that is left. */
void tw_cc_lines_end(void);

/* One sentence on standard error. */
void tw_cc_complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
