/*
 * What machine code counts instead of listing it: executions of stretches, and touched lines.
 *
 * Both are tables at a fixed distance after the walk, so that code finds them by a register that it has anyway: 32
 * bits for each stretch, by number; and a byte for each possible line, of which only the touched parts take memory.
 * At the end of each period the tables are emptied into lists in the batch.
 */
#ifndef TW_REPLAY_COUNTED_H
#define TW_REPLAY_COUNTED_H

#include <stddef.h>
#include <stdint.h>
#include <trackway/analyzer.h>

struct tw_walk;

/* Where the tables are, in bytes from the walk. */
enum { TW_COUNTS_AT = 1 << 30, TW_LINES_AT = TW_COUNTS_AT + (1 << 29) };

/* The address bits that identify its line: this many, from the lowest of them on. */
enum { TW_COUNTED_LINE = 6, TW_COUNTED_LINE_BITS = 42, TW_COUNTED_CUT = TW_COUNTED_LINE_BITS << 8 | TW_COUNTED_LINE };

/*
 * Maximum period, as counts have 32 bits. With one shorter than the minimum nothing is counted, since most executions
 * would be done step by step.
 */
enum { TW_PERIOD_MOST = 1 << 30, TW_PERIOD_LEAST = 1 << 16 };

/* References listed until the batch is full; those of one more fragment may follow. */
enum { TW_ODD = 2048, TW_ODD_ROOM = TW_ODD + 8192 };

struct tw_counted {
	int is_on, lines_fd; /* executions are counted; -1: lines are not */
	size_t bytes;        /* of all */
	uint64_t period;     /* of the analyzer; 0: none */
	uint64_t period_end; /* no counted execution extends beyond this instruction of the thread */
	struct tw_odd *odd;  /* next to be written, in `odds` */
	const struct tw_odd *odd_limit;
	const uint64_t *addr_limit; /* walk's, as code has it */
	const uint32_t *newest;     /* number of a stretch */
	struct tw_odd *odds;
	struct tw_counted_run *runs; /* lists for the batch */
	struct tw_touched_page *pages;
	size_t runs_room, pages_room;
};

/* Is there address space for this many simultaneous counting walks; and can this machine mark lines in them? */
int tw_counted_can_count(unsigned walks);
int tw_counted_can_mark(unsigned walks);

/* A walk of this many bytes, all zeros, that counts, or marks lines. NULL: no memory. */
struct tw_walk *tw_counted_walk_new(size_t bytes, int lines, struct tw_counted *counted);
void tw_counted_walk_free(struct tw_walk *w, struct tw_counted *counted);

/*
 * Empties the table into the list, and returns the list's length, or TW_ERR_MEMORY: executions of stretches with
 * numbers below n; pages with touched lines.
 */
long tw_counted_take_runs(struct tw_walk *w, struct tw_counted *counted, const struct tw_stretch *stretches, uint32_t n);
long tw_counted_take_pages(struct tw_walk *w, struct tw_counted *counted);

#endif
