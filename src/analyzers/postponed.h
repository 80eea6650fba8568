/*
 * What a thread did and that is postponed, since another thread's part, which came before, has not arrived yet:
 * copies of batches.
 *
 * A spinning loop makes the same accesses again and again: of equal iterations that write nothing relevant, two are
 * kept.
 */
#ifndef TW_POSTPONED_H
#define TW_POSTPONED_H

#include <trackway/analyzer.h>

/* A write, in a postponed part, that other threads may wait for. */
struct tw_postponed_write {
	uint64_t addr;
	size_t ref; /* index in the part */
};

/* A part of a thread's execution, expanded: as in a batch, or kept. */
struct tw_part {
	const struct tw_block_run *blocks;
	const struct tw_ref *refs;
	const struct tw_event *events;
	size_t n_blocks, n_refs, n_events;
	size_t block, event;               /* so far it has been looked at */
	size_t ref;                        /* ... of the block's references */
	struct tw_postponed_write *writes; /* those of `wanted`, in their order */
	size_t n_writes, write;            /* write: the first that is still to come */
	int closed;                        /* everything that other threads did before it ended has been delivered */
	uint64_t due;                      /* the time from which that holds in any case; 0: not known */
};

struct tw_part tw_part_of(const struct tw_batch *b);

/* The references of block i end before this one. */
static inline size_t tw_part_refs_end(const struct tw_part *p, size_t i)
{
	return i + 1 < p->n_blocks ? p->blocks[i + 1].first_ref : p->n_refs;
}

/* How many writes to an address are still to come. */
struct tw_postponed_count {
	uint64_t addr;
	size_t n;
	int used;
};

/* Parts in their order. All zeros: none. */
struct tw_postponed {
	struct tw_part *parts;
	size_t n, first, room;
	struct tw_postponed_count *counts; /* open hash */
	size_t n_counts, counts_room;
	size_t bytes; /* of all parts */
};

/* Is it a write that other threads may wait for? */
struct tw_postponed_wanted {
	int (*is)(void *context, const struct tw_block_run *run, const struct tw_ref *r);
	void *context;
};

/* Keeps a copy of what is left of the part. 0 or TW_ERR_MEMORY. */
int tw_postponed_add(struct tw_postponed *p, const struct tw_part *part, const struct tw_postponed_wanted *wanted);

/* The first part has been processed up to its reference `ref`: earlier writes will not come any more. */
void tw_postponed_pass(struct tw_postponed *p, size_t ref);

/* Writes to the address that are still to come. */
size_t tw_postponed_writes(const struct tw_postponed *p, uint64_t addr);

/* The parts that are there now are closed. */
void tw_postponed_close(struct tw_postponed *p);

/* ... will be at this time, at the latest. */
void tw_postponed_close_at(struct tw_postponed *p, uint64_t due);

/* It is this time: closes parts that are due. *next: lowered to the time at which the next one is. Was one closed? */
int tw_postponed_close_due(struct tw_postponed *p, uint64_t now, uint64_t *next);

/* The first part, for further processing; NULL: there is none. And it is finished. */
struct tw_part *tw_postponed_first(const struct tw_postponed *p);
void tw_postponed_drop(struct tw_postponed *p);
void tw_postponed_free(struct tw_postponed *p);

#endif
