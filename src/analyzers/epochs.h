/*
 * Who accessed each byte of memory last, in the sense of FastTrack (Flanagan and Freund, PLDI 2009): for each 8 bytes the accesses that a later one could still race with. An access is
 * an epoch: a thread, and that thread's own clock. One that another thread's clocks know of happened before.
 *
 * An access is dropped when a later one stands for it: whatever races with the dropped one later races with that too. So mostly one write or one read is left.
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
	uint32_t thread, clock;
	uint32_t path;  /* of calls */
	uint16_t locks; /* number of a set */
	uint8_t mask;   /* of the 8 bytes */
	uint8_t flags;  /* TW_EPOCH_... */
};

enum { TW_EPOCH_OWN = 2 };

struct tw_epoch_word {
	struct tw_epoch_access own[TW_EPOCH_OWN];
	struct tw_epoch_access *more; /* those behind the first two */
	uint8_t n, room;              /* room: of `more` */
	uint8_t atomic;               /* bytes that were accessed by atomic instructions */
	uint8_t waited;               /* bytes that threads wait at, whatever the source says: guards, futexes */
	uint8_t reserved[4];
}; /* 64 bytes: a line of the processor's */

enum { TW_EPOCH_PAGE = 4096, TW_EPOCH_WORDS = TW_EPOCH_PAGE / 8 };

/* Bytes of a page that a thread has read and written within its newest epoch and while it held the same locks: the same again adds nothing. */
struct tw_epoch_seen {
	uint64_t epoch; /* tw_epoch_number; 0: nothing is known */
	uint32_t locks;
	uint64_t read[TW_EPOCH_PAGE / 64], written[TW_EPOCH_PAGE / 64]; /* a bit for each byte; what was written counts as read */
};

enum { TW_EPOCH_SEERS = 4 };

struct tw_epoch_page {
	_Alignas(64) struct tw_epoch_word words[TW_EPOCH_WORDS];
	uint64_t key;                              /* tw_page_key */
	void *memory;                              /* that it lies in */
	struct tw_epoch_seen seen[TW_EPOCH_SEERS]; /* by the lowest bits of the thread's index */
};

static inline uint64_t tw_epoch_number(size_t thread, uint32_t clock)
{
	return (uint64_t)(thread + 1) << 32 | clock;
}

/* Does the access lie in 64 bytes that one word of bits stands for? */
static inline int tw_epoch_is_narrow(uint64_t addr, uint32_t size)
{
	return addr % 64 + size <= 64 && size - 1 < 64;
}

/* Has a `seen`, which is of this epoch, all of a narrow access? */
static inline int tw_epoch_has_seen(const struct tw_epoch_seen *seen, uint64_t addr, uint32_t size, int write)
{
	const uint64_t *of = write ? seen->written : seen->read;
	const uint64_t bits = ~0ull >> (64 - size) << addr % 64;
	return (of[addr % TW_EPOCH_PAGE / 64] & bits) == bits;
}

/* A narrow access was added that is not atomic, on bytes that no atomic instruction accessed. */
void tw_epoch_see(struct tw_epoch_seen *seen, uint64_t epoch, uint32_t locks, uint64_t addr, uint32_t size, int write);

/* All zeros: nothing was accessed. */
struct tw_epoch {
	struct tw_epoch_page **pages;
	size_t n, room;
	void **slabs; /* where pages lie, side by side */
	size_t n_slabs, slabs_room;
	struct tw_epoch_page *free; /* so many of the newest slab are free */
	size_t n_free;
	struct {
		uint64_t key;
		struct tw_epoch_page *page;
	} recent[64];
};

/* The page of `addr`, which stays where it is; the 8 bytes at `addr`. NULL: no memory. */
struct tw_epoch_page *tw_epoch_page(struct tw_epoch *s, uint32_t program, uint64_t addr);
struct tw_epoch_word *tw_epoch_word(struct tw_epoch *s, uint32_t program, uint64_t addr);

/*
 * Adds an access. Calls race() for each earlier one that is not known to `clocks`, of another thread, on common bytes, one of the two a write, and not both atomic.
 * 0, TW_ERR_MEMORY, or what race() returned.
 */
int tw_epoch_add(struct tw_epoch_word *w, const struct tw_epoch_access *a, const struct tw_clocks *clocks,
                 int (*race)(void *context, const struct tw_epoch_access *earlier, const struct tw_epoch_access *later), void *context);

/* Forgets what was accessed in [start, end): it is other memory from now on. */
void tw_epoch_forget(struct tw_epoch *s, uint32_t program, uint64_t start, uint64_t end);

void tw_epoch_free(struct tw_epoch *s);

#endif
