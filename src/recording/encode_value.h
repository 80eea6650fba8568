/*
 * The encoder's own code for one value after another. Everything that each value changes must be in registers
 * meanwhile, so all of this is inlined.
 */
#ifndef TW_ENCODE_VALUE_H
#define TW_ENCODE_VALUE_H

#include "recording/encoder.h"

#define TW_INLINE inline __attribute__((always_inline))

/* Of the encoder's piece: taken out of it before values are encoded, and put back. */
struct tw_encoder_ends {
	uint64_t run;
	uint8_t *literals;
	uintptr_t literals_before; /* stays */
};

static inline struct tw_encoder_ends tw_take_ends(const struct tw_encoder *e)
{
	return (struct tw_encoder_ends){e->piece.run, e->piece.literals, e->piece.literals_before};
}

static inline void tw_put_ends(struct tw_encoder *e, struct tw_encoder_ends ends)
{
	e->piece.run = ends.run;
	e->piece.literals = ends.literals;
}

static TW_INLINE void tw_encode_miss(struct tw_encoder *e, struct tw_encoder_ends *ends, struct tw_value_slot *s, uint64_t value, int look)
{
	tw_put_ends(e, *ends);
	tw_encoder_miss(e, s, value, look);
	ends->run = 0;
	ends->literals = e->piece.literals;
}

/* A value of a slot whose values are literals. */
static TW_INLINE void tw_encode_literal(struct tw_encoder *e, struct tw_encoder_ends *ends, struct tw_value_slot *s, unsigned way,
                                        uint64_t reg, uint64_t value)
{
	const uint64_t last = s->last, literal = value - (way < TW_LITERAL + TW_LITERAL_REGISTER ? last : reg);
	const unsigned bytes = tw_literal_bytes(way);
	int32_t *successor = &e->values.successor[tw_successor_index(last)];
	int missed = tw_literal_cut(literal, bytes) != literal, look = 0;
	if (!((ends->literals_before + (uintptr_t)ends->literals) & TW_NOT_LOOKED_AT)) {
		const int predicted =
		    (value == last) | (value == last + (uint64_t)(int64_t)*successor) | (value == reg + (uint64_t)(int64_t)s->step);
		s->doubt = predicted ? s->doubt + 1 : 0;
		look = s->doubt == TW_MOST_PREDICTED;
	}
	memcpy(ends->literals, &literal, sizeof literal);
	if (__builtin_expect(missed | look, 0)) {
		tw_encode_miss(e, ends, s, value, look);
	} else {
		*successor = (int32_t)(value - last);
		ends->literals += bytes;
		ends->run++;
	}
}

static TW_INLINE void tw_encode_value(struct tw_encoder *e, struct tw_encoder_ends *ends, struct tw_value_slot *s, uint64_t value)
{
	uint64_t *reg = &e->values.reg[s->reg];
	const unsigned way = s->way;
	if (way < TW_LITERAL) {
		uint64_t predicted = way == TW_WAY_STEP ? *reg + (uint64_t)(int64_t)s->step : s->last;
		if (way == TW_WAY_SUCCESSOR)
			predicted = tw_successor(&e->values, s->last);
		if (__builtin_expect(predicted != value, 0)) {
			tw_encode_miss(e, ends, s, value, 1);
		} else {
			s->doubt = 0;
			ends->run++;
		}
	} else {
		tw_encode_literal(e, ends, s, way, *reg, value);
	}
	s->step = (int32_t)(value - *reg);
	s->last = value;
	*reg = value;
}

/* The values of one execution, `n` slots from `s` on. Returns where they end. */
static TW_INLINE const uint8_t *tw_encode_execution(struct tw_encoder *e, struct tw_encoder_ends *ends, struct tw_value_slot *s, uint32_t n,
                                                    const uint8_t *at)
{
	for (; n; n--, s++, at += sizeof(uint64_t)) {
		uint64_t value;
		memcpy(&value, at, sizeof value);
		tw_encode_value(e, ends, s, value);
	}
	return at;
}

/* Likewise, of e->piece. */
static inline void tw_encode_values(struct tw_encoder *e, struct tw_value_slot *s, uint32_t n, const void *values)
{
	struct tw_encoder_ends ends = tw_take_ends(e);
	tw_encode_execution(e, &ends, s, n, values);
	tw_put_ends(e, ends);
}

#endif
