/*
 * The predictor of the transform, shared by encoder and decoders. All must make exactly the same calls in the same
 * order. It is part of the format: docs/format.md describes it, and a change here requires a new version there.
 */
#ifndef TW_PREDICTOR_H
#define TW_PREDICTOR_H

#include "base/channel.h"
#include "recording/value_map.h"

#include <stddef.h>
#include <string.h>

enum { TW_SUCCESSOR_BITS = 15 };                /* of the table of successors: small enough to stay in near caches */
#define TW_SUCCESSOR_FACTOR 0x9e3779b97f4a7c15u /* its index: the upper bits of the product */

/* ---- tags ---- */

enum {
	TW_CONTEXT = 3,       /* tags */
	TW_CONTEXT_BITS = 16, /* of the table of contexts */
};

/* Where, in the chunk's tags, each context of TW_CONTEXT tags (found by hash) was met last: what followed there is expected again. */
struct tw_tag_predictor {
	uint32_t after[1 << TW_CONTEXT_BITS]; /* index of the tag after it; 0: it was not met */
	size_t expected;                      /* the index of the tag expected next; 0: nothing is */
};

/* The context of the tag with index `i`, which is not 0. */
static inline size_t tw_tag_context(const uint16_t *tags, size_t i)
{
	uint64_t context = tags[i - 1];
	for (size_t k = 2; k <= TW_CONTEXT && k <= i; k++)
		context |= (uint64_t)tags[i - k] << 16 * (k - 1);
	return (size_t)(context * 0x9e3779b97f4a7c15u >> (64 - TW_CONTEXT_BITS));
}

/* After a misprediction: `i` is the index of the tag after it. */
static inline void tw_tag_look_up(struct tw_tag_predictor *p, const uint16_t *tags, size_t i)
{
	uint32_t *after = &p->after[tw_tag_context(tags, i)];
	p->expected = *after;
	*after = (uint32_t)i;
}

/* ---- values ---- */

/* Modes of predicting a value, which are also the first codes. */
enum tw_way {
	TW_WAY_STEP,      /* the register's last value, plus the difference to it the last time in this slot */
	TW_WAY_SUCCESSOR, /* what followed the slot's last value, the last time a prediction failed, or was not made, after that value */
	TW_WAY_LAST,      /* the slot's last value */
	TW_NWAYS
};

/*
 * A *literal* is a difference in 1 to 8 bytes, lowest first, the highest bit being the sign: TW_LITERAL + (bytes - 1)
 * to the slot's last value, or that plus TW_LITERAL_REGISTER to the register's. These numbers are codes for one
 * value, and also modes of slots whose values are not predicted: each value is a literal of this kind, and counts as
 * predicted. TW_CODE_LASTING + the literal's kind is the code that makes it the slot's mode.
 */
enum {
	TW_LITERAL = TW_NWAYS,
	TW_LITERAL_REGISTER = 8,
	TW_LITERAL_KINDS = 16,
	TW_CODE_LASTING = TW_LITERAL_KINDS,
	TW_NCODES = TW_LITERAL + 2 * TW_LITERAL_KINDS
};

/*
 * A record has at most this many values that are decoded without checking what is left of the literals, which end in
 * as many bytes as these may take.
 */
enum { TW_QUICK_VALUES = 64, TW_LITERAL_PADDING = TW_QUICK_VALUES * sizeof(uint64_t) };

/* A run of 255 goes on in the next byte. */
enum { TW_RUN_MORE = 255 };

struct tw_value_slot {
	uint64_t last;
	int32_t step;
	uint8_t epoch; /* not the predictor's: the rest is of an earlier chunk */
	uint8_t reg;
	uint8_t way;
	uint8_t doubt; /* not the predictor's: in `way`, by whoever keeps the slot */
};

struct tw_value_predictor {
	uint64_t reg[TW_NREGS + 1]; /* last values seen; the last one is for slots without a register */
	struct tw_value_slot *slot; /* by number; as many as the map had when the chunk, or piece, was started */
	uint8_t epoch;
	uint32_t upper;
	const struct tw_value_place *row; /* of `upper` */
	const struct tw_value_map *map;
	int32_t successor[1 << TW_SUCCESSOR_BITS]; /* the difference to the value it followed */
};

static inline size_t tw_successor_index(uint64_t value)
{
	return (size_t)(value * TW_SUCCESSOR_FACTOR >> (64 - TW_SUCCESSOR_BITS));
}

static inline uint64_t tw_successor(const struct tw_value_predictor *p, uint64_t last)
{
	return last + (uint64_t)(int64_t)p->successor[tw_successor_index(last)];
}

static inline void tw_follow(struct tw_value_predictor *p, uint64_t last, uint64_t value)
{
	p->successor[tw_successor_index(last)] = (int32_t)(value - last);
}

/* For a kind of literal: its bytes, and what it is a difference to. */
static inline unsigned tw_literal_bytes(unsigned kind)
{
	return (kind - TW_LITERAL) % TW_LITERAL_REGISTER + 1;
}

static inline uint64_t tw_literal_base(const struct tw_value_predictor *p, const struct tw_value_slot *s, unsigned kind)
{
	return kind < TW_LITERAL + TW_LITERAL_REGISTER ? s->last : p->reg[s->reg];
}

/* The lowest `bytes` of v, with their sign. */
static inline uint64_t tw_literal_cut(uint64_t v, unsigned bytes)
{
	unsigned shift = 64 - 8 * bytes;
	return (uint64_t)((int64_t)(v << shift) >> shift);
}

/* By a way that is no literal. */
static inline uint64_t tw_predict(const struct tw_value_predictor *p, const struct tw_value_slot *s)
{
	if (s->way == TW_WAY_STEP)
		return p->reg[s->reg] + (uint64_t)(int64_t)s->step;
	return s->way == TW_WAY_LAST ? s->last : tw_successor(p, s->last);
}

/* After each value. */
static inline void tw_learn(struct tw_value_predictor *p, struct tw_value_slot *s, uint64_t value)
{
	s->step = (int32_t)(value - p->reg[s->reg]);
	s->last = value;
	p->reg[s->reg] = value;
}

/* The slots of a fragment that runs for the first time in this chunk. */
static inline void tw_start_slots(struct tw_value_predictor *p, uint32_t number, struct tw_value_slot *s, uint32_t n)
{
	const uint8_t *reg = tw_value_map_registers(p->map, number);
	for (uint32_t i = 0; i < n; i++)
		s[i] = (struct tw_value_slot){.last = p->reg[reg[i]], .epoch = p->epoch, .reg = reg[i]};
}

static inline void tw_set_upper(struct tw_value_predictor *p, uint32_t upper)
{
	p->upper = upper;
	p->row = tw_value_map_row(p->map, upper);
}

/* For a chunk's start. The caller sets the epoch and the slots. */
static inline void tw_start_values(struct tw_value_predictor *p, const struct tw_value_map *map, uint32_t upper)
{
	memset(p->reg, 0, sizeof p->reg);
	memset(p->successor, 0, sizeof p->successor);
	p->map = map;
	tw_set_upper(p, upper);
}

/* Takes the event at e + at: a keyframe sets registers and upper half. Returns the place of the next one. */
static inline size_t tw_take_event(struct tw_value_predictor *p, const uint8_t *e, size_t n_e, size_t at)
{
	struct tw_event_header h;
	struct tw_keyframe k;
	if (n_e - at < sizeof h)
		return n_e;
	memcpy(&h, e + at, sizeof h);
	at += sizeof h;
	if (h.bytes > n_e - at)
		return n_e;
	if (h.type == TW_EVENT_KEYFRAME && h.bytes >= sizeof k) {
		memcpy(&k, e + at, sizeof k);
		memcpy(p->reg, k.regs, sizeof k.regs);
		tw_set_upper(p, k.upper);
	}
	at += ((size_t)h.bytes + 7) & ~(size_t)7;
	return at < n_e ? at : n_e;
}

#endif
