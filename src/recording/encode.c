#include "base/array.h"
#include "recording/encode_code.h"
#include "recording/encode_value.h"
#include "recording/encoder.h"
#include "recording/recording.h"

#include <stdlib.h>

struct tw_encoder *tw_encoder_new(const struct tw_value_map *map, struct tw_encoder_code *code)
{
	struct tw_encoder *e = calloc(1, sizeof *e);
	if (e) {
		e->values.map = map;
		e->code = code;
		e->thread = TW_NO_THREAD;
		e->generation = TW_FIRST_GENERATION;
	}
	return e;
}

void tw_encoder_free(struct tw_encoder *e)
{
	if (!e)
		return;
	for (int i = 0; i < TW_NPARTS; i++)
		free(e->coded.part[i].at);
	free(e->all_tags.at);
	free(e->values.slot);
	free(e);
}

/* ---- tags ---- */

/*
 * This many tags are encoded at a time: their tables, and the output of values, take turns in the processor's cache,
 * which holds one of the two.
 */
enum { TAGS_AT_ONCE = 1 << 21 };

static uint8_t *put_run(uint8_t *to, uint64_t run)
{
	for (; run >= TW_RUN_MORE; run -= TW_RUN_MORE)
		*to++ = TW_RUN_MORE;
	*to++ = (uint8_t)run;
	return to;
}

/* Bytes that so many runs take at most, together `predicted` long. */
static size_t run_bytes(size_t runs, uint64_t predicted)
{
	return runs + (size_t)(predicted / TW_RUN_MORE) + 2;
}

/* How many tags from `a` on are as those from `b` on, at most n. */
static size_t equal_tags(const uint16_t *a, const uint16_t *b, size_t n)
{
	size_t i = 0;
	for (uint64_t x, y; n - i >= sizeof x / sizeof *a; i += sizeof x / sizeof *a) {
		memcpy(&x, a + i, sizeof x);
		memcpy(&y, b + i, sizeof y);
		if (x != y)
			return i + (size_t)__builtin_ctzll(x ^ y) / 16;
	}
	while (i < n && a[i] == b[i])
		i++;
	return i;
}

/* Some bits of a tag, never 0. */
static uint8_t bits_of(uint16_t tag)
{
	return (uint8_t)(tag ^ tag >> 8) | 1;
}

/*
 * tw_tag_look_up for the tag with index `i` of n. Returns 0 if its bits show that it is not the expected one, without
 * accessing distant memory: every second miss follows another.
 */
static int look_up(struct tw_encoder *e, const uint16_t *tags, size_t i, size_t n)
{
	uint8_t *after = &e->tag_after[tw_tag_context(tags, i)];
	const uint8_t expected = *after, bits = i < n ? bits_of(tags[i]) : 0;
	tw_tag_look_up(&e->tags, tags, i);
	*after = bits;
	return !expected || !bits || expected == bits;
}

/* Room for the worst that so many tags can become. */
static int take_tags_room(struct tw_encoder *e, size_t tags)
{
	int error = tw_bytes_reserve(&e->coded.part[TW_PART_TAG_RUNS], run_bytes(tags, e->tag_run + tags));
	return error ? error : tw_bytes_reserve(&e->coded.part[TW_PART_SYMBOLS], tags * sizeof(uint16_t));
}

/* Encodes the tags that are not encoded yet, if there are `least`. */
static int encode_tags(struct tw_encoder *e, size_t least)
{
	struct tw_tag_predictor *p = &e->tags;
	const uint16_t *tags = (const uint16_t *)(const void *)e->all_tags.at;
	size_t i = e->tags_coded, n = e->all_tags.n / sizeof *tags;
	int error = n - i < least ? TW_OK : take_tags_room(e, n - i);
	if (error || n - i < least)
		return error;
	struct tw_bytes *r = &e->coded.part[TW_PART_TAG_RUNS], *s = &e->coded.part[TW_PART_SYMBOLS];
	uint8_t *runs = r->at + r->n, *symbols = s->at + s->n;
	for (int may_be = 1;;) {
		size_t run = p->expected && may_be ? equal_tags(tags + i, tags + p->expected, n - i) : 0;
		i += run;
		e->tag_run += run;
		p->expected += run;
		if (i == n)
			break;
		runs = put_run(runs, e->tag_run);
		memcpy(symbols, &tags[i], sizeof *tags);
		symbols += sizeof *tags;
		e->tag_run = 0;
		may_be = look_up(e, tags, ++i, n);
	}
	r->n = (size_t)(runs - r->at);
	s->n = (size_t)(symbols - s->at);
	e->tags_coded = n;
	return TW_OK;
}

/* ---- values ---- */

static inline uint64_t zigzag(uint64_t d)
{
	return d << 1 ^ (0 - (d >> 63));
}

static inline unsigned bytes_of(uint64_t v)
{
	return (71u - (unsigned)__builtin_clzll(v | 1)) / 8;
}

/*
 * A slot's values are literals from the time when this much `doubt` of its modes has accumulated, without a predicted
 * value in between, until TW_MOST_PREDICTED in a row of those checked would have been predicted.
 */
enum { DOUBT_MISS = 2, DOUBT_OTHER_WAY = 1, MOST_DOUBT = 6 };

/* The way that would have predicted the value; TW_NWAYS: none. */
static unsigned way_to(const struct tw_value_predictor *p, const struct tw_value_slot *s, uint64_t value)
{
	unsigned way = value == s->last ? TW_WAY_LAST : TW_NWAYS;
	way = value == tw_successor(p, s->last) ? TW_WAY_SUCCESSOR : way;
	return value == p->reg[s->reg] + (uint64_t)(int64_t)s->step ? TW_WAY_STEP : way;
}

/* The shortest literal of the value, its kind in *kind. */
static uint64_t literal_of(const struct tw_value_predictor *p, const struct tw_value_slot *s, uint64_t value, unsigned *kind)
{
	uint64_t from_last = value - s->last, from_reg = value - p->reg[s->reg];
	int by_reg = zigzag(from_reg) < zigzag(from_last);
	uint64_t literal = by_reg ? from_reg : from_last;
	*kind = TW_LITERAL + bytes_of(zigzag(literal)) - 1 + (by_reg ? TW_LITERAL_REGISTER : 0);
	return literal;
}

void tw_encoder_miss(struct tw_encoder *e, struct tw_value_slot *s, uint64_t value, int look)
{
	struct tw_value_predictor *p = &e->values;
	struct tw_encoder_piece *w = &e->piece;
	unsigned kind, way = look ? way_to(p, s, value) : TW_NWAYS, literally = way == TW_NWAYS, literals = s->way >= TW_LITERAL;
	uint64_t literal = literal_of(p, s, value, &kind);
	unsigned doubt = s->doubt + (literally ? DOUBT_MISS : DOUBT_OTHER_WAY);
	unsigned lasting = literally && (literals || doubt >= MOST_DOUBT);
	tw_follow(p, s->last, value);
	w->runs = put_run(w->runs, w->run);
	w->run = 0;
	*w->codes++ = (uint8_t)(literally ? kind + (lasting ? TW_CODE_LASTING : 0) : way);
	memcpy(w->literals, &literal, sizeof literal);
	w->literals += literally ? tw_literal_bytes(kind) : 0;
	s->doubt = (uint8_t)(lasting || literals ? 0 : doubt < MOST_DOUBT ? doubt : MOST_DOUBT);
	s->way = (uint8_t)(lasting ? kind : literally ? s->way : way);
}

uint64_t tw_encoder_value(struct tw_encoder *e, struct tw_value_slot *slot, uint64_t value, uint64_t run)
{
	e->piece.run = run;
	tw_encode_values(e, slot, 1, &value);
	return e->piece.run;
}

/* Values that belong to no execution: slot 0 is theirs. */
static void encode_rest(struct tw_encoder *e, struct tw_encoder_piece *w)
{
	struct tw_value_predictor *p = &e->values;
	struct tw_value_slot *s = p->slot;
	*s = (struct tw_value_slot){.epoch = p->epoch, .reg = TW_SLOT_NO_REGISTER};
	for (e->odd |= w->m < w->m_end; w->m < w->m_end; w->m++)
		tw_encode_values(e, s, 1, w->m);
}

/* What follows a tag that is no fragment's. `at` is the next event. */
static void encode_other(struct tw_encoder *e, const struct tw_chunk *piece, uint16_t tag, size_t *at)
{
	struct tw_encoder_piece *w = &e->piece;
	if (tag == TW_TAG_EVENT)
		*at = tw_take_event(&e->values, piece->e, piece->n_e, *at);
	else if (tag == TW_TAG_UPPER && w->c < w->c_end)
		tw_set_upper(&e->values, *w->c++);
}

struct tw_value_slot *tw_encoder_slots(struct tw_encoder *e, uint16_t tag, uint32_t *n)
{
	struct tw_value_predictor *p = &e->values;
	const struct tw_value_place place = p->row[tag];
	struct tw_value_slot *s = p->slot + place.first;
	*n = place.n;
	if (!place.first) {
		tw_fail(TW_ERR_FRAGMENT, "fragment %u", p->upper << 16 | tag);
		return NULL;
	}
	if (place.n && s->epoch != p->epoch)
		tw_start_slots(p, p->upper << 16 | tag, s, place.n);
	return s;
}

/* One execution of the fragment with this tag. */
static int encode_tag(struct tw_encoder *e, uint16_t tag)
{
	struct tw_encoder_piece *w = &e->piece;
	uint32_t all;
	struct tw_value_slot *s = tw_encoder_slots(e, tag, &all);
	if (!s)
		return TW_ERR_FRAGMENT;
	const uint32_t n = (size_t)(w->m_end - w->m) < all ? (uint32_t)(w->m_end - w->m) : all;
	e->odd |= n < all;
	tw_encode_values(e, s, n, w->m);
	w->m += n;
	if (e->code)
		tw_encoder_code_ran(e->code, e, e->values.upper << 16 | tag, (uint32_t)(s - e->values.slot), all, NULL);
	return TW_OK;
}

static int encode_values(struct tw_encoder *e, const struct tw_chunk *piece)
{
	struct tw_encoder_piece *w = &e->piece;
	size_t at = 0;
	int error = TW_OK;
	while (w->c < w->c_end && !error) {
		if (e->code)
			tw_encoder_code_run(e->code, e);
		if (w->c == w->c_end)
			break;
		uint16_t tag = *w->c++;
		if (tag >= TW_TAG_FIRST)
			error = encode_tag(e, tag);
		else
			encode_other(e, piece, tag, &at);
	}
	if (!error)
		encode_rest(e, w);
	return error;
}

/* ---- chunks ---- */

static void forget_slots(struct tw_encoder *e)
{
	if (e->n_slots)
		memset(e->values.slot, 0, e->n_slots * sizeof *e->values.slot);
	e->values.epoch = 0;
	e->generation = TW_FIRST_GENERATION;
}

/* Fragments of other threads may have used the slots that those of this one have. */
static void begin_thread(struct tw_encoder *e, uint32_t thread)
{
	if (e->generation == TW_LAST_GENERATION)
		forget_slots(e);
	e->generation++;
	e->thread = thread;
}

void tw_encoder_begin(struct tw_encoder *e, uint32_t upper, uint32_t thread)
{
	if (e->values.epoch == UINT8_MAX)
		forget_slots(e);
	if (thread != e->thread || thread == TW_NO_THREAD)
		begin_thread(e, thread);
	e->values.epoch++;
	tw_start_values(&e->values, e->values.map, upper);
	memset(&e->tags, 0, sizeof e->tags);
	memset(e->tag_after, 0, sizeof e->tag_after);
	memset(e->coded.raw, 0, sizeof e->coded.raw);
	e->tag_run = e->value_run = e->literals = 0;
	e->tags_coded = 0;
	e->odd = 0;
	e->n_heads = 0;
	e->all_tags.n = 0;
	for (int i = 0; i < TW_NPARTS; i++)
		e->coded.part[i].n = 0;
}

static int take_slots(struct tw_encoder *e)
{
	uint32_t n = tw_value_map_slots(e->values.map);
	if (n <= e->n_slots)
		return TW_OK;
	n += n / 4;
	size_t bytes = n * sizeof(struct tw_value_slot);
	struct tw_value_slot *slot = tw_array_more(e->values.slot, e->n_slots * sizeof *slot, &bytes);
	if (!slot)
		return tw_fail(TW_ERR_MEMORY, "%u slots", n);
	tw_array_take_pages(slot + e->n_slots, (n - e->n_slots) * sizeof *slot);
	memset(slot + e->n_slots, 0, (n - e->n_slots) * sizeof *slot);
	e->values.slot = slot;
	e->n_slots = n;
	return TW_OK;
}

/* Room for the worst that so many values can become. */
static int take_room(struct tw_encoder *e, size_t n_m)
{
	int error = take_slots(e);
	if (!error)
		error = tw_bytes_reserve(&e->coded.part[TW_PART_VALUE_RUNS], run_bytes(n_m, e->value_run + n_m));
	if (!error)
		error = tw_bytes_reserve(&e->coded.part[TW_PART_CODES], n_m);
	return error ? error : tw_bytes_reserve(&e->coded.part[TW_PART_LITERALS], (n_m + 1) * sizeof(uint64_t));
}

static uint8_t *end_of(struct tw_encoder *e, enum tw_part part)
{
	return e->coded.part[part].at + e->coded.part[part].n;
}

static void set_end(struct tw_encoder *e, enum tw_part part, const uint8_t *end)
{
	e->coded.part[part].n = (size_t)(end - e->coded.part[part].at);
}

/* The parts of values go on where they end. */
static void begin_values(struct tw_encoder *e)
{
	e->piece = (struct tw_encoder_piece){
	    .runs = end_of(e, TW_PART_VALUE_RUNS),
	    .codes = end_of(e, TW_PART_CODES),
	    .literals = end_of(e, TW_PART_LITERALS),
	    .run = e->value_run,
	    .literals_before = e->literals - (uintptr_t)end_of(e, TW_PART_LITERALS),
	};
}

static void end_values(struct tw_encoder *e)
{
	set_end(e, TW_PART_VALUE_RUNS, e->piece.runs);
	set_end(e, TW_PART_CODES, e->piece.codes);
	set_end(e, TW_PART_LITERALS, e->piece.literals);
	e->literals = e->piece.literals_before + (uintptr_t)e->piece.literals;
	e->value_run = e->piece.run;
}

static int encode_streams(struct tw_encoder *e, const struct tw_chunk *piece)
{
	struct tw_encoder_piece *w = &e->piece;
	w->c = piece->c;
	w->c_end = piece->c + piece->n_c;
	w->m = piece->m;
	w->m_end = piece->m + piece->n_m;
	e->coded.raw[TW_STREAM_C] += piece->n_c * sizeof *piece->c;
	e->coded.raw[TW_STREAM_M] += piece->n_m * sizeof *piece->m;
	e->coded.raw[TW_STREAM_E] += piece->n_e;
	return encode_values(e, piece);
}

int tw_encoder_add(struct tw_encoder *e, const struct tw_chunk *piece)
{
	int error = take_room(e, piece->n_m);
	if (!error && e->odd)
		error = tw_fail(TW_ERR_STREAM, "thread %u, chunk %u", piece->thread, piece->sequence);
	if (!error)
		error = tw_bytes_append(&e->coded.part[TW_PART_EVENTS], piece->e, piece->n_e);
	if (!error)
		error = tw_bytes_append(&e->all_tags, piece->c, piece->n_c * sizeof *piece->c);
	if (!error)
		error = encode_tags(e, TAGS_AT_ONCE);
	if (error)
		return error;
	begin_values(e);
	error = encode_streams(e, piece);
	end_values(e);
	return error;
}

/* ---- records ---- */

int tw_encoder_open(struct tw_encoder *e, size_t n_c, size_t n_m, size_t n_e)
{
	int error = take_room(e, n_m);
	if (!error)
		error = tw_bytes_reserve(&e->coded.part[TW_PART_EVENTS], n_e);
	if (!error)
		error = tw_bytes_reserve(&e->all_tags, n_c * sizeof(uint16_t));
	if (!error)
		begin_values(e);
	e->tags_end = (uint16_t *)(void *)(e->all_tags.at + e->all_tags.n);
	return error;
}

int tw_encoder_more(struct tw_encoder *e, const struct tw_chunk *streams)
{
	memcpy(e->tags_end, streams->c, streams->n_c * sizeof *streams->c);
	e->tags_end += streams->n_c;
	int error = tw_bytes_append(&e->coded.part[TW_PART_EVENTS], streams->e, streams->n_e);
	return error ? error : encode_streams(e, streams);
}

int tw_encoder_close(struct tw_encoder *e)
{
	e->all_tags.n = (size_t)((uint8_t *)e->tags_end - e->all_tags.at);
	end_values(e);
	if (e->code && e->n_heads)
		tw_encoder_code_saw(e->code, e->all_tags.n / sizeof(uint16_t), e->n_heads);
	return encode_tags(e, TAGS_AT_ONCE);
}

static int put_last_run(struct tw_encoder *e, enum tw_part part, uint64_t run)
{
	int error = tw_bytes_reserve(&e->coded.part[part], run_bytes(1, run));
	if (!error)
		set_end(e, part, put_run(end_of(e, part), run));
	return error;
}

int tw_encoder_end(struct tw_encoder *e)
{
	static const uint8_t padding[TW_LITERAL_PADDING];
	int error = encode_tags(e, 0);
	if (!error)
		error = put_last_run(e, TW_PART_TAG_RUNS, e->tag_run);
	if (!error)
		error = put_last_run(e, TW_PART_VALUE_RUNS, e->value_run);
	return error ? error : tw_bytes_append(&e->coded.part[TW_PART_LITERALS], padding, sizeof padding);
}

struct tw_coded *tw_encoder_coded(struct tw_encoder *e)
{
	return &e->coded;
}
