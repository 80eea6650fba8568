#include "recording/recording.h"
#include "recording/transform.h"
#include "recording/value_reader.h"

#include <stdlib.h>

static int damaged(void)
{
	return tw_fail(TW_ERR_DAMAGED, "%s", "");
}

/* ---- tags ---- */

/* Repeats n tags that started `distance` before `to`. `room`: tags that may be written, n or more. */
static void repeat_tags(uint16_t *to, size_t distance, size_t n, size_t room)
{
	enum { STEP = 8 };
	size_t i = 0;
	/* Something with a short period also repeats with multiples of it, once these are there. */
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

static int decode_tags(struct tw_tag_predictor *p, struct tw_section_part *part, uint16_t *tags, size_t n)
{
	struct tw_section_part *runs = &part[0], *symbols = &part[1];
	for (size_t i = 0;;) {
		int64_t run = tw_section_run(runs);
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

int tw_decode_tags(struct tw_tag_predictor *p, const uint8_t *section, size_t n, uint16_t *c, size_t n_c)
{
	struct tw_section_part part[2];
	memset(p, 0, sizeof *p);
	int error = tw_section_split(section, n, part, 2);
	return error ? error : decode_tags(p, part, c, n_c);
}

/* ---- values ---- */

/* The number of a fragment that has no descriptor: values end there. */
static int is_unknown(const struct tw_value_predictor *p, uint16_t tag)
{
	return !p->row[tag].first;
}

static int decode_values(struct tw_value_reader *r, struct tw_chunk *chunk)
{
	struct tw_value_predictor *p = &r->p;
	uint64_t *m = chunk->m, *end = chunk->m + chunk->n_m;
	const uint16_t *c = chunk->c, *c_end = c + chunk->n_c;
	size_t at = 0;
	int error = TW_OK;
	while (c < c_end && !error) {
		uint16_t tag = *c++;
		if (tag == TW_TAG_EVENT)
			at = tw_take_event(p, chunk->e, chunk->n_e, at);
		else if (tag == TW_TAG_UPPER && c < c_end)
			tw_set_upper(p, *c++);
		if (tag < TW_TAG_FIRST)
			continue;
		if (is_unknown(p, tag)) {
			chunk->n_m = (size_t)(m - chunk->m);
			return TW_OK;
		}
		size_t n = p->row[tag].n < end - m ? p->row[tag].n : (size_t)(end - m);
		error = tw_value_reader_take(r, p->upper << 16 | tag, (uint32_t)n, m);
		m += n;
	}
	while (m < end && !error)
		error = tw_value_reader_take_odd(r, m++);
	return error ? error : tw_value_reader_end(r);
}

int tw_decode_values(const struct tw_value_map *map, const uint8_t *section, size_t n, struct tw_chunk *chunk)
{
	uint32_t n_slots = tw_value_map_slots(map);
	struct tw_value_reader *r = calloc(1, sizeof *r);
	struct tw_value_slot *slots = calloc(n_slots, sizeof *slots);
	int error = r && slots ? TW_OK : tw_fail(TW_ERR_MEMORY, "values");
	if (!error) {
		tw_value_reader_init(r, map, slots, n_slots);
		error = tw_value_reader_begin(r, section, n);
	}
	if (!error) {
		tw_set_upper(&r->p, chunk->upper);
		error = decode_values(r, chunk);
	}
	free(slots);
	free(r);
	return error;
}
