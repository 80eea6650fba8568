/*
 * What threads have learned through locks, conditions and the like from threads that had read an atomic variable
 * before: to determine later what else the atomic variables may have passed on (race_possible.c). Clocks are vector
 * clocks, by owner.
 */
#ifndef TW_HEARD_H
#define TW_HEARD_H

#include "analyzers/clocks.h"

/* From its clock `clock` on, who had learned it knew what the other had done until its clock `until`. */
struct tw_heard_step {
	uint32_t clock, other, until;
};

struct tw_heard_list {
	struct tw_heard_step *steps;
	size_t n, room;
};

struct tw_heard {
	uint32_t *read_since; /* by whose: its clock, and 1, when it first read an atomic variable; 0: it has not */
	struct tw_heard_list *lists;
	size_t n; /* clocks */
};

/* 0 or TW_ERR_MEMORY; tw_heard_free in any case. */
int tw_heard_init(struct tw_heard *l, size_t n);
void tw_heard_free(struct tw_heard *l);

static inline void tw_heard_read(struct tw_heard *l, size_t who, uint32_t clock)
{
	if (!l->read_since[who])
		l->read_since[who] = clock + 1;
}

/*
 * `who`, which knows `clocks`, learns what `from` knows; it counts from `clock` on. Returns whether any of that is
 * kept, or TW_ERR_MEMORY.
 */
int tw_heard_note(struct tw_heard *l, size_t who, uint32_t clock, const struct tw_clocks *clocks, const struct tw_clocks *from);

#endif
