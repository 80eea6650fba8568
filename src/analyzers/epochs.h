/*
 * Who accessed each byte of memory last, in the sense of FastTrack (Flanagan and Freund, PLDI 2009): for each 8 bytes the accesses that a later one could still race with. An access is
 * an epoch: a thread, and that thread's own clock. One that another thread's clocks know of happened before.
 *
 * An access is dropped when a later one stands for it: whatever races with the dropped one later races with that too. So mostly one write or one read is left.
 */
#ifndef TW_EPOCHS_H
#define TW_EPOCHS_H

#include "analyzers/clocks.h"

enum { TW_EPOCH_WRITE = 1, TW_EPOCH_ATOMIC = 2, TW_EPOCH_TOLD = 4 };

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
};

struct tw_epoch_page;

/* All zeros: nothing was accessed. */
struct tw_epoch {
	struct tw_epoch_page **pages;
	size_t n, room;
	struct {
		uint64_t key;
		struct tw_epoch_page *page;
	} recent[64];
};

/* The 8 bytes at `addr`. NULL: no memory. */
struct tw_epoch_word *tw_epoch_word(struct tw_epoch *s, uint32_t process, uint64_t addr);

/*
 * Adds an access. Calls race() for each earlier one that is not known to `clocks`, of another thread, on common bytes, one of the two a write, and not both atomic.
 * 0, TW_ERR_MEMORY, or what race() returned.
 */
int tw_epoch_add(struct tw_epoch_word *w, const struct tw_epoch_access *a, const struct tw_clocks *clocks,
                 int (*race)(void *context, const struct tw_epoch_access *earlier, const struct tw_epoch_access *later), void *context);

/* Forgets what was accessed in [start, end): it is other memory from now on. */
void tw_epoch_forget(struct tw_epoch *s, uint32_t process, uint64_t start, uint64_t end);

size_t tw_epoch_bytes(const struct tw_epoch *s);
void tw_epoch_free(struct tw_epoch *s);

#endif
