/*
 * Sets of lines of memory (64 bytes): lines that were read and lines that were written, or any other two kinds.
 *
 * A set is a hash table of pages with a bit for each of their lines. Nearly every reference is to a line that was
 * added shortly before: a table of these, indexed by the low bits of their numbers, makes that cheap. Memory: 16 KB,
 * and 24 to 48 bytes per page.
 */
#ifndef TW_LINE_SET_H
#define TW_LINE_SET_H

#include "recording/index.h"

enum { TW_LINE_KINDS = 2, TW_RECENT_LINES = 2048 };

struct tw_line_page {
	uint64_t number;               /* address / 4096, plus 1; 0: this place is free */
	uint64_t lines[TW_LINE_KINDS]; /* a bit for each line, per kind */
};

/* All zeros: an empty set. */
struct tw_line_set {
	struct tw_line_page *page;
	size_t room, n;                   /* room: a power of two, or 0 */
	uint64_t recent[TW_RECENT_LINES]; /* number << TW_LINE_KINDS | kinds, of recently added lines */
};

/* tw_line_set_add, if the recent lines do not suffice. */
int tw_line_set_add_all(struct tw_line_set *s, uint64_t address, uint32_t bytes, unsigned kinds);

static inline uint64_t *tw_recent_line(struct tw_line_set *s, uint64_t line, unsigned kinds)
{
	return &s->recent[(line ^ (uint64_t)kinds << 9) % TW_RECENT_LINES];
}

/* Adds the lines of `bytes` bytes from `address` on to the kinds whose bits are set, of which there is one at least. TW_ERR_MEMORY. */
static inline int tw_line_set_add(struct tw_line_set *s, uint64_t address, uint32_t bytes, unsigned kinds)
{
	const uint64_t line = address >> TW_LINE_SHIFT;
	if (*tw_recent_line(s, line, kinds) == (line << TW_LINE_KINDS | kinds) &&
	    address % (1 << TW_LINE_SHIFT) + bytes <= 1 << TW_LINE_SHIFT)
		return 0;
	return tw_line_set_add_all(s, address, bytes, kinds);
}

/* Sorts the pages; from then on only the two functions below may be called. */
void tw_line_set_sort(struct tw_line_set *s);

/* The ranges of a kind, in order, in *out, from malloc. TW_ERR_MEMORY. */
int tw_line_set_ranges(const struct tw_line_set *s, unsigned kind, struct tw_lines **out, size_t *n);

/* Makes it empty; it keeps its memory. */
void tw_line_set_clear(struct tw_line_set *s);

void tw_line_set_free(struct tw_line_set *s);

#endif
