#include "replay/count.h"
#include "base/array.h"
#include "base/zeros.h"
#include "recording/lane_sums.h"
#include "recording/recording.h"
#include "recording/value_reader.h"
#include "replay/program.h"

#include <emmintrin.h>
#include <stdlib.h>

/* Rows of 65536 fragments each, those with the same upper half of their number. With more the tables would be too large. */
enum { ROW = 65536, MOST_ROWS = 256 };

/*
 * What one execution of a fragment counts for, and its slots. `epoch` is that of the chunk, less 1, once it has run
 * in it; the lowest bit is set for fragments whose references, or executions, depend on values. All zeros if there is
 * no fragment.
 */
struct place {
	uint16_t insns, blocks, refs, reads, writes;
	uint8_t n, epoch;
	uint32_t first; /* slot, times SLOT, and flags */
};

_Static_assert(sizeof(struct place) == sizeof(__m128i), "it is loaded as one (lane_sums.h)");

enum { DEPENDS = 1, EPOCH_STEP = 2, LAST_EPOCH = 256 - EPOCH_STEP };

/* The unit of slot numbers, which leaves room for flags: two of the fragment's values belong to one register; the slot has no value yet. */
enum { SLOT = 16, SHARED = 1, FRESH = 2, FLAGS = SLOT - 1 };
_Static_assert(SLOT == sizeof(struct tw_value_slot), "a slot's number is where it is");

/* No fragment has more values. */
enum { MOST_VALUES = UINT8_MAX };

struct tw_count_map {
	const struct tw_value_map *values;
	const struct tw_descriptor *const *descriptor; /* all of them */
	size_t n_descriptors;
	uint32_t n_rows;
	struct place *place;             /* row by row; the first row has no fragments */
	const struct tw_descriptor **of; /* of each place */
	size_t n_places;
	uint16_t row[ROW]; /* of each upper half; 0: there is none */
};

/* ---- what fragments count for ---- */

struct sums {
	uint64_t insns, blocks, refs, reads, writes;
};

static void add_refs(struct sums *s, uint8_t type, uint64_t n)
{
	s->refs += n;
	s->reads += type & TW_READ ? n : 0;
	s->writes += type & TW_WRITE ? n : 0;
}

/* Whether what an execution counts for depends on its values. */
static int depends(const struct tw_descriptor *d)
{
	const struct tw_op *op = tw_descriptor_ops(d);
	int some = (d->flags & TW_DESC_LOOP) != 0;
	for (unsigned i = 0; i < d->n_ops; i++)
		some |= op[i].kind == TW_OP_REP || op[i].kind == TW_OP_LANES;
	return some;
}

static size_t place_of(const struct tw_count_map *map, uint32_t number)
{
	return (size_t)map->row[number / ROW] * ROW + number % ROW;
}

static int is_shared(const struct tw_count_map *map, const struct tw_descriptor *d)
{
	const uint8_t *reg = tw_value_map_registers(map->values, d->number);
	uint32_t seen = 0, shared = 0;
	for (unsigned i = 0; i < d->n_values; i++) {
		shared |= seen & 1u << reg[i];
		seen |= 1u << reg[i];
	}
	return shared != 0;
}

/* A fragment without an entry cannot be counted: chunks with such fragments are walked. */
static void set_place(struct tw_count_map *map, const struct tw_descriptor *d)
{
	const struct tw_value_place values = tw_value_map_row(map->values, d->number >> 16)[d->number & 0xffff];
	struct place *p = &map->place[place_of(map, d->number)];
	struct tw_static_counts s;
	tw_descriptor_counts(d, &s);
	*p = (struct place){0};
	map->of[place_of(map, d->number)] = d;
	if (d->format == TW_FORMAT_CALL || values.n != d->n_values || d->n_values > MOST_VALUES)
		return;
	if ((s.insns | s.blocks | s.refs | s.reads | s.writes) > UINT16_MAX)
		return;
	*p = (struct place){
	    .n = (uint8_t)d->n_values, .epoch = (uint8_t)depends(d), .first = values.first * SLOT + (is_shared(map, d) ? SHARED : 0)};
	if (d->flags & TW_DESC_LOOP)
		return;
	p->insns = (uint16_t)s.insns;
	p->blocks = (uint16_t)s.blocks;
	p->refs = (uint16_t)s.refs;
	p->reads = (uint16_t)s.reads;
	p->writes = (uint16_t)s.writes;
}

/* 0: there are too many. */
static int list_rows(struct tw_count_map *map)
{
	for (size_t i = 0; i < map->n_descriptors; i++) {
		const uint32_t upper = map->descriptor[i]->number >> 16;
		if (map->row[upper])
			continue;
		if (map->n_rows == MOST_ROWS)
			return 0;
		map->row[upper] = (uint16_t)++map->n_rows;
	}
	return 1;
}

static int fill_map(struct tw_count_map *map)
{
	if (!map->values || tw_value_map_slots(map->values) > UINT32_MAX / SLOT || !list_rows(map))
		return 0;
	map->n_places = (map->n_rows + (size_t)1) * ROW;
	map->place = tw_zeros_new(map->n_places * sizeof *map->place);
	map->of = tw_zeros_new(map->n_places * sizeof(const struct tw_descriptor *));
	if (!map->place || !map->of)
		return 0;
	for (size_t i = 0; i < map->n_descriptors; i++)
		set_place(map, map->descriptor[i]);
	return 1;
}

struct tw_count_map *tw_count_map_new(const struct tw_descriptor *const *descriptor, size_t n, const struct tw_value_map *values)
{
	struct tw_count_map *map = calloc(1, sizeof *map);
	if (!map)
		return NULL;
	map->values = values;
	map->descriptor = descriptor;
	map->n_descriptors = n;
	if (fill_map(map))
		return map;
	tw_count_map_free(map);
	return NULL;
}

void tw_count_map_free(struct tw_count_map *map)
{
	if (map) {
		tw_zeros_free(map->place, map->n_places * sizeof *map->place);
		tw_zeros_free(map->of, map->n_places * sizeof(const struct tw_descriptor *));
	}
	free(map);
}

/* ---- a counter ---- */

/* How a value is computed, by the slot's mode: masks of its components. */
struct way {
	uint64_t literal_mask, literal_sign, literal_bytes;
	uint64_t step, successor; /* all ones: the difference is the slot's step; what followed before */
	uint64_t reg;             /* ...to the register's last value, not the slot's */
	uint64_t follows;         /* all ones: what follows is learned */
	uint64_t unused;          /* as many bytes as a line of the cache */
};

/* Tags taken at once, few enough that their sums stay below 2^32; and slots. */
enum { TAGS = 512, SLOTS = 1024 };

/* A change of the upper half is two tags. */
enum { TAGS_AHEAD = 2 };

/* An execution whose counts depend on values: its place, and the index of its first value. */
struct later {
	const struct place *place;
	size_t value;
};

struct tw_counter {
	struct tw_value_reader values; /* its slots are not its own to clear */
	const struct tw_count_map *map;
	struct place *place;
	struct tw_value_slot *slots;
	struct way way[TW_LITERAL + TW_LITERAL_KINDS];
	/* What is left of the chunk. */
	const struct tw_chunk *chunk;
	const uint16_t *c, *c_end;
	const uint8_t *e, *e_end;
	uint32_t row; /* of the places of tags that follow, times ROW */
	uint8_t epoch;
	int started, has_partial; /* there has been a keyframe; the next execution stopped early, as `partial` says */
	struct tw_partial partial;
	struct sums sums;
	/* What has been taken of it: the slots of values, then these, and executions. */
	size_t n_list, n_later;
	uint32_t list[SLOTS + MOST_VALUES + 4];
	uint64_t value[SLOTS + MOST_VALUES + 4];
	struct later later[TAGS + 1];
};

static uint64_t all_ones(int holds)
{
	return holds ? ~0ull : 0;
}

static void fill_ways(struct tw_counter *c)
{
	for (unsigned i = 0; i < sizeof c->way / sizeof *c->way; i++) {
		struct way *w = &c->way[i];
		const int literal = i >= TW_NWAYS;
		if (literal) {
			w->literal_bytes = tw_literal_bytes(i);
			w->literal_sign = 1ull << (8 * w->literal_bytes - 1);
			w->literal_mask = 2 * w->literal_sign - 1;
		}
		w->step = all_ones(i == TW_WAY_STEP);
		w->successor = all_ones(i == TW_WAY_SUCCESSOR);
		w->reg = all_ones(i == TW_WAY_STEP || i >= TW_LITERAL + TW_LITERAL_REGISTER);
		w->follows = all_ones(literal);
	}
}

/* Each slot's, which stays. */
static void fill_registers(struct tw_counter *c)
{
	const struct tw_count_map *map = c->map;
	for (size_t i = 0; i < map->n_descriptors; i++) {
		const struct tw_descriptor *d = map->descriptor[i];
		const struct tw_value_place place = tw_value_map_row(map->values, d->number >> 16)[d->number & 0xffff];
		const uint8_t *reg = tw_value_map_registers(map->values, d->number);
		for (uint32_t k = 0; k < place.n; k++)
			c->slots[place.first + k].reg = reg[k];
	}
}

/* No fragment has run. */
static void clear_places(struct tw_counter *c)
{
	const struct tw_count_map *map = c->map;
	c->epoch = 0;
	for (size_t i = 0; i < map->n_descriptors; i++) {
		const size_t place = place_of(map, map->descriptor[i]->number);
		c->place[place] = map->place[place];
	}
}

/* All zeros, and for free(). Large tables are on huge pages, since they are accessed at random. */
static void *new_table(size_t bytes)
{
	enum { LARGE = 4 << 20 };
	void *table = bytes < LARGE ? calloc(1, bytes) : tw_array_huge(&bytes);
	return table && bytes >= LARGE ? memset(table, 0, bytes) : table;
}

struct tw_counter *tw_counter_new(const struct tw_count_map *map)
{
	struct tw_counter *c = calloc(1, sizeof *c);
	if (!c)
		return NULL;
	c->map = map;
	c->place = new_table(map->n_places * sizeof *c->place);
	c->slots = new_table(tw_value_map_slots(map->values) * sizeof *c->slots);
	if (!c->place || !c->slots) {
		tw_counter_free(c);
		return NULL;
	}
	tw_value_reader_init(&c->values, map->values, c->slots, 0);
	fill_ways(c);
	fill_registers(c);
	clear_places(c);
	return c;
}

void tw_counter_free(struct tw_counter *c)
{
	if (!c)
		return;
	free(c->place);
	free(c->slots);
	free(c);
}

/* ---- tags ---- */

/* Those of up to TAGS executions. */
static void add_lanes(struct sums *to, const struct tw_lane_sums *l)
{
	uint32_t each[4];
	_mm_storeu_si128((__m128i *)(void *)each, l->insns_to_reads);
	to->insns += each[0];
	to->blocks += each[1];
	to->refs += each[2];
	to->reads += each[3];
	to->writes += (uint32_t)_mm_cvtsi128_si32(l->writes);
}

static inline struct tw_value_slot *slot_of(const struct tw_counter *c, uint32_t number)
{
	return (struct tw_value_slot *)((char *)c->slots + (number & ~(uint32_t)FLAGS));
}

/*
 * The fragment runs for the first time in this chunk. Its slots are initially the last values of their registers, so
 * these are not needed yet.
 */
static void start_slots(struct tw_counter *c, struct place *p)
{
	struct tw_value_slot *s = slot_of(c, p->first);
	for (uint32_t i = 0; i < p->n; i++) {
		s[i].way = TW_WAY_STEP;
		s[i].step = 0;
	}
	p->epoch = c->epoch | (p->epoch & DEPENDS);
}

/* Takes executions up to whatever is not usual. */
static void take_tags(struct tw_counter *c)
{
	const uint16_t *at = c->c, *const end = c->c_end - TAGS_AHEAD;
	const uint16_t *const limit = at + TAGS < end ? at + TAGS : end;
	struct place *row = c->place + c->row;
	const uint8_t epoch = c->epoch;
	uint32_t *list = c->list, *const full = c->list + SLOTS;
	struct later *later = c->later;
	struct tw_lane_sums lanes = tw_lane_sums_none();
	const __m128i ahead = _mm_set_epi32(3 * SLOT, 2 * SLOT, SLOT, 0);
	while (at < limit && list < full) {
		struct place *p = &row[*at];
		uint8_t other = p->epoch ^ epoch;
		uint32_t first = p->first;
		if (__builtin_expect(other > DEPENDS, 0)) {
			if (*at == TW_TAG_UPPER) {
				row = c->place + (uint32_t)c->map->row[at[1]] * ROW;
				at += 2;
				continue;
			}
			if (!first || first & SHARED)
				break;
			start_slots(c, p);
			other &= DEPENDS;
			first |= FRESH;
		}
		at++;
		tw_lane_sums_add(&lanes, p);
		later->place = p;
		later->value = (size_t)(list - c->list);
		later += other;
		_mm_storeu_si128((__m128i *)(void *)list, _mm_add_epi32(_mm_set1_epi32((int)first), ahead));
		for (uint32_t i = 4; __builtin_expect(i < p->n, 0); i++)
			list[i] = first + i * SLOT;
		list += p->n;
	}
	c->c = at;
	c->row = (uint32_t)(row - c->place);
	c->n_list = (size_t)(list - c->list);
	c->n_later = (size_t)(later - c->later);
	add_lanes(&c->sums, &lanes);
}

/* ---- values ---- */

/* n values that are as their slots' ways say; their literals are there. */
static inline const uint8_t *take_expected(struct tw_counter *c, const uint32_t *list, uint64_t *value, size_t n, const uint8_t *literals)
{
	struct tw_value_predictor *p = &c->values.p;
	char *const slots = (char *)c->slots;
	for (size_t i = 0; i < n; i++) {
		struct tw_value_slot *s = (struct tw_value_slot *)(slots + (list[i] & ~(uint32_t)FLAGS));
		const struct way *way = &c->way[s->way];
		uint64_t *reg = &p->reg[s->reg];
		const uint64_t last = s->last, before = *reg;
		int32_t *successor = &p->successor[tw_successor_index(last)];
		const int32_t followed = *successor;
		uint64_t d;
		memcpy(&d, literals, sizeof d);
		literals += way->literal_bytes;
		d = ((d & way->literal_mask) ^ way->literal_sign) - way->literal_sign;
		d += ((uint64_t)(int64_t)s->step & way->step) + ((uint64_t)(int64_t)followed & way->successor);
		const uint64_t v = (last ^ ((last ^ before) & way->reg)) + d;
		*successor = followed ^ (int32_t)(((uint32_t)(v - last) ^ (uint32_t)followed) & (uint32_t)way->follows);
		s->step = (int32_t)(v - before);
		s->last = v;
		*reg = v;
		value[i] = v;
	}
	return literals;
}

/* The values of what take_tags has taken. 0: they make no sense. */
static int take_values(struct tw_counter *c)
{
	struct tw_value_reader *r = &c->values;
	for (size_t at = 0; at < c->n_list;) {
		const size_t left = c->n_list - at, n = r->run < (int64_t)left ? (size_t)r->run : left;
		r->literals.at = take_expected(c, c->list + at, c->value + at, n, r->literals.at);
		r->run -= (int64_t)n;
		at += n;
		if (at == c->n_list)
			break;
		struct tw_value_slot *s = slot_of(c, c->list[at]);
		if (c->list[at] & FRESH)
			s->last = r->p.reg[s->reg];
		c->value[at] = tw_value_reader_miss(r, (uint32_t)(s - c->slots));
		if (r->run < 0)
			return 0;
		at++;
	}
	return 1;
}

/* ---- what depends on values ---- */

static int add_loop(struct tw_counter *c, const struct tw_descriptor *d, uint64_t n)
{
	struct tw_static_counts each;
	tw_descriptor_counts(d, &each);
	if (n > c->chunk->insns / each.insns)
		return 0;
	c->sums.insns += n * each.insns;
	c->sums.blocks += n * each.blocks;
	c->sums.refs += n * each.refs;
	c->sums.reads += n * each.reads;
	c->sums.writes += n * each.writes;
	return 1;
}

static int add_rep(struct tw_counter *c, const struct tw_op *op, uint64_t before, uint64_t after)
{
	const uint64_t n = tw_op_iterations(op, before, after);
	if (n > c->chunk->refs)
		return 0;
	add_refs(&c->sums, op->type, n);
	add_refs(&c->sums, (uint8_t)op->count, op->flags & TW_OPF_SECOND ? n : 0);
	return 1;
}

/* An operation whose references depend on values; of others nothing. */
static int add_op(struct tw_counter *c, const struct tw_op *op, const uint64_t *values)
{
	if (op->kind == TW_OP_LANES)
		add_refs(&c->sums, op->type, tw_op_lane_refs(op, values));
	return op->kind != TW_OP_REP || add_rep(c, op, values[op->value], values[op->mask_value]);
}

static int add_execution(struct tw_counter *c, const struct tw_descriptor *d, const uint64_t *values)
{
	const struct tw_op *op = tw_descriptor_ops(d);
	int good = 1;
	if (d->flags & TW_DESC_LOOP)
		return add_loop(c, d, values[0]);
	for (unsigned i = 0; i < d->n_ops && good; i++)
		good = add_op(c, &op[i], values);
	return good;
}

/* An execution that stopped early, as the event before it says. */
static int add_partial(struct tw_counter *c, const struct tw_descriptor *d, const uint64_t *values)
{
	const struct tw_block *b = tw_descriptor_blocks(d);
	const struct tw_op *op = tw_descriptor_ops(d), *end = op + d->n_ops;
	const uint32_t limit = c->partial.insns < d->n_insns ? c->partial.insns : d->n_insns;
	c->sums.insns += limit;
	for (unsigned i = 0; i < d->n_blocks; i++)
		c->sums.blocks += b[i].first_insn < limit;
	for (; op < end && op->insn < limit; op++) {
		if (op->kind == TW_OP_REF || op->kind == TW_OP_BIT || op->kind == TW_OP_XSAVE)
			add_refs(&c->sums, op->type, 1);
		else if (!add_op(c, op, values))
			return 0;
	}
	while (op < end && op->insn == limit && op->kind != TW_OP_REP)
		op++;
	if (!c->partial.in_rep || limit == d->n_insns || op == end || op->insn != limit)
		return 1;
	return add_rep(c, op, values[op->value], c->partial.regs[tw_op_counter(op)]);
}

static int is_within(const struct tw_counter *c)
{
	return c->sums.insns <= c->chunk->insns && c->sums.refs <= c->chunk->refs;
}

static const struct tw_descriptor *descriptor_of(const struct tw_counter *c, const struct place *place)
{
	return c->map->of[place - c->place];
}

static int take_later(struct tw_counter *c)
{
	for (size_t i = 0; i < c->n_later; i++) {
		const struct tw_descriptor *d = descriptor_of(c, c->later[i].place);
		if (!add_execution(c, d, c->value + c->later[i].value) || !is_within(c))
			return 0;
	}
	return 1;
}

static int take_partial(struct tw_counter *c, const struct place *p)
{
	const struct tw_descriptor *d = descriptor_of(c, p);
	c->has_partial = 0;
	return add_partial(c, d, c->value) && is_within(c);
}

/* ---- whatever else there is ---- */

/* One execution, which may be the first one, or have stopped early. */
static int take_fragment(struct tw_counter *c, uint16_t tag)
{
	struct place *p = &c->place[c->row + tag];
	struct tw_lane_sums lanes = tw_lane_sums_none();
	const int first_time = (p->epoch ^ c->epoch) > DEPENDS;
	if (!c->started || !p->first)
		return 0;
	if (first_time)
		start_slots(c, p);
	for (c->n_list = 0; c->n_list < p->n; c->n_list++) {
		struct tw_value_slot *s = slot_of(c, p->first) + c->n_list;
		c->list[c->n_list] = (p->first & ~(uint32_t)FLAGS) + (uint32_t)c->n_list * SLOT;
		s->last = first_time ? c->values.p.reg[s->reg] : s->last;
	}
	if (!take_values(c))
		return 0;
	if (c->has_partial)
		return take_partial(c, p);
	tw_lane_sums_add(&lanes, p);
	add_lanes(&c->sums, &lanes);
	c->n_later = p->epoch & DEPENDS;
	c->later[0] = (struct later){p, 0};
	return take_later(c);
}

static void set_upper(struct tw_counter *c, uint32_t upper)
{
	c->row = upper < ROW ? (uint32_t)c->map->row[upper] * ROW : 0;
}

static int take_event(struct tw_counter *c)
{
	const struct tw_event_header *h = (const struct tw_event_header *)c->e;
	const size_t left = (size_t)(c->e_end - c->e);
	if (left < sizeof *h || !tw_event_valid(h, c->e + sizeof *h, left - sizeof *h))
		return 0;
	if (h->type == TW_EVENT_PARTIAL) {
		memcpy(&c->partial, h + 1, sizeof c->partial);
		c->has_partial = 1;
	}
	if (h->type == TW_EVENT_KEYFRAME) {
		const struct tw_keyframe *k = (const struct tw_keyframe *)(h + 1);
		tw_value_reader_keyframe(&c->values, k->regs);
		set_upper(c, k->upper);
		c->started = 1;
	}
	const size_t bytes = (sizeof *h + h->bytes + 7) & ~(size_t)7;
	c->e += bytes < left ? bytes : left;
	return 1;
}

/* The next tag, which is not at the end. */
static int take_any(struct tw_counter *c)
{
	const uint16_t tag = *c->c++;
	if (tag >= TW_TAG_FIRST)
		return take_fragment(c, tag);
	if (tag == TW_TAG_EVENT)
		return take_event(c);
	if (tag != TW_TAG_UPPER || c->c == c->c_end)
		return 0;
	set_upper(c, *c->c++);
	return 1;
}

/* ---- chunks ---- */

static int begin(struct tw_counter *c, const struct tw_coded_chunk *coded)
{
	const struct tw_chunk *chunk = &coded->chunk;
	if (c->epoch == LAST_EPOCH)
		clear_places(c);
	c->epoch = (uint8_t)(c->epoch + EPOCH_STEP);
	c->chunk = chunk;
	c->c = chunk->c;
	c->c_end = chunk->c + chunk->n_c;
	c->e = chunk->e;
	c->e_end = chunk->e + chunk->n_e;
	c->started = c->has_partial = 0;
	c->sums = (struct sums){0};
	set_upper(c, chunk->upper);
	return coded->values && tw_value_reader_begin(&c->values, coded->values, coded->n_values) == TW_OK;
}

static int is_as_told(const struct tw_counter *c)
{
	const struct sums *s = &c->sums;
	const struct tw_chunk *k = c->chunk;
	return s->insns == k->insns && s->blocks == k->blocks && s->refs == k->refs && s->reads == k->reads && s->writes == k->writes;
}

int tw_counter_holds(struct tw_counter *c, const struct tw_coded_chunk *coded)
{
	int good = begin(c, coded);
	while (good && c->c < c->c_end) {
		if (c->started && !c->has_partial && c->c_end - c->c > TAGS_AHEAD) {
			take_tags(c);
			good = take_values(c) && take_later(c) && is_within(c);
		}
		if (good && c->c < c->c_end)
			good = take_any(c);
	}
	return good && c->e == c->e_end && tw_value_reader_end(&c->values) == TW_OK && is_as_told(c);
}
