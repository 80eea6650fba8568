/*
 * Memory over time: how often each piece of memory was read and written in each stretch of a thread's life.
 *
 * A cell is one page in one stretch. Pages begin with the processor's size, 4,096 bytes; whenever there are more than
 * TW_HEAT_CELLS cells, the page size doubles. So a heat map never takes more than about 16 MB, whatever the program
 * touches.
 */
#ifndef TW_HEAT_H
#define TW_HEAT_H

#include <stddef.h>
#include <stdint.h>

enum { TW_HEAT_CELLS = 1 << 17, TW_HEAT_FINEST = 12, TW_HEAT_RECENT = 256 };

struct tw_heat_cell {
	uint64_t page; /* address >> shift */
	uint32_t thread, stretch;
	uint32_t program;       /* of the thread: tw_heat_sorted() sets it */
	uint64_t reads, writes; /* both 0: the place is free */
};

struct tw_heat {
	struct tw_heat_cell *cells; /* open hash of `room` places */
	size_t n, room;
	unsigned shift;
	/* Cells of recently used pages, by page: of one thread and stretch. */
	struct tw_heat_cell *recent[TW_HEAT_RECENT];
	uint32_t thread, stretch;
};

/* 0: no memory. */
int tw_heat_init(struct tw_heat *h);
void tw_heat_free(struct tw_heat *h);

/* What is added next belongs to this stretch of this thread. */
void tw_heat_at(struct tw_heat *h, uint32_t thread, uint32_t stretch);

/* The same as tw_heat_add, for a page that was not used recently. */
int tw_heat_add_other(struct tw_heat *h, uint64_t page, uint64_t reads, uint64_t writes);

/* A number of references to an address. 0: no memory. */
static inline int tw_heat_add(struct tw_heat *h, uint64_t address, uint64_t reads, uint64_t writes)
{
	const uint64_t page = address >> h->shift;
	struct tw_heat_cell *c = h->recent[page % TW_HEAT_RECENT];
	if (!c || c->page != page)
		return tw_heat_add_other(h, page, reads, writes);
	c->reads += reads;
	c->writes += writes;
	return 1;
}

/* Adds all of another, whose pages may be larger. 0: no memory. */
int tw_heat_merge(struct tw_heat *h, const struct tw_heat *more);

/*
 * The n cells, sorted by the program that a thread runs according to program_of(), then by page, thread and stretch.
 * Nothing can be added afterwards.
 */
const struct tw_heat_cell *tw_heat_sorted(struct tw_heat *h, uint32_t (*program_of)(void *context, uint32_t thread), void *context);

#endif
