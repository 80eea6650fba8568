#include "analyzers/loops.h"
#include "base/array.h"

#include <stdlib.h>
#include <trackway/recording.h>

static void leave(struct tw_loops *l, struct tw_loop *all, uint64_t time)
{
	const struct tw_active_loop *last = &l->active[--l->n];
	all[last->loop].iterations += last->iterations;
	all[last->loop].insns += time - last->entered;
}

static int is_left(const struct tw_loops *l, const struct tw_loop *all, uint64_t pc)
{
	const struct tw_active_loop *last = &l->active[l->n - 1];
	const struct tw_loop *loop = &all[last->loop];
	return last->depth > l->depth || (last->depth == l->depth && (pc < loop->header || pc >= loop->end));
}

static void iterate(struct tw_active_loop *a, uint64_t time)
{
	a->headers = 0;
	a->starts[a->iterations++ % TW_LOOP_STARTS] = time;
}

static int enter(struct tw_loops *l, struct tw_loop *all, uint32_t loop, uint64_t start, uint64_t time)
{
	struct tw_active_loop *active = tw_array_room(l->active, l->n, &l->room, sizeof *active);
	if (!active)
		return TW_ERR_MEMORY;
	l->active = active;
	active += l->n++;
	active->loop = loop;
	active->depth = l->depth;
	active->start = start;
	active->entered = time;
	active->iterations = 0;
	iterate(active, time);
	active->headers = start == all[loop].header;
	all[loop].entries++;
	return 0;
}

/* Whether the block comes to an address; which of its instructions that is. */
static int comes_to(const struct tw_loop_block *b, uint64_t address, unsigned *insn)
{
	uint64_t pc = b->pc;
	for (*insn = 0; *insn < b->n_insns && pc < address; ++*insn)
		pc += b->insn_bytes[*insn];
	return *insn < b->n_insns && pc == address;
}

/* The block begins in a loop that the thread is in. */
static void go_on(struct tw_active_loop *a, const struct tw_loop *loop, const struct tw_loop_block *b, uint64_t time)
{
	unsigned insn;
	if (comes_to(b, a->start, &insn)) {
		iterate(a, time + insn);
		a->headers = a->start == loop->header;
	} else if (comes_to(b, loop->header, &insn) && ++a->headers == 2) {
		a->start = loop->header;
		iterate(a, time + insn);
		a->headers = 1;
	}
}

/* The first loop of this function that the thread is in. */
static size_t first_here(const struct tw_loops *l)
{
	size_t i = l->n;
	while (i && l->active[i - 1].depth == l->depth)
		i--;
	return i;
}

/* The loops around the block become those that the thread is in: it stays in common ones, and enters others. */
static int match_around(struct tw_loops *l, struct tw_loop *all, const struct tw_loop_block *b, uint64_t time)
{
	size_t at = first_here(l);
	int error = 0;
	for (unsigned i = 0; i < b->n_around && !error; i++, at++) {
		while (l->n > at && l->active[at].loop != b->loops[i])
			leave(l, all, time);
		if (l->n > at)
			go_on(&l->active[at], &all[b->loops[i]], b, time);
		else
			error = enter(l, all, b->loops[i], b->pc, time);
	}
	return error;
}

int tw_loops_block(struct tw_loops *l, struct tw_loop *all, const struct tw_loop_block *b, uint64_t time)
{
	while (l->n && is_left(l, all, b->pc))
		leave(l, all, time);
	if (!b->n_around && !b->n_begun)
		return 0;
	int error = match_around(l, all, b, time);
	for (unsigned i = b->n_around; i < b->n_around + b->n_begun && !error; i++) {
		unsigned insn;
		if (comes_to(b, all[b->loops[i]].header, &insn))
			error = enter(l, all, b->loops[i], all[b->loops[i]].header, time + insn);
	}
	return error;
}

void tw_loops_finish(struct tw_loops *l, struct tw_loop *all, uint64_t time)
{
	while (l->n)
		leave(l, all, time);
}

/* How many iterations began after that time: they began one after another. */
static uint64_t begun_since(const struct tw_active_loop *a, uint64_t before)
{
	uint64_t least = 0, most = a->iterations < TW_LOOP_STARTS ? a->iterations : TW_LOOP_STARTS;
	while (least < most) {
		const uint64_t n = (least + most + 1) / 2;
		if (a->starts[(a->iterations - n) % TW_LOOP_STARTS] > before)
			least = n;
		else
			most = n - 1;
	}
	return least;
}

/* How many of the loops that the thread is in were entered by that time: those within were entered later. */
static size_t entered_by(const struct tw_loops *l, uint64_t time)
{
	size_t least = 0, most = l->n;
	if (most && l->active[most - 1].entered <= time)
		return most;
	while (least < most) {
		const size_t n = (least + most + 1) / 2;
		if (l->active[n - 1].entered <= time)
			least = n;
		else
			most = n - 1;
	}
	return least;
}

int64_t tw_loops_carrier(const struct tw_loops *l, uint64_t before, uint64_t *distance)
{
	const size_t n = entered_by(l, before);
	if (!n)
		return -1;
	*distance = begun_since(&l->active[n - 1], before);
	return *distance ? (int64_t)n - 1 : -1;
}

void tw_loops_free(struct tw_loops *l)
{
	free(l->active);
	*l = (struct tw_loops){0};
}
