/* Encoded chunks as bytes: parts, and the sections they are joined to. */
#include "base/array.h"
#include "recording/recording.h"
#include "recording/transform.h"

#include <stdlib.h>
#include <string.h>

/*
 * Buffers mostly grow by less than there is room for: if they have grown before, that is in a long chunk, memory is
 * populated for what comes next. `n` more may come.
 */
static void make_ready(struct tw_bytes *b, size_t n)
{
	enum { LEAST = 32 << 10, MOST = 256 << 10 };
	const size_t ahead = b->n < MOST ? b->n : MOST, soon = ahead < n ? ahead : n;
	if (b->n < LEAST || b->ready >= b->n + soon / 2)
		return;
	const size_t from = b->ready > b->n ? b->ready : b->n;
	b->ready = b->n + soon;
	tw_array_take_pages(b->at + from, b->ready - from);
}

int tw_bytes_reserve(struct tw_bytes *b, size_t n)
{
	if (b->room - b->n >= n) {
		make_ready(b, n);
		return TW_OK;
	}
	size_t room = b->n + n + b->n / 2;
	uint8_t *at = tw_array_more(b->at, b->n, &room);
	if (!at)
		return tw_fail(TW_ERR_MEMORY, "%zu bytes", room);
	b->at = at;
	b->room = room;
	make_ready(b, n);
	return TW_OK;
}

int tw_bytes_append(struct tw_bytes *b, const void *bytes, size_t n)
{
	int error = tw_bytes_reserve(b, n);
	if (!error && n)
		memcpy(b->at + b->n, bytes, n);
	b->n += error ? 0 : n;
	return error;
}

unsigned tw_section_parts(unsigned stream, enum tw_part *first)
{
	static const enum tw_part firsts[TW_NSTREAMS + 1] = {TW_PART_TAG_RUNS, TW_PART_VALUE_RUNS, TW_PART_EVENTS, TW_NPARTS};
	*first = firsts[stream];
	return firsts[stream + 1] - firsts[stream];
}

int tw_coded_section(const struct tw_coded *coded, unsigned stream, struct tw_bytes *to)
{
	enum tw_part first;
	unsigned n = tw_section_parts(stream, &first);
	int error = TW_OK;
	for (unsigned i = 0; i < n && n > 1 && !error; i++) {
		uint64_t bytes = coded->part[first + i].n;
		error = tw_bytes_append(to, &bytes, sizeof bytes);
	}
	for (unsigned i = 0; i < n && !error; i++)
		error = tw_bytes_append(to, coded->part[first + i].at, coded->part[first + i].n);
	return error;
}
