/* Thinning of steps of calling contexts: what is kept is found and followed as before, and no counts are lost. */
#include "analyzers/cct_steps.h"
#include "unit.h"

#include <stdlib.h>

enum { N = 64, FEW = 1, MANY = 100 };

static struct tw_stretch stretches[N];

static uint32_t add(struct tw_cct_steps *s, unsigned i)
{
	const struct tw_cct_turn turn = {.pc = i};
	const struct tw_cct_step step = {.stretch = i + 1, .n_turns = i % 8 == 3};
	return tw_cct_steps_add(s, &step, &turn, 0);
}

/* How many of these three that come after `from` are followed. */
static size_t follow(struct tw_cct_steps *s, uint32_t from, unsigned a, unsigned b, unsigned c)
{
	const struct tw_stretch *const next[] = {&stretches[a], &stretches[b], &stretches[c]};
	struct tw_cct_at at = {.step = from};
	return tw_cct_steps_follow(s, NULL, next, 3, &at);
}

/* Each stretch is a segment. */
static void divide(struct tw_segments *segments)
{
	segments->items = calloc(N, sizeof *segments->items);
	segments->of_stretch = calloc(N + 1, sizeof *segments->of_stretch);
	segments->stretches_room = N + 1;
	for (unsigned i = 0; i < N; i++) {
		segments->items[i].is_last = 1;
		segments->of_stretch[i + 1] = i + 1;
	}
}

static uint64_t counted(const struct tw_segments *segments)
{
	uint64_t runs = 0;
	for (uint32_t i = 0; i < segments->counts_room; i++)
		runs += segments->counts[i].runs;
	return runs;
}

int main(void)
{
	struct tw_context_node node = {0};
	struct tw_contexts tree = {.nodes = &node, .n_nodes = 1};
	struct tw_segments segments = {0};
	struct tw_cct_steps s = {0};
	divide(&segments);
	for (unsigned i = 0; i < N; i++)
		EQUAL(add(&s, i), i);
	for (unsigned i = 0; i + 1 < N; i++) { /* more than two come next */
		EQUAL(tw_cct_steps_link(&s, i, &stretches[i + 1], i + 1), 0);
		EQUAL(tw_cct_steps_link(&s, i, &stretches[5], 5), 0);
		EQUAL(tw_cct_steps_link(&s, i, &stretches[N - 1], N - 1), 0);
	}
	for (unsigned i = 0; i < N; i++)
		s.items[i].runs = i % 2 ? MANY : FEW;
	EQUAL(follow(&s, 44, 45, 46, 47), 3);
	const uint64_t runs = N / 2 * (FEW + MANY) + 3;
	EQUAL(tw_cct_steps_thin(&s, &segments, &tree), 0);
	EQUAL(s.n, N / 2);
	EQUAL(counted(&segments), runs);
	for (unsigned i = 1; i < N; i += 2)
		EQUAL(add(&s, i), i / 2);
	EQUAL(follow(&s, 45 / 2, 5, N - 1, 0), 2);
	EQUAL(follow(&s, 45 / 2, 46, 0, 0), 0); /* which is not kept */
	EQUAL(add(&s, 40), N / 2);
	EQUAL(tw_cct_steps_settle(&s, &segments, &tree), 0);
	EQUAL(counted(&segments), runs + 2);
	tw_segments_free(&segments);
	return UNIT_END();
}
