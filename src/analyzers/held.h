/*
 * Locks that a thread holds, from the calls that take and release them: mutexes, spin locks, rwlocks, OpenMP's locks
 * and critical sections. A lock is identified by its address. A lock that its holder takes again is released when it
 * has been released as often.
 */
#ifndef TW_HELD_H
#define TW_HELD_H

#include "analyzers/calling.h"
#include "names/names.h"

enum { TW_HELD_CRITICAL = 1 }; /* stands for the address of OpenMP's critical section without a name */

struct tw_held_lock {
	uint64_t addr;
	uint64_t asked, taken; /* times */
	uint32_t path;         /* of calls, to where it was taken: the caller's to fill in */
	uint32_t times;
	uint8_t shared; /* others may hold it, too */
};

struct tw_held {
	struct tw_held_lock *items; /* in the order in which they were taken */
	size_t n, room;
};

enum tw_held_change { TW_HELD_NOTHING, TW_HELD_ASKED, TW_HELD_TAKEN, TW_HELD_REFUSED, TW_HELD_GIVEN };

struct tw_held_step {
	enum tw_held_change change;
	struct tw_held_lock lock; /* TAKEN: as it stands last in items; GIVEN: as it stood there */
	int tries;                /* ASKED: it may be refused at once */
};

/* A call was entered or left. 0 or TW_ERR_MEMORY. */
int tw_held_take(struct tw_held *h, const struct tw_calling_step *call, struct tw_held_step *step);
void tw_held_free(struct tw_held *h);

/* The name of a lock by its address: that of its variable, "critical", or the address. */
void tw_held_name(struct tw_names *names, uint32_t image, uint64_t lock, char *to, size_t size);

#endif
