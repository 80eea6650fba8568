/*
 * The transform: whatever goes in comes out, in one piece or in many, by machine code, step by step or by the walk;
 * and no damage crashes the decoder.
 */
#include "recording/transform.h"
#include "base/channel.h"
#include "recording/encode_code.h"
#include "recording/encoder.h"
#include "recording/predictor.h"
#include "recording/recording.h"
#include "unit.h"
#include "unit_fragment.h"

#include <stdlib.h>

enum { N_FRAGMENTS = 40, N_TAGS = 20000, MAX_VALUES = 5, UPPER_B = 7 };

/* Streams under construction, and the values each fragment takes: its number modulo 5 or so. */
static uint16_t c[N_TAGS * 2];
static uint64_t m[N_TAGS * MAX_VALUES + 100];
static _Alignas(8) uint8_t e[1 << 16];
static struct tw_chunk chunk;
static struct tw_value_map *map;
static struct tw_encoder *coder; /* one with machine code, for the same map */
static uint64_t seed = 1;
static uint32_t program; /* that chunks are of: none of its threads runs fragments of another */

static uint64_t any(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

static unsigned values_of(unsigned fragment)
{
	return fragment % MAX_VALUES;
}

/* Fragments 16.. under two upper halves. The values are of registers, but the last of each is of a string instruction. */
static void make_map(void)
{
	map = tw_value_map_new(TW_ENCODER_SLOTS);
	for (unsigned i = 0; i < 2 * N_FRAGMENTS; i++) {
		unsigned n = values_of(i % N_FRAGMENTS), lower = TW_TAG_FIRST + i % N_FRAGMENTS;
		struct tw_op op[MAX_VALUES];
		for (unsigned k = 0; k < n; k++)
			op[k] = (struct tw_op){
			    .kind = TW_OP_RECORD, .base = (uint8_t)(any() % TW_NREGS), .index = TW_NOREG, .value = (uint16_t)k};
		if (n == 4)
			op[3] = (struct tw_op){
			    .kind = TW_OP_REP, .base = TW_RDI, .index = TW_NOREG, .size = 1, .type = TW_WRITE, .value = 3, .mask_value = 3};
		struct tw_descriptor *d = unit_descriptor((i < N_FRAGMENTS ? 0 : UPPER_B << 16) | lower, 2, (uint16_t)n, op, (uint16_t)n);
		EQUAL(tw_value_map_add(map, NULL, d), TW_OK);
		free(d);
	}
}

/* ---- making streams ---- */

static void begin(void)
{
	chunk = (struct tw_chunk){.c = c, .m = m, .e = e};
}

static void put_keyframe(uint32_t upper)
{
	struct tw_event_header h = {TW_TAG_EVENT, TW_EVENT_KEYFRAME, sizeof(struct tw_keyframe)};
	struct tw_keyframe k = {.upper = upper};
	for (unsigned i = 0; i < TW_NREGS; i++)
		k.regs[i] = any();
	memcpy(e + chunk.n_e, &h, sizeof h);
	memcpy(e + chunk.n_e + sizeof h, &k, sizeof k);
	chunk.n_e += (sizeof h + sizeof k + 7) & ~(size_t)7;
	c[chunk.n_c++] = TW_TAG_EVENT;
}

static void put_execution(unsigned fragment, uint64_t (*value)(unsigned fragment, unsigned k))
{
	c[chunk.n_c++] = (uint16_t)(TW_TAG_FIRST + fragment);
	for (unsigned k = 0; k < values_of(fragment); k++)
		m[chunk.n_m++] = value(fragment, k);
}

static uint64_t random_value(unsigned fragment, unsigned k)
{
	(void)fragment, (void)k;
	return any() >> any() % 64;
}

static uint64_t extreme_value(unsigned fragment, unsigned k)
{
	static const uint64_t extremes[] = {0, 1, UINT64_MAX, 1ull << 63, INT64_MAX, 1ull << 31, 1ull << 32, UINT32_MAX, 0xff, 0x100};
	(void)fragment, (void)k;
	return extremes[any() % 10];
}

static uint64_t stride_value(unsigned fragment, unsigned k)
{
	static uint64_t at[N_FRAGMENTS][MAX_VALUES];
	return at[fragment][k] += 8 * (k + 1);
}

/* What longest-match loops do: a chain of values that is walked again and again. */
static uint64_t chain_value(unsigned fragment, unsigned k)
{
	static uint64_t at = 1;
	(void)fragment, (void)k;
	at = at % 500 ? at * 7919 % 100003 : 1;
	return 0x7f0000000000 + at * 16;
}

/* Differences of two bytes, that come but once. */
static uint64_t narrow_value(unsigned fragment, unsigned k)
{
	static uint64_t at[N_FRAGMENTS][MAX_VALUES];
	return at[fragment][k] += any() % 60000 - 30000;
}

/* For a while differences of a fixed number of bytes, or a stride, or repetitions. */
static uint64_t moody_value(unsigned fragment, unsigned k)
{
	static struct {
		uint64_t at;
		unsigned left, mood;
	} slot[N_FRAGMENTS][MAX_VALUES], *s;
	s = &slot[fragment][k];
	if (!s->left) {
		s->left = 1 + (unsigned)(any() % 40);
		s->mood = (unsigned)(any() % 10);
	}
	s->left--;
	return s->at += s->mood < 8 ? (uint64_t)((int64_t)any() >> 8 * s->mood) : 16 * (s->mood - 8);
}

static void make(unsigned n, unsigned fragments, uint64_t (*value)(unsigned, unsigned))
{
	begin();
	put_keyframe(0);
	for (unsigned i = 0; i < n; i++) {
		put_execution(fragments > 1 ? (unsigned)(any() % fragments) : 4, value);
		if (any() % 100 == 0) {
			c[chunk.n_c++] = TW_TAG_UPPER;
			c[chunk.n_c++] = any() % 2 ? 0 : UPPER_B;
		}
		if (any() % 1000 == 0 && chunk.n_e < sizeof e - 1024)
			put_keyframe(any() % 2 ? 0 : UPPER_B);
	}
}

/* ---- round trips ---- */

/* One of the program's two, or none that is known. */
static uint32_t any_thread(void)
{
	return any() % 8 ? program * 2 + (any() % 8 == 0) : TW_NO_THREAD;
}

/* Sections, each of all its parts. */
struct sections {
	uint64_t raw[TW_NSTREAMS];
	struct tw_bytes of[TW_NSTREAMS];
};

static struct sections end(struct tw_encoder *encoder)
{
	struct sections s = {0};
	EQUAL(tw_encoder_end(encoder), TW_OK);
	const struct tw_coded *coded = tw_encoder_coded(encoder);
	memcpy(s.raw, coded->raw, sizeof s.raw);
	for (unsigned i = 0; i < TW_NSTREAMS; i++)
		EQUAL(tw_coded_section(coded, i, &s.of[i]), TW_OK);
	return s;
}

static void release(struct sections *s)
{
	for (unsigned i = 0; i < TW_NSTREAMS; i++)
		free(s->of[i].at);
}

static int decode(const struct sections *coded, struct tw_chunk *out)
{
	out->c = malloc(chunk.n_c * sizeof *c + 1);
	out->m = malloc(chunk.n_m * sizeof *m + 1);
	out->e = malloc(chunk.n_e + 1);
	out->n_c = chunk.n_c;
	out->n_m = chunk.n_m;
	out->n_e = chunk.n_e;
	memcpy(out->e, e, chunk.n_e);
	static struct tw_tag_predictor predictor;
	int error = tw_decode_tags(&predictor, coded->of[TW_STREAM_C].at, coded->of[TW_STREAM_C].n, out->c, out->n_c);
	return error ? error : tw_decode_values(map, coded->of[TW_STREAM_M].at, coded->of[TW_STREAM_M].n, out);
}

static void same(const struct sections *coded)
{
	struct tw_chunk out = {.upper = chunk.upper};
	EQUAL(coded->raw[TW_STREAM_C], chunk.n_c * 2);
	EQUAL(coded->raw[TW_STREAM_M], chunk.n_m * 8);
	EQUAL(decode(coded, &out), TW_OK);
	EQUAL(out.n_m, chunk.n_m);
	CHECK(!memcmp(out.c, c, chunk.n_c * sizeof *c));
	CHECK(!memcmp(out.m, m, chunk.n_m * sizeof *m));
	EQUAL(coded->of[TW_STREAM_E].n, chunk.n_e);
	CHECK(!chunk.n_e || !memcmp(coded->of[TW_STREAM_E].at, e, chunk.n_e));
	tw_chunk_release(&out);
}

static void same_bytes(const struct sections *coded, struct sections other)
{
	for (unsigned i = 0; i < TW_NSTREAMS; i++) {
		const struct tw_bytes *a = &coded->of[i], *b = &other.of[i];
		EQUAL(b->n, a->n);
		EQUAL(other.raw[i], coded->raw[i]);
		CHECK(a->n != b->n || !a->n || !memcmp(a->at, b->at, a->n));
	}
	release(&other);
}

/* With machine code the same bytes come out. */
static void same_by_code(const struct sections *coded)
{
	tw_encoder_begin(coder, chunk.upper, any_thread());
	EQUAL(tw_encoder_add(coder, &chunk), TW_OK);
	same_bytes(coded, end(coder));
}

/* The record of an execution: the tag, its values. */
static uint8_t *put_record(uint8_t *to, uint16_t tag, const uint64_t *values, unsigned n)
{
	memcpy(to, &tag, sizeof tag);
	memcpy(to + sizeof tag, values, n * sizeof *values);
	return to + sizeof tag + n * sizeof *values;
}

/* What a record counts for here. */
static struct tw_record_sums sums_of(uint16_t tag)
{
	return (struct tw_record_sums){tag | 1ull << 32, tag * 2ull | 3ull << 32, tag % 3};
}

/* Every fifth fragment is a loop, if it has values. */
static int is_loop(uint16_t tag, unsigned n)
{
	return tag % 5 == 0 && n;
}

/* Adds what the record of this tag counts for, whose first value is `turns`. */
static void expect(struct tw_records *expected, uint16_t tag, unsigned n, uint64_t turns)
{
	const struct tw_record_sums each = sums_of(tag);
	if (is_loop(tag, n)) {
		expected->turns.insns += turns * tag;
		expected->turns.blocks += turns;
		expected->turns.refs += turns * tag * 2;
		expected->turns.reads += turns * 3;
		expected->turns.writes += turns * (tag % 3);
	} else {
		expected->sums.insns_blocks += each.insns_blocks;
		expected->sums.refs_reads += each.refs_reads;
		expected->sums.writes += each.writes;
	}
}

/* Takes records up to `to`, after which there is nothing. *r has the totals so far. */
static void take_records(struct tw_encoder *encoder, const uint8_t *from, const uint8_t *to, struct tw_records *r)
{
	uint32_t upper;
	r->p = from;
	r->limit = to - 1;
	while (upper = tw_encoder_records(encoder, r), r->p < to) {
		uint16_t tag;
		memcpy(&tag, r->p, sizeof tag);
		const struct tw_record_sums each = sums_of(tag);
		EQUAL(tw_encoder_record(encoder, r, &each, is_loop(tag, tw_value_map_row(map, upper)[tag].n)), TW_OK);
	}
}

/* What stands at index i of the tags, as streams, under this upper half, which it may change. */
static struct tw_chunk stream_at(size_t i, size_t m_at, size_t e_at, uint32_t *upper)
{
	struct tw_chunk s = {.c = c + i, .n_c = 1, .m = m + m_at, .e = e + e_at};
	const struct tw_event_header *h = (const struct tw_event_header *)(const void *)s.e;
	struct tw_keyframe k;
	if (c[i] >= TW_TAG_FIRST) {
		s.n_m = tw_value_map_row(map, *upper)[c[i]].n;
	} else if (c[i] == TW_TAG_UPPER && i + 1 < chunk.n_c) {
		s.n_c = 2;
		*upper = c[i + 1];
	} else if (c[i] == TW_TAG_EVENT && e_at < chunk.n_e) {
		s.n_e = sizeof *h + ((h->bytes + 7u) & ~7u);
		memcpy(&k, h + 1, sizeof k);
		*upper = k.upper;
	}
	return s;
}

/*
 * The same chunk in records, a tenth of which are given as streams, like events. Invalid data never comes in records.
 * The encoder may know fragments' records from an earlier chunk of the same thread.
 */
static void same_by_records(struct tw_encoder *encoder, const struct sections *coded)
{
	static uint8_t bytes[sizeof c + sizeof m + 64];
	struct tw_records records = {0}, expected = {0};
	uint8_t *to = bytes;
	size_t m_at = 0, e_at = 0;
	uint32_t upper = chunk.upper;
	tw_encoder_begin(encoder, upper, any_thread());
	EQUAL(tw_encoder_open(encoder, chunk.n_c, chunk.n_m, chunk.n_e), TW_OK);
	for (size_t i = 0; i < chunk.n_c;) {
		const struct tw_chunk s = stream_at(i, m_at, e_at, &upper);
		if (c[i] >= TW_TAG_FIRST && i % 10) {
			expect(&expected, c[i], (unsigned)s.n_m, s.n_m ? *s.m : 0);
			to = put_record(to, c[i], s.m, (unsigned)s.n_m);
		} else {
			take_records(encoder, bytes, to, &records);
			to = bytes;
			EQUAL(tw_encoder_more(encoder, &s), TW_OK);
		}
		m_at += s.n_m;
		e_at += s.n_e;
		i += s.n_c;
	}
	take_records(encoder, bytes, to, &records);
	EQUAL(tw_encoder_close(encoder), TW_OK);
	CHECK(!memcmp(&records.sums, &expected.sums, sizeof expected.sums));
	CHECK(!memcmp(&records.turns, &expected.turns, sizeof expected.turns));
	struct sections by_records = end(encoder);
	if (m_at == chunk.n_m && e_at == chunk.n_e)
		same_bytes(coded, by_records);
	else
		release(&by_records);
}

/* Returns the bytes of the encoded C and M. */
static size_t round_trip(struct tw_encoder *encoder)
{
	tw_encoder_begin(encoder, chunk.upper, any_thread());
	EQUAL(tw_encoder_add(encoder, &chunk), TW_OK);
	struct sections coded = end(encoder);
	size_t bytes = coded.of[TW_STREAM_C].n + coded.of[TW_STREAM_M].n;
	same(&coded);
	same_by_code(&coded);
	same_by_records(encoder, &coded);
	same_by_records(coder, &coded);
	release(&coded);
	return bytes;
}

static void round_trips(struct tw_encoder *encoder)
{
	begin();
	round_trip(encoder);
	make(1, 1, random_value);
	round_trip(encoder);
	make(N_TAGS, N_FRAGMENTS, random_value);
	round_trip(encoder);
	make(N_TAGS, N_FRAGMENTS, extreme_value);
	round_trip(encoder);
	make(N_TAGS, N_FRAGMENTS, moody_value);
	round_trip(encoder);
	make(N_TAGS, N_FRAGMENTS, stride_value);
	round_trip(encoder);
	make(N_TAGS, 3, chain_value);
	round_trip(encoder);
}

/* What is regular becomes small: the runs of 255 and what it takes to learn. */
static void regular(struct tw_encoder *encoder)
{
	begin();
	put_keyframe(0);
	for (unsigned i = 0; i < N_TAGS; i++)
		put_execution(i % 2, stride_value);
	CHECK(round_trip(encoder) < (N_TAGS + N_TAGS / 2) / 255 + 200 + TW_LITERAL_PADDING);
	begin();
	put_keyframe(0);
	for (unsigned i = 0; i < N_TAGS; i++)
		put_execution(1, chain_value);
	CHECK(round_trip(encoder) < 2 * N_TAGS / 255 + 8 * 500);
}

/* What is never predicted takes its literals and nothing else, in the end. */
static void irregular(struct tw_encoder *encoder)
{
	begin();
	put_keyframe(0);
	for (unsigned i = 0; i < N_TAGS; i++)
		put_execution(1 + i % 3, narrow_value);
	CHECK(round_trip(encoder) < chunk.n_m * 2 + chunk.n_m / 255 + N_TAGS / 255 + 200 + TW_LITERAL_PADDING);
}

/* Values that have become regular are literals only for a limited time, however many irregular ones came before. */
static void regular_again(struct tw_encoder *encoder)
{
	begin();
	put_keyframe(0);
	for (unsigned i = 0; i < N_TAGS; i++)
		put_execution(4, i < N_TAGS / 8 ? random_value : stride_value);
	CHECK(round_trip(encoder) < chunk.n_m * sizeof *m / 8 * 7);
}

/* Upper halves that look like symbols. */
static void odd_tags(struct tw_encoder *encoder)
{
	begin();
	for (unsigned i = 0; i < 3000; i++) {
		c[chunk.n_c++] = TW_TAG_UPPER;
		c[chunk.n_c++] = (uint16_t)(any() % 5);
	}
	round_trip(encoder);
	begin();
	for (unsigned i = 0; i < 300; i++)
		c[chunk.n_c++] = (uint16_t)(any() % 4);
	round_trip(encoder);
}

/* Fragments that take turns, few or many, for long or not: runs of tags that overlap what they repeat. */
static void turns(struct tw_encoder *encoder)
{
	for (unsigned period = 1; period <= N_FRAGMENTS; period++) {
		unsigned n = period + (unsigned)(any() % 100);
		begin();
		for (unsigned i = 0; i < n; i++)
			put_execution(i % period, stride_value);
		put_keyframe(UPPER_B);
		for (unsigned i = 0; i < 3 * n; i++)
			put_execution(i % period, random_value);
		round_trip(encoder);
	}
}

/* What has run before in the same order costs next to nothing, however irregular it is. */
static void repeated(struct tw_encoder *encoder)
{
	enum { N = 3000, TIMES = 6 };
	begin();
	for (unsigned i = 0; i < N; i++)
		c[i] = (uint16_t)(TW_TAG_FIRST + 5 * (any() % 8)); /* these take no values */
	for (unsigned i = N; i < N * TIMES; i++)
		c[i] = c[i - N];
	chunk.n_c = N * TIMES;
	tw_encoder_begin(encoder, 0, TW_NO_THREAD);
	EQUAL(tw_encoder_add(encoder, &chunk), TW_OK);
	struct sections coded = end(encoder);
	same(&coded);
	CHECK(coded.of[TW_STREAM_C].n < 4 * N + N * TIMES / 8);
	release(&coded);
}

/* Tags of many pieces are encoded before the chunk ends, where they are many. */
static void many_tags(struct tw_encoder *encoder)
{
	enum { PIECES = 106 };
	uint16_t *out = malloc(PIECES * N_TAGS * sizeof *out);
	static struct tw_tag_predictor predictor;
	begin();
	while (chunk.n_c < N_TAGS)
		c[chunk.n_c++] = (uint16_t)(TW_TAG_FIRST + 5 * (any() % 8)); /* these take no values */
	tw_encoder_begin(encoder, 0, TW_NO_THREAD);
	for (unsigned i = 0; i < PIECES; i++)
		EQUAL(tw_encoder_add(encoder, &chunk), TW_OK);
	CHECK(tw_encoder_coded(encoder)->part[TW_PART_SYMBOLS].n > N_TAGS);
	struct sections coded = end(encoder);
	const struct tw_bytes *section = &coded.of[TW_STREAM_C];
	EQUAL(tw_decode_tags(&predictor, section->at, section->n, out, PIECES * N_TAGS), TW_OK);
	for (unsigned i = 0; i < PIECES; i++)
		CHECK(!memcmp(out + i * N_TAGS, c, N_TAGS * sizeof *c));
	release(&coded);
	free(out);
}

/* Values without an execution, and an execution without its values. */
static void unfit(struct tw_encoder *encoder)
{
	make(100, N_FRAGMENTS, random_value);
	for (unsigned i = 0; i < 50; i++)
		m[chunk.n_m++] = any();
	round_trip(encoder);
	struct tw_chunk more = chunk;
	tw_encoder_begin(encoder, 0, TW_NO_THREAD);
	EQUAL(tw_encoder_add(encoder, &chunk), TW_OK);
	EQUAL(tw_encoder_add(encoder, &more), TW_ERR_STREAM);
	make(100, 1, random_value);
	chunk.n_m -= 3;
	round_trip(encoder);
}

static void unknown_fragment(struct tw_encoder *encoder)
{
	struct tw_chunk out = {0};
	begin();
	c[chunk.n_c++] = TW_TAG_FIRST + N_FRAGMENTS;
	tw_encoder_begin(encoder, 0, TW_NO_THREAD);
	EQUAL(tw_encoder_add(encoder, &chunk), TW_ERR_FRAGMENT);
	make(100, 1, random_value);
	tw_encoder_begin(encoder, chunk.upper, TW_NO_THREAD);
	EQUAL(tw_encoder_add(encoder, &chunk), TW_OK);
	struct sections coded = end(encoder);
	struct tw_value_map *all = map;
	map = tw_value_map_new(TW_ENCODER_SLOTS);
	EQUAL(decode(&coded, &out), TW_OK);
	EQUAL(out.n_m, 0);
	tw_chunk_release(&out);
	tw_value_map_free(map);
	map = all;
	release(&coded);
}

/* The same chunk in pieces encodes to the same bytes. */
static void pieces(struct tw_encoder *encoder)
{
	uint16_t ends[16];
	uint64_t m_ends[16], e_ends[16];
	unsigned n = 0;
	begin();
	for (; n < 16; n++) {
		put_keyframe(0);
		for (unsigned i = 0; i < 200; i++)
			put_execution((unsigned)(any() % 8), n % 2 ? stride_value : random_value);
		ends[n] = (uint16_t)chunk.n_c;
		m_ends[n] = chunk.n_m;
		e_ends[n] = chunk.n_e;
	}
	tw_encoder_begin(encoder, 0, TW_NO_THREAD);
	for (unsigned i = 0; i < n; i++) {
		size_t from = i ? ends[i - 1] : 0, m_from = i ? m_ends[i - 1] : 0, e_from = i ? e_ends[i - 1] : 0;
		struct tw_chunk piece = {.c = c + from,
		                         .n_c = ends[i] - from,
		                         .m = m + m_from,
		                         .n_m = m_ends[i] - m_from,
		                         .e = e + e_from,
		                         .n_e = e_ends[i] - e_from};
		EQUAL(tw_encoder_add(encoder, &piece), TW_OK);
	}
	struct sections coded = end(encoder);
	same(&coded);
	release(&coded);
}

/* ---- damage ---- */

/* Any byte changed, any end cut off: an error, or other values, but no access out of bounds (run this with ASAN=1). */
static void damage(struct tw_encoder *encoder)
{
	unsigned errors = 0;
	make(300, N_FRAGMENTS, random_value);
	tw_encoder_begin(encoder, chunk.upper, TW_NO_THREAD);
	EQUAL(tw_encoder_add(encoder, &chunk), TW_OK);
	struct sections coded = end(encoder);
	for (unsigned i = 0; i < 2000; i++) {
		struct sections bad = coded;
		struct tw_bytes *s = &bad.of[any() % 2];
		s->at = memcpy(malloc(s->n), s->at, s->n);
		uint8_t *whole = s->at;
		if (i % 2)
			s->at[any() % s->n] ^= (uint8_t)(1 + any() % 255);
		else
			s->n = any() % s->n;
		struct tw_chunk out = {.upper = chunk.upper};
		int error = decode(&bad, &out);
		errors += error == TW_ERR_DAMAGED;
		CHECK(!error || error == TW_ERR_DAMAGED);
		CHECK(i % 2 || error == TW_ERR_DAMAGED);
		tw_chunk_release(&out);
		free(whole);
	}
	CHECK(errors > 1000);
	release(&coded);
}

/* Many chunks with one encoder: its retained state must have no effect, also when its count of chunks has wrapped around. */
static void turned_over(struct tw_encoder *encoder)
{
	begin();
	for (unsigned i = 0; i < 70000; i++)
		tw_encoder_begin(encoder, 0, TW_NO_THREAD);
	make(1000, N_FRAGMENTS, stride_value);
	round_trip(encoder);
}

/* More fragments than have machine code for their records, and one value each. */
enum { N_MANY = 9999 };

static struct tw_value_map *many_fragments(void)
{
	struct tw_value_map *many = tw_value_map_new(TW_ENCODER_SLOTS);
	for (unsigned i = 0; i < N_MANY; i++) {
		struct tw_op op = {.kind = TW_OP_RECORD, .base = (uint8_t)(i % TW_NREGS), .index = TW_NOREG};
		struct tw_descriptor *d = unit_descriptor(TW_TAG_FIRST + i, 2, 1, &op, 1);
		EQUAL(tw_value_map_add(many, NULL, d), TW_OK);
		free(d);
	}
	return many;
}

/* The chunk as streams, and in records by this encoder and perhaps one with code, comes to the same. */
static void round_trip_with(struct tw_encoder *encoder, struct tw_encoder *with_code)
{
	tw_encoder_begin(encoder, chunk.upper, any_thread());
	EQUAL(tw_encoder_add(encoder, &chunk), TW_OK);
	struct sections coded = end(encoder);
	same_by_records(encoder, &coded);
	if (with_code)
		same_by_records(with_code, &coded);
	release(&coded);
}

/* They are taken by code, then by the walk, and what comes out is the same. */
static void many_fragments_run(void)
{
	struct tw_value_map *all = map;
	struct tw_encoder_code *code = tw_encoder_code_new(tw_encoder_value);
	map = many_fragments();
	struct tw_encoder *encoder = tw_encoder_new(map, NULL), *with_code = tw_encoder_new(map, code);
	tw_encoder_code_saw(code, 100, 1);
	CHECK(!tw_encoder_code_takes_records(code));
	tw_encoder_code_saw(code, 1 << 30, 1);
	CHECK(tw_encoder_code_takes_records(code));
	for (unsigned i = 0, wide = 0; i < 40 && wide < 2; i++) {
		begin();
		put_keyframe(0);
		for (unsigned k = 0; k < 2 * N_MANY; k++) {
			c[chunk.n_c++] = (uint16_t)(TW_TAG_FIRST + k % N_MANY);
			m[chunk.n_m++] = any() % 4 ? k * (uint64_t)i : any();
		}
		round_trip_with(encoder, with_code);
		wide += !tw_encoder_code_takes_records(code);
	}
	tw_encoder_code_saw(code, 1 << 30, 1);
	CHECK(!tw_encoder_code_takes_records(code));
	tw_encoder_free(encoder);
	tw_encoder_free(with_code);
	tw_encoder_code_free(code);
	tw_value_map_free(map);
	map = all;
}

/*
 * Fragments of one program, and values of another's that had their slots in an earlier chunk: none of these is taken
 * for a record's counts.
 */
static void slots_of_two_programs(void)
{
	enum { N = 200 };
	struct tw_value_family family[2] = {{0}, {0}};
	struct tw_value_map *all = map;
	struct tw_op op[N];
	map = tw_value_map_new(TW_ENCODER_SLOTS);
	for (unsigned k = 0; k < N; k++)
		op[k] = (struct tw_op){.kind = TW_OP_RECORD, .base = TW_RAX, .index = TW_NOREG, .value = (uint16_t)k};
	for (unsigned i = 0; i <= N; i++) {
		struct tw_descriptor *d = unit_descriptor(TW_TAG_FIRST + i, 2, i ? 0 : N, op, i ? 0 : N);
		EQUAL(tw_value_map_add(map, &family[i > 0], d), TW_OK);
		free(d);
	}
	struct tw_encoder *encoder = tw_encoder_new(map, NULL);
	for (unsigned i = 0; i < 40; i++) {
		program = (uint32_t)(i < 2 ? i : any() % 2);
		begin();
		put_keyframe(0);
		for (unsigned k = 0; k < (program ? N : 2); k++)
			c[chunk.n_c++] = (uint16_t)(TW_TAG_FIRST + (program ? 1 + k : 0));
		for (uint64_t k = 0; k < (program ? 0 : 2 * N); k++)
			m[chunk.n_m++] = (k + i) * k << 15;
		round_trip_with(encoder, NULL);
	}
	program = 0;
	tw_encoder_free(encoder);
	tw_value_family_forget(&family[0]);
	tw_value_family_forget(&family[1]);
	tw_value_map_free(map);
	map = all;
}

int main(void)
{
	make_map();
	struct tw_encoder_code *code = tw_encoder_code_new(tw_encoder_value);
	struct tw_encoder *encoder = tw_encoder_new(map, NULL);
	CHECK(code != NULL);
	tw_encoder_code_saw(code, 1 << 30, 1);
	coder = tw_encoder_new(map, code);
	round_trips(encoder);
	regular(encoder);
	irregular(encoder);
	regular_again(encoder);
	odd_tags(encoder);
	turns(encoder);
	repeated(encoder);
	many_tags(encoder);
	unfit(encoder);
	unfit(coder);
	unknown_fragment(encoder);
	unknown_fragment(coder);
	pieces(encoder);
	pieces(coder);
	damage(encoder);
	turned_over(coder);
	round_trips(encoder);
	many_fragments_run();
	slots_of_two_programs();
	tw_encoder_free(encoder);
	tw_encoder_free(coder);
	tw_encoder_code_free(code);
	tw_value_map_free(map);
	return UNIT_END();
}
