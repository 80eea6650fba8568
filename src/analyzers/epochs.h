/*
 * The last accesses to each byte of memory, as in FastTrack (Flanagan and Freund, PLDI 2009): for each line of 64
 * bytes the accesses with which a later one could still race. An access is an epoch: a thread, and that thread's own
 * clock. An access that another thread's clocks include happened before.
 *
 * An access is dropped, for the bytes they have in common, when a later one subsumes it: whatever races with the
 * dropped one later also races with that. All accesses of one instruction to a line in one epoch count as one. So
 * usually a line has one or a few.
 */
#ifndef TW_EPOCHS_H
#define TW_EPOCHS_H

#include "analyzers/clocks.h"

enum {
	TW_EPOCH_WRITE = 1,
	TW_EPOCH_ATOMIC = 2,
	TW_EPOCH_OF_THREAD = 4
}; /* OF_THREAD: no race with what the thread itself does, in whichever task */

struct tw_epoch_access {
	uint64_t pc;
	uint64_t mask; /* of the line's bytes */
	uint32_t thread, clock;
	uint32_t path;  /* of calls */
	uint16_t locks; /* number of a set */
	uint8_t flags;  /* TW_EPOCH_... */
};

enum { TW_EPOCH_PAGE = 4096, TW_EPOCH_LINE = 64, TW_EPOCH_LINES = TW_EPOCH_PAGE / TW_EPOCH_LINE };

struct tw_epoch_line {
	struct tw_epoch_access first;
	struct tw_epoch_access *more; /* those behind it, in memory of struct tw_epoch_rooms */
	uint16_t n, room;             /* room: of `more`; 0, or 2, 4, 8... */
	uint32_t reserved;
	uint64_t atomic; /* bytes that were accessed by atomic instructions */
	uint64_t waited; /* bytes that threads wait at, whatever the source says: guards, futexes */
};                       /* 64 bytes: a line of the processor's */

struct tw_epoch_page {
	_Alignas(64) struct tw_epoch_line lines[TW_EPOCH_LINES];
	uint64_t key; /* tw_page_key */
};

/*
 * Bytes of a line that the thread of an access has read and written in the access's epoch, with the same locks, by
 * accesses that are atomic if it is: repeating these adds nothing.
 */
struct tw_epoch_seen {
	uint64_t read, written; /* what was written counts as read */
};

static inline uint64_t tw_epoch_number(size_t thread, uint32_t clock)
{
	return (uint64_t)(thread + 1) << 32 | clock;
}

/* Memory for the accesses of lines, whose capacity doubles now and then: blocks are side by side, on huge pages if there are many. */
enum { TW_EPOCH_ROOMS = 11 };
struct tw_epoch_rooms {
	struct tw_epoch_access *unused[TW_EPOCH_ROOMS]; /* for 2, 4, 8... accesses; the first word of each leads to the next */
	struct tw_epoch_access *next;                   /* in the newest slab so many are free */
	size_t left;
	void **slabs;
	size_t n, room;
};

/* All zeros: nothing was accessed. */
struct tw_epoch {
	struct tw_epoch_page **pages;
	size_t n, room;
	void **slabs; /* where pages lie, side by side */
	size_t n_slabs, slabs_room;
	struct tw_epoch_page *free; /* so many of the newest slab are free */
	size_t n_free;
	struct tw_epoch_rooms rooms;
	struct {
		uint64_t key;
		struct tw_epoch_page *page;
	} recent[64];
};

/* The page of `addr`, which stays where it is. NULL: no memory. */
struct tw_epoch_page *tw_epoch_page(struct tw_epoch *s, uint32_t program, uint64_t addr);

/*
 * Adds an access. Calls race() for each earlier one that `clocks` does not include, of another thread, on common
 * bytes, one of the two a write, and not both atomic. *seen: with this one. 0, TW_ERR_MEMORY, or what race()
 * returned.
 */
int tw_epoch_add(struct tw_epoch *s, struct tw_epoch_line *l, const struct tw_epoch_access *a, const struct tw_clocks *clocks,
                 struct tw_epoch_seen *seen,
                 int (*race)(void *context, const struct tw_epoch_access *earlier, const struct tw_epoch_access *later), void *context);

/* Forgets what was accessed in [start, end): it is other memory from now on. */
void tw_epoch_forget(struct tw_epoch *s, uint32_t program, uint64_t start, uint64_t end);

void tw_epoch_free(struct tw_epoch *s);

#endif
