#include "analyze/line_set.h"
#include "base/array.h"
#include "recording/recording.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_ROOM = 256, PAGE_LINES = 64 };

static inline size_t place_of(const struct tw_line_set *s, uint64_t number)
{
	return (size_t)((number * 0x9e3779b97f4a7c15ull) >> 32) & (s->room - 1);
}

/* The place of a page, or the free one for it. */
static inline struct tw_line_page *look_up(const struct tw_line_set *s, uint64_t number)
{
	size_t i = place_of(s, number);
	while (s->page[i].number && s->page[i].number != number)
		i = (i + 1) & (s->room - 1);
	return &s->page[i];
}

/* At most half of the places are taken. */
static int grow(struct tw_line_set *s)
{
	struct tw_line_page *old = s->page;
	const size_t n = s->room;
	s->room = n ? 2 * n : FIRST_ROOM;
	s->page = calloc(s->room, sizeof *s->page);
	for (size_t i = 0; s->page && i < n; i++)
		if (old[i].number)
			*look_up(s, old[i].number) = old[i];
	free(old);
	return s->page ? TW_OK : tw_fail(TW_ERR_MEMORY, TW_INDEX_FILE);
}

static int add_line(struct tw_line_set *s, uint64_t line, unsigned kinds)
{
	const uint64_t number = line / PAGE_LINES + 1, bit = 1ull << line % PAGE_LINES;
	struct tw_line_page *p = s->room ? look_up(s, number) : NULL;
	if (!p || !p->number) {
		int error = 2 * s->n >= s->room ? grow(s) : TW_OK;
		if (error)
			return error;
		p = look_up(s, number);
		p->number = number;
		s->n++;
	}
	p->lines[0] |= kinds & 1 ? bit : 0;
	p->lines[1] |= kinds & 2 ? bit : 0;
	*tw_recent_line(s, line, kinds) = line << TW_LINE_KINDS | kinds;
	return TW_OK;
}

int tw_line_set_add_all(struct tw_line_set *s, uint64_t address, uint32_t bytes, unsigned kinds)
{
	const uint64_t behind = address + (bytes ? bytes - 1u : 0);
	uint64_t line = address >> TW_LINE_SHIFT, last = behind < address ? UINT64_MAX >> TW_LINE_SHIFT : behind >> TW_LINE_SHIFT;
	int error = add_line(s, line, kinds);
	while (!error && line < last)
		error = add_line(s, ++line, kinds);
	return error;
}

void tw_line_set_sort(struct tw_line_set *s)
{
	size_t n = 0;
	for (size_t i = 0; i < s->room; i++)
		if (s->page[i].number)
			s->page[n++] = s->page[i];
	if (n)
		qsort(s->page, n, sizeof *s->page, tw_by_number);
}

/* Adds a run of lines, or extends the last run if this one follows it directly. */
static int add_range(struct tw_lines **out, size_t *n, size_t *room, uint64_t first, uint64_t last)
{
	if (*n && (*out)[*n - 1].last + 1 == first) {
		(*out)[*n - 1].last = last;
		return TW_OK;
	}
	struct tw_lines *more = tw_array_room(*out, *n, room, sizeof *more);
	if (!more)
		return tw_fail(TW_ERR_MEMORY, TW_INDEX_FILE);
	*out = more;
	more[(*n)++] = (struct tw_lines){first, last};
	return TW_OK;
}

int tw_line_set_ranges(const struct tw_line_set *s, unsigned kind, struct tw_lines **out, size_t *n)
{
	size_t room = 0;
	int error = TW_OK;
	*out = NULL;
	*n = 0;
	for (size_t i = 0; i < s->n && !error; i++) {
		const uint64_t first = (s->page[i].number - 1) * PAGE_LINES;
		for (uint64_t left = s->page[i].lines[kind]; left && !error;) {
			unsigned from = (unsigned)__builtin_ctzll(left);
			uint64_t above = ~(left >> from);
			unsigned length = above ? (unsigned)__builtin_ctzll(above) : PAGE_LINES;
			error = add_range(out, n, &room, first + from, first + from + length - 1);
			left = from + length < PAGE_LINES ? left & ~0ull << (from + length) : 0;
		}
	}
	return error;
}

void tw_line_set_clear(struct tw_line_set *s)
{
	if (s->room)
		memset(s->page, 0, s->room * sizeof *s->page);
	memset(s->recent, 0, sizeof s->recent);
	s->n = 0;
}

void tw_line_set_free(struct tw_line_set *s)
{
	free(s->page);
	memset(s, 0, sizeof *s);
}
