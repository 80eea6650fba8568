/*
 * Races that are only possible. If locked instructions have no time stamps, they are processed in an order that need
 * not be the real one. So of two accesses that race in that order, one may nevertheless have been ordered before the
 * other: if its thread, or one that learned of it through an atomic variable, later wrote an atomic variable that the
 * other's thread had read before its own access, or a thread that informed it through a lock or the like. This is
 * checked at the end, over everything that was written and read, in any order.
 */
#include "analyzers/race_state.h"

#include <stdlib.h>
#include <string.h>

int tw_race_note_read(struct tw_race_state *s, const struct tw_race_thread *t, uint64_t addr)
{
	if (!s->unstamped)
		return 0;
	uint64_t *first = tw_rows_at(&s->reads, addr, (uint64_t)t->order->program << 32 | (uint32_t)t->order->who);
	if (!first)
		return TW_ERR_MEMORY;
	tw_heard_read(&s->heard, t->order->who, t->order->clock);
	*first = *first ? *first : (uint64_t)t->order->clock + 1;
	return 0;
}

/* Has anybody written the variable who may know what is asked for by then? `from`: by owner, 1 + its clock from when on; 0: never. */
static int may_tell(const struct tw_clocks *variable, const uint64_t *from)
{
	for (size_t who = 0; who < variable->n; who++)
		if (from[who] && (uint64_t)variable->of[who] + 1 >= from[who])
			return 1;
	return 0;
}

/* ... by locks and the like. Returns whether anybody knew earlier than was found so far. */
static int spread_heard(const struct tw_heard *l, uint64_t *from)
{
	int changes = 0;
	for (size_t who = 0; who < l->n; who++)
		for (size_t i = 0; i < l->lists[who].n; i++) {
			const struct tw_heard_step *step = &l->lists[who].steps[i];
			const uint64_t first = (uint64_t)step->clock + 1;
			if (!from[step->other] || (uint64_t)step->until + 1 < from[step->other] || (from[who] && from[who] <= first))
				continue;
			from[who] = first;
			changes = 1;
		}
	return changes;
}

/* Who may have learned of it through atomic variables, one after another, and from those that did. */
static void spread(const struct tw_race_state *s, uint64_t *from)
{
	for (int changes = 1; changes;) {
		changes = spread_heard(&s->heard, from);
		for (size_t i = 0; i < s->reads.n; i++) {
			const uint64_t *key = tw_rows_key(&s->reads, i), first = *tw_rows_counts(&s->reads, i);
			const uint32_t who = (uint32_t)key[1];
			if ((from[who] && from[who] <= first) ||
			    !may_tell(tw_ordering_atomic_clocks(&s->ordering, (uint32_t)(key[1] >> 32), key[0]), from))
				continue;
			from[who] = first;
			changes = 1;
		}
	}
}

/* May what `a` did at this clock have been ordered before what `b` did? `from` has room for all clocks. */
static int may_be_before(const struct tw_race_state *s, const struct tw_race *race, unsigned at, int a, int b, uint64_t *from, size_t n)
{
	memset(from, 0, n * sizeof *from);
	from[race->at[at].thread[a]] = (uint64_t)race->at[at].clock[a] + 1;
	spread(s, from);
	const uint64_t reached = from[race->at[at].thread[b]];
	return reached && reached <= (uint64_t)race->at[at].clock[b] + 1;
}

size_t tw_race_clocks(const struct tw_race_state *s)
{
	return s->n_threads * (1 + TW_ORDERING_TASK_CLOCKS) + 1;
}

/* Amount of data to examine, for each race more than once. */
static size_t count_known(const struct tw_race_state *s, size_t n_clocks)
{
	size_t n = s->reads.n * n_clocks;
	for (size_t i = 0; i < s->heard.n; i++)
		n += s->heard.lists[i].n;
	return n;
}

int tw_race_find_possible(struct tw_race_state *s)
{
	enum { MOST = 1 << 22 }; /* of more nothing is worked out */
	const size_t n = tw_race_clocks(s), known = count_known(s, n);
	uint64_t *from = s->reads.n ? calloc(n, sizeof *from) : NULL;
	if (!s->reads.n || !from)
		return s->reads.n ? TW_ERR_MEMORY : 0;
	for (size_t i = 0; i < s->races.n; i++) {
		struct tw_race *race = &s->races.items[i];
		race->possible = 1;
		for (unsigned k = 0; k < race->n_at && race->possible && known <= MOST; k++)
			race->possible = may_be_before(s, race, k, 0, 1, from, n) || may_be_before(s, race, k, 1, 0, from, n);
	}
	free(from);
	return 0;
}
