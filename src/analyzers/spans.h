/*
 * For each reference of a batch, the distance of its last byte from its first, in one byte, side by side like the
 * addresses: so that many can be examined at a time, without branches at the ends of stretches. Those of a permanent
 * stretch are computed once, and copied.
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

/* Room for those of a batch, to be filled one stretch after another. 0 or TW_ERR_MEMORY. */
int tw_spans_begin(struct tw_spans *s, size_t n_refs);
void tw_spans_free(struct tw_spans *s);

/* Those of a stretch, followed by as many bytes as are copied at once; the caller frees them. NULL: no memory. */
uint8_t *tw_spans_make(const struct tw_stretch *stretch);

static inline uint8_t tw_span_of(uint32_t size)
{
	return size > TW_SPAN_MOST + 1 ? TW_SPAN_LARGE : (uint8_t)(size - 1);
}

/* Appends the next stretch's, made before. Returns the place for the following ones. */
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
