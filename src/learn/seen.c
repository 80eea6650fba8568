#include "learn/seen.h"
#include "base/array.h"
#include "recording/recording.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

void tw_seen_free(struct tw_seen_set *s)
{
	free(s->of);
	free(s->slots);
	s->of = NULL;
	s->slots = NULL;
}

static size_t slot_of(const struct tw_seen_set *s, const struct tw_seen *seen)
{
	size_t at = XXH64(seen, sizeof *seen, 0) & (s->n_slots - 1);
	while (s->slots[at] && memcmp(&s->of[s->slots[at] - 1], seen, sizeof *seen))
		at = (at + 1) & (s->n_slots - 1);
	return at;
}

static int grow(struct tw_seen_set *s)
{
	enum { FIRST = 4096 };
	const size_t n = s->n_slots ? 2 * s->n_slots : FIRST;
	uint32_t *slots = calloc(n, sizeof *slots);
	if (!slots)
		return TW_ERR_MEMORY;
	free(s->slots);
	s->slots = slots;
	s->n_slots = n;
	for (size_t i = 0; i < s->n; i++)
		slots[slot_of(s, &s->of[i])] = (uint32_t)i + 1;
	return TW_OK;
}

static uint32_t look_up(struct tw_seen_set *s, const struct tw_seen *seen)
{
	if (2 * s->n >= s->n_slots && grow(s))
		return 0;
	const size_t at = slot_of(s, seen);
	if (s->slots[at])
		return s->slots[at];
	struct tw_seen *of = tw_array_room(s->of, s->n, &s->room, sizeof *of);
	if (!of)
		return 0;
	s->of = of;
	of[s->n] = *seen;
	return s->slots[at] = (uint32_t)++s->n;
}

uint32_t tw_seen_number(struct tw_seen_set *s, const struct tw_seen *seen)
{
	const uint64_t mixed =
	    seen->from * 0x9e3779b97f4a7c15u ^ seen->to * 0xc2b2ae3d27d4eb4fu ^ seen->parent * 0x165667b19e3779f9u ^ seen->kind;
	const size_t k = mixed >> 13 & (TW_SEEN_LAST - 1);
	if (s->last[k].number && !memcmp(&s->last[k].seen, seen, sizeof *seen))
		return s->last[k].number;
	s->last[k].seen = *seen;
	return s->last[k].number = look_up(s, seen);
}

int tw_seen_merge(struct tw_seen_set *s, const struct tw_seen_set *more)
{
	uint32_t *number = calloc(more->n + 1, sizeof *number);
	int error = number ? TW_OK : tw_fail(TW_ERR_MEMORY, "facts");
	for (size_t i = 0; i < more->n && !error; i++) {
		struct tw_seen seen = more->of[i];
		seen.parent = number[seen.parent];
		number[i + 1] = tw_seen_number(s, &seen);
		error = number[i + 1] ? TW_OK : tw_fail(TW_ERR_MEMORY, "facts");
	}
	free(number);
	return error;
}
