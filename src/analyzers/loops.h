/*
 * The loops that a thread is in, and their current iteration: derived from the blocks that it executes.
 *
 * A loop extends from its header, the target of a backward jump, to the end of the last block that jumps there. A
 * thread enters it when it enters that range of code; it starts another iteration when it returns to the place where
 * it entered, or reaches the header twice without that; and it leaves it when it executes code outside it in the same
 * function. (Compilers let loops start in the middle: the target of the backward jump is then not where they start.)
 * What is called from a loop is part of it: calls and returns are counted, which gives their depth. After a longjmp
 * the depth is wrong for the loops that it leaves, which are then left late.
 *
 * Times are numbers of instructions of the thread.
 */
#ifndef TW_LOOPS_H
#define TW_LOOPS_H

#include <stddef.h>
#include <stdint.h>

/* Distances of this many iterations or more are not distinguished. */
enum { TW_LOOP_STARTS = 64 };

/* A loop of the code, and what threads did in it. */
struct tw_loop {
	uint64_t header, end;                /* addresses; end: behind it */
	uint32_t image, thread;              /* thread: one that ran it */
	uint64_t entries, iterations, insns; /* insns: with what it calls */
};

/* One that a thread is in. */
struct tw_active_loop {
	uint32_t loop;    /* its number */
	uint32_t headers; /* how often it came to the header since the iteration began */
	int64_t depth;
	uint64_t start; /* address where iterations begin */
	uint64_t entered, iterations;
	uint64_t starts[TW_LOOP_STARTS]; /* of the last iterations, by their number */
};

/* Of a thread; all zeros at its beginning. */
struct tw_loops {
	struct tw_active_loop *active; /* the innermost is the last */
	size_t n, room;
	int64_t depth;
};

/* A block that is executed. */
struct tw_loop_block {
	uint64_t pc;
	const uint8_t *insn_bytes; /* of each of its instructions */
	unsigned n_insns;
	const uint32_t
	    *loops; /* numbers of loops: those that it begins in, the outermost first, then those with a header further on in it */
	unsigned n_around, n_begun; /* of both */
};

/* `all`: the loops there are, by number. 0 or TW_ERR_MEMORY. */
int tw_loops_block(struct tw_loops *l, struct tw_loop *all, const struct tw_loop_block *b, uint64_t time);

/* A thread ends: it leaves all. */
void tw_loops_finish(struct tw_loops *l, struct tw_loop *all, uint64_t time);

/*
 * Something happens now that depends on what happened at time `before`: which loop carries that, by its place in
 * l->active, and over how many iterations. -1: none does, as both are in the same iteration of all loops that they
 * share.
 */
int64_t tw_loops_carrier(const struct tw_loops *l, uint64_t before, uint64_t *distance);

void tw_loops_free(struct tw_loops *l);

#endif
