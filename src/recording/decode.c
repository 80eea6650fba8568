#include "recording/predictor.h"
#include "recording/recording.h"
#include "recording/transform.h"

#include <stdlib.h>

/* The loop over values must keep its state in registers. */
#define INLINE inline __attribute__((always_inline))

/* One part of a section, as far as it is not read. */
struct part {
	const uint8_t *at, *end;
};

static int damaged(void)
{
	return tw_fail(TW_ERR_DAMAGED, "%s", "");
}

/* Parts a section into n parts, which fill it. */
static int split(const uint8_t *section, size_t n, struct part *part, unsigned n_parts)
{
	const uint8_t *at = section + n_parts * sizeof(uint64_t);
	if (n < n_parts * sizeof(uint64_t))
		return damaged();
	for (unsigned i = 0; i < n_parts; i++) {
		uint64_t bytes;
		memcpy(&bytes, section + i * sizeof bytes, sizeof bytes);
		if (bytes > (size_t)(section + n - at))
			return damaged();
		part[i] = (struct part){at, at + bytes};
		at += bytes;
	}
	return at == section + n ? TW_OK : damaged();
}

/* The next run; -1: there is none. */
static inline int64_t take_run(struct part *runs)
{
	int64_t run = 0;
	while (runs->at < runs->end) {
		unsigned more = *runs->at++;
		run += more;
		if (more < TW_RUN_MORE)
			return run;
	}
	return -1;
}

/* ---- tags ---- */

/* Repeats n tags that began `distance` before `to`. `room`: tags that may be written, n or more. */
static void repeat_tags(uint16_t *to, size_t distance, size_t n, size_t room)
{
	enum { STEP = 8 };
	size_t i = 0;
	/* What repeats within fewer repeats within several times as many too, once they are there. */
	for (size_t period = distance; i < n && distance < STEP; i++) {
		to[i] = to[i - distance];
		if (period + i + 1 >= 2 * distance)
			distance *= 2;
	}
	for (; i < n && room - i >= STEP; i += STEP)
		memcpy(to + i, to + i - distance, STEP * sizeof *to);
	for (; i < n; i++)
		to[i] = to[i - distance];
}

static int decode_tags(struct tw_tag_predictor *p, struct part *part, uint16_t *tags, size_t n)
{
	struct part *runs = &part[0], *symbols = &part[1];
	for (size_t i = 0;;) {
		int64_t run = take_run(runs);
		if (run < 0 || (uint64_t)run > n - i || (run && !p->expected))
			return damaged();
		if (run)
			repeat_tags(tags + i, i - p->expected, (size_t)run, n - i);
		i += (size_t)run;
		if (i == n)
			break;
		if ((size_t)(symbols->end - symbols->at) < sizeof *tags)
			return damaged();
		memcpy(&tags[i], symbols->at, sizeof *tags);
		symbols->at += sizeof *tags;
		tw_tag_look_up(p, tags, ++i);
	}
	return runs->at < runs->end || symbols->at < symbols->end ? damaged() : TW_OK;
}

int tw_decode_tags(const uint8_t *section, size_t n, uint16_t *c, size_t n_c)
{
	struct part part[2];
	struct tw_tag_predictor *p = calloc(1, sizeof *p);
	if (!p)
		return tw_fail(TW_ERR_MEMORY, "%zu bytes", sizeof *p);
	int error = split(section, n, part, 2);
	if (!error)
		error = decode_tags(p, part, c, n_c);
	free(p);
	return error;
}

/* ---- values ---- */

/* What was not predicted, as far as it is not read. */
struct misses {
	struct part runs, codes, literals;
	int64_t run; /* values still to come as predicted; negative: the runs have ended too early */
	int bad;     /* something is missing or makes no sense */
};

static inline uint64_t unzigzag(uint64_t z)
{
	return z >> 1 ^ (0 - (z & 1));
}

static INLINE uint64_t take_literal(struct misses *w, unsigned bytes)
{
	size_t left = (size_t)(w->literals.end - w->literals.at);
	uint64_t literal = 0;
	if (left >= sizeof literal) {
		memcpy(&literal, w->literals.at, sizeof literal);
		literal &= UINT64_MAX >> (64 - 8 * bytes);
	} else if (left >= bytes) {
		memcpy(&literal, w->literals.at, bytes);
	} else {
		w->bad = 1;
		return 0;
	}
	w->literals.at += bytes;
	return unzigzag(literal);
}

static INLINE uint64_t decode_literal(const struct tw_value_predictor *p, const struct tw_value_slot *s, struct misses *w, unsigned code)
{
	unsigned bytes = (code - TW_CODE_LITERAL) % TW_CODE_REGISTER + 1;
	uint64_t from = code < TW_CODE_LITERAL + TW_CODE_REGISTER ? s->last : p->reg[s->reg];
	w->bad |= code >= TW_NCODES;
	return from + take_literal(w, bytes);
}

/* A value that was not as predicted. */
static INLINE uint64_t decode_miss(struct tw_value_predictor *p, struct tw_value_slot *s, struct misses *w)
{
	uint64_t *successor = &p->successor[tw_successor_index(s->last)];
	uint64_t value;
	if (w->run < 0 || w->codes.at == w->codes.end) {
		w->bad = 1;
		return 0;
	}
	unsigned code = *w->codes.at++;
	if (code < TW_NWAYS) {
		s->way = (uint8_t)code;
		value = tw_predict(p, s);
	} else {
		value = decode_literal(p, s, w, code);
	}
	*successor = value;
	w->run = take_run(&w->runs);
	return value;
}

/* The values of one execution, n slots from s on, into m. */
static INLINE void decode_execution(struct tw_value_predictor *p, struct tw_value_slot *s, size_t n, struct misses *w, uint64_t *m)
{
	for (size_t i = 0; i < n; i++, s++) {
		uint64_t value;
		if (__builtin_expect(w->run > 0, 1)) {
			w->run--;
			value = tw_predict(p, s);
		} else {
			value = decode_miss(p, s, w);
		}
		tw_learn(p, s, value);
		m[i] = value;
	}
}

/* Values that belong to no execution; then there must be nothing left. */
static int decode_rest(struct tw_value_predictor *p, struct misses *w, uint64_t *m, const uint64_t *end)
{
	struct tw_value_slot *s = p->slot;
	*s = (struct tw_value_slot){.epoch = p->epoch, .reg = TW_SLOT_NO_REGISTER};
	while (m < end && !w->bad)
		decode_execution(p, s, 1, w, m++);
	if (w->bad || w->run || w->runs.at < w->runs.end || w->codes.at < w->codes.end || w->literals.at < w->literals.end)
		return damaged();
	return TW_OK;
}

static int decode_all(struct tw_value_predictor *p, struct misses w, struct tw_chunk *chunk)
{
	uint64_t *m = chunk->m, *end = chunk->m + chunk->n_m;
	const uint16_t *c = chunk->c, *c_end = c + chunk->n_c;
	size_t at = 0;
	while (c < c_end && !w.bad) {
		uint16_t tag = *c++;
		if (__builtin_expect(tag < TW_TAG_FIRST, 0)) {
			if (tag == TW_TAG_EVENT)
				at = tw_take_event(p, chunk->e, chunk->n_e, at);
			else if (tag == TW_TAG_UPPER && c < c_end)
				tw_set_upper(p, *c++);
			continue;
		}
		struct tw_value_place place = p->row[tag];
		size_t n = place.n;
		if (!n) {
			if (place.first)
				continue;
			chunk->n_m = (size_t)(m - chunk->m);
			return TW_OK;
		}
		struct tw_value_slot *s = p->slot + place.first;
		if (__builtin_expect(s->epoch != p->epoch, 0))
			tw_start_slots(p, tag, s, place.n);
		if (__builtin_expect((size_t)(end - m) < n, 0))
			n = (size_t)(end - m);
		decode_execution(p, s, n, &w, m);
		m += n;
	}
	return decode_rest(p, &w, m, end);
}

int tw_decode_values(const struct tw_value_map *map, const uint8_t *section, size_t n, struct tw_chunk *chunk)
{
	struct part part[3];
	int error = split(section, n, part, 3);
	if (error)
		return error;
	struct tw_value_predictor *p = calloc(1, sizeof *p);
	struct tw_value_slot *slot = calloc(tw_value_map_slots(map), sizeof *slot);
	if (p && slot) {
		struct misses w = {.codes = part[1], .literals = part[2], .run = take_run(&part[0])};
		w.runs = part[0];
		tw_start_values(p, map, chunk->upper);
		p->epoch = 1;
		p->slot = slot;
		error = decode_all(p, w, chunk);
	} else {
		error = tw_fail(TW_ERR_MEMORY, "values");
	}
	free(slot);
	free(p);
	return error;
}
