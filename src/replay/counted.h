/*
 * What machine code counts in the place of listing it: executions of stretches, and lines that are touched.
 *
 * Both are tables that lie at a fixed distance behind the walk, so that code finds them by the register it has anyway: 32 bits for each stretch, by number; and a byte for
 * each line there may be, of which only those parts take memory that are touched. At the end of each period the tables are emptied into lists, which the batch has.
 */
#ifndef TW_REPLAY_COUNTED_H
#define TW_REPLAY_COUNTED_H

#include <stddef.h>
#include <stdint.h>
#include <trackway/analyzer.h>

struct tw_walk;

/* Where the tables are, in bytes from the walk. */
enum { TW_COUNTS_AT = 1 << 30, TW_LINES_AT = TW_COUNTS_AT + (1 << 29) };

/* The bits of an address that tell its line: so many, from the lowest of them on. */
enum { TW_COUNTED_LINE = 6, TW_COUNTED_LINE_BITS = 42, TW_COUNTED_CUT = TW_COUNTED_LINE_BITS << 8 | TW_COUNTED_LINE };

/* A period is no longer, as counts have 32 bits. With a shorter one than the second nothing is counted: most would be by steps. */
enum { TW_PERIOD_MOST = 1 << 30, TW_PERIOD_LEAST = 1 << 16 };

/* References that are listed until the batch is full; one fragment more may come behind. */
enum { TW_ODD = 2048, TW_ODD_ROOM = TW_ODD + 8192 };

struct tw_counted {
	int is_on, lines_fd; /* executions are counted; -1: lines are not */
	size_t bytes;        /* of all */
	uint64_t period;     /* of the analyzer; 0: none */
	uint64_t period_end; /* no execution that is counted goes beyond this instruction of the thread */
	struct tw_odd *odd;  /* next to be written, in `odds` */
	const struct tw_odd *odd_limit;
	const uint64_t *addr_limit; /* walk's, as code has it */
	const uint32_t *newest;     /* number of a stretch */
	struct tw_odd *odds;
	struct tw_counted_run *runs; /* lists for the batch */
	struct tw_touched_page *pages;
	size_t runs_room, pages_room;
};

/* Whether there is address space for so many walks at once that count; and whether this machine can mark lines in them. */
int tw_counted_can_count(unsigned walks);
int tw_counted_can_mark(unsigned walks);

/* A walk of so many bytes, all zeros, that counts, or marks lines. NULL: no memory. */
struct tw_walk *tw_counted_walk_new(size_t bytes, int lines, struct tw_counted *counted);
void tw_counted_walk_free(struct tw_walk *w, struct tw_counted *counted);

/* Empties the table into the list, and returns how many it has, or TW_ERR_MEMORY: executions of stretches with numbers below n; pages of which lines were touched. */
long tw_counted_take_runs(struct tw_walk *w, struct tw_counted *counted, const struct tw_stretch *stretches, uint32_t n);
long tw_counted_take_pages(struct tw_walk *w, struct tw_counted *counted);

#endif
