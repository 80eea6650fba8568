/*
 * How far the last byte of each reference of a batch is from its first, in one byte, side by side as the addresses are: so that many are looked at at a time, and nothing is to be guessed where
 * stretches end. Those of a stretch that stays are written down once, and copied.
 */
#ifndef TW_SPANS_H
#define TW_SPANS_H

#include <stddef.h>
#include <string.h>
#include <trackway/analyzer.h>

/* Of more than 64 bytes: TW_SPAN_LARGE, the one span with the highest bit. */
enum { TW_SPAN_MOST = 63, TW_SPAN_LARGE = 0xff, TW_SPANS_AT_ONCE = 16 };

/* All zeros is none. */
struct tw_spans {
	uint8_t *of; /* each reference of the batch */
	size_t room;
};

/* Room for those of a batch, to be put there one stretch after another. 0 or TW_ERR_MEMORY. */
int tw_spans_begin(struct tw_spans *s, size_t n_refs);
void tw_spans_free(struct tw_spans *s);

/* Of a stretch, with as much behind them as is copied at once; by the caller to be freed. NULL: no memory. */
uint8_t *tw_spans_make(const struct tw_stretch *stretch);

static inline uint8_t tw_span_of(uint32_t size)
{
	return size > TW_SPAN_MOST + 1 ? TW_SPAN_LARGE : (uint8_t)(size - 1);
}

/* The next stretch's, which were made. Returns where those of the one behind it go. */
static inline uint8_t *tw_spans_put(uint8_t *to, const uint8_t *made, uint32_t n)
{
	memcpy(to, made, TW_SPANS_AT_ONCE);
	for (uint32_t k = TW_SPANS_AT_ONCE; k < n; k += TW_SPANS_AT_ONCE)
		memcpy(to + k, made + k, TW_SPANS_AT_ONCE);
	return to + n;
}

/* The same of one of which none were made. */
static inline uint8_t *tw_spans_put_new(uint8_t *to, const struct tw_stretch *stretch)
{
	for (uint32_t i = 0; i < stretch->n_refs; i++)
		*to++ = tw_span_of(stretch->refs[i].size);
	return to;
}

#endif
