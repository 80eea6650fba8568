#include "import/trace.h"

#include <emmintrin.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The longest line that the fast path takes, including what it may read beyond the line. */
enum { BUFFER = 1 << 18, QUICK = 64, MOST_BYTES = 1 << 20 };

struct tw_trace {
	struct tw_input *in;
	int insns_only;
	int ended;  /* the input is */
	int beyond; /* in a line too long for the buffer */
	char *at, *end;
	struct tw_trace_facts facts;
	char buffer[BUFFER + QUICK]; /* behind `end` only zeros count for nothing: no line ends there */
};

/* ---- the quick way: lines as Lackey writes them ---- */

/* Values of 8 hexadecimal digits, the first in the lowest byte of x; anything but lower-case digits sets *wrong. */
static inline uint64_t hex8(uint64_t x, uint64_t *wrong)
{
	const uint64_t ones = 0x0101010101010101u;
	uint64_t letter = x >> 6 & ones;
	uint64_t v = (x & 15 * ones) + 9 * letter;
	uint64_t above_9 = (v + 6 * ones) >> 4 & ones;
	*wrong |= (v & 0xf0 * ones) | (x ^ (v + '0' * ones + ('a' - '0' - 10) * above_9));
	v = (v << 4 | v >> 8) & 0x00ff00ff00ff00ffu;
	v = (v << 8 | v >> 16) & 0x0000ffff0000ffffu;
	return (v << 16 | v >> 32) & 0xffffffffu;
}

/* The first n < 8 of the digits at p, after as many zeros as are missing. */
static inline uint64_t first_digits(const char *p, unsigned n)
{
	uint64_t x;
	memcpy(&x, p, sizeof x);
	return n ? x << (64 - 8 * n) | 0x3030303030303030u >> 8 * n : 0x3030303030303030u;
}

/* The number in n hexadecimal digits, 1 to 16. */
static inline uint64_t hex(const char *p, unsigned n, uint64_t *wrong)
{
	uint64_t low;
	if (n < 8)
		return hex8(first_digits(p, n), wrong);
	memcpy(&low, p + n - 8, sizeof low);
	uint64_t v = hex8(low, wrong);
	if (n == 16)
		memcpy(&low, p, sizeof low);
	else
		low = first_digits(p, n - 8);
	return n == 8 ? v : hex8(low, wrong) << 32 | v;
}

/* A decimal number of one to three digits and a newline; returns what follows, or NULL. */
static inline char *quick_bytes(char *p, uint32_t *bytes)
{
	uint32_t n = (uint32_t)(unsigned char)*p++ - '0';
	if (n > 9)
		return NULL;
	for (int i = 0; *p != '\n'; i++) {
		uint32_t digit = (uint32_t)(unsigned char)*p++ - '0';
		if (digit > 9 || i == 2)
			return NULL;
		n = 10 * n + digit;
	}
	*bytes = n;
	return p + 1;
}

static inline char quick_type(const char *p)
{
	if (p[0] == 'I' && p[1] == ' ' && p[2] == ' ')
		return 'I';
	return p[0] == ' ' && p[2] == ' ' && (p[1] == 'L' || p[1] == 'S' || p[1] == 'M') ? p[1] : 0;
}

static int in_range(const struct tw_trace_item *item)
{
	uint32_t most = item->type == 'I' ? UINT8_MAX : MOST_BYTES;
	return item->bytes && item->bytes <= most && item->address <= UINT64_MAX - (item->bytes - 1);
}

/* Takes a line in Lackey's form; returns what follows, or NULL if it is anything else or incomplete. Reads up to QUICK bytes. */
static inline char *quick_line(char *p, struct tw_trace_item *item)
{
	uint64_t wrong = 0;
	item->type = quick_type(p);
	p += 3;
	__m128i text = _mm_loadu_si128((const __m128i *)p);
	unsigned commas = (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(text, _mm_set1_epi8(',')));
	unsigned digits = (unsigned)__builtin_ctz(commas | 1u << 16);
	if (!item->type || !digits || p[digits] != ',')
		return NULL;
	item->address = hex(p, digits, &wrong);
	p = quick_bytes(p + digits + 1, &item->bytes);
	return !wrong && p && in_range(item) ? p : NULL;
}

/* ---- the patient way ---- */

static const char *skip_blanks(const char *p)
{
	while (*p == ' ' || *p == '\t')
		p++;
	return p;
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static const char *take_hex(const char *p, uint64_t *out)
{
	uint64_t v = 0;
	const char *start = p;
	for (; hex_digit(*p) >= 0; p++) {
		if (v >> 60)
			return NULL;
		v = v << 4 | (uint64_t)hex_digit(*p);
	}
	*out = v;
	return p > start ? p : NULL;
}

static const char *take_decimal(const char *p, uint32_t *out)
{
	uint32_t v = 0;
	const char *start = p;
	for (; *p >= '0' && *p <= '9'; p++) {
		if (v > MOST_BYTES)
			return NULL;
		v = 10 * v + (uint32_t)(*p - '0');
	}
	*out = v;
	return p > start ? p : NULL;
}

/* A line of an address stream, with any blanks; `line` ends with NUL. */
static int patient_line(const char *line, struct tw_trace_item *item)
{
	const char *p = skip_blanks(line);
	if (!*p || !strchr("ILSM", *p) || (p[1] != ' ' && p[1] != '\t'))
		return 0;
	item->type = *p;
	p = take_hex(skip_blanks(p + 1), &item->address);
	if (!p || *p++ != ',')
		return 0;
	p = take_decimal(p, &item->bytes);
	if (!p)
		return 0;
	p += *p == '\r';
	return !*p && in_range(item);
}

static void note_bad(struct tw_trace_facts *f)
{
	if (f->bad < TW_TRACE_FIRST_BAD)
		f->bad_line[f->bad] = f->lines;
	f->bad++;
}

/* Valgrind's own lines. The first that names the command is kept. */
static int is_valgrinds(struct tw_trace_facts *f, const char *line)
{
	static const char command[] = "== Command: ";
	if (strncmp(line, "==", 2) && strncmp(line, "--", 2) && strncmp(line, "**", 2))
		return 0;
	const char *found = f->command[0] ? NULL : strstr(line, command);
	if (found) {
		snprintf(f->command, sizeof f->command, "%s", found + strlen(command));
		f->pid = (uint32_t)strtoul(line + 2, NULL, 10);
	}
	return 1;
}

/* Takes the line at t->at that ends at `newline`, which is overwritten. Returns whether it was an item. */
static int take_line(struct tw_trace *t, char *newline, struct tw_trace_item *item)
{
	char *line = t->at;
	int is_whole = newline < t->end, has_nul;
	t->at = is_whole ? newline + 1 : newline;
	*newline = 0;
	has_nul = strlen(line) != (size_t)(newline - line);
	t->facts.lines++;
	if (!has_nul && is_valgrinds(&t->facts, line))
		return 0;
	if (!has_nul && patient_line(line, item))
		return 1;
	if (is_whole)
		note_bad(&t->facts);
	else
		t->facts.cut_off = 1;
	return 0;
}

/* ---- the input ---- */

struct tw_trace *tw_trace_new(struct tw_input *in, int insns_only)
{
	struct tw_trace *t = malloc(sizeof *t);
	if (!t)
		return NULL;
	memset(t, 0, offsetof(struct tw_trace, buffer));
	t->in = in;
	t->insns_only = insns_only;
	t->at = t->end = t->buffer;
	memset(t->end, 0, QUICK);
	return t;
}

void tw_trace_free(struct tw_trace *t)
{
	free(t);
}

const struct tw_trace_facts *tw_trace_facts(const struct tw_trace *t)
{
	return &t->facts;
}

/* Reads more behind what is left in the buffer. */
static int fill(struct tw_trace *t)
{
	size_t left = (size_t)(t->end - t->at);
	memmove(t->buffer, t->at, left);
	t->at = t->buffer;
	t->end = t->buffer + left;
	ssize_t n = tw_input_read(t->in, t->end, BUFFER - left);
	if (n < 0)
		return (int)n;
	t->ended = n == 0;
	t->end += n;
	memset(t->end, 0, QUICK);
	if (t->ended && tw_input_cut_off(t->in))
		t->facts.cut_off = 1;
	return 0;
}

/* Drops the rest of the buffer, which is part of a line that is too long. */
static void drop_long(struct tw_trace *t)
{
	t->at = t->end;
	if (!t->beyond) {
		t->facts.lines++;
		note_bad(&t->facts);
	}
	t->beyond = 1;
}

/* Takes one line that quick_line did not take, or reads more text. Returns whether *item was set, or an error. */
static int next_patiently(struct tw_trace *t, struct tw_trace_item *item)
{
	char *newline = memchr(t->at, '\n', (size_t)(t->end - t->at));
	if (newline && t->beyond) {
		t->at = newline + 1;
		t->beyond = 0;
		return 0;
	}
	if (newline)
		return take_line(t, newline, item);
	if (t->ended && t->at < t->end && !t->beyond)
		return take_line(t, t->end, item);
	if (t->beyond || t->end - t->at == BUFFER)
		drop_long(t);
	return t->ended ? 0 : fill(t);
}

/* Takes lines by the fast path while possible; returns the number of items. */
static size_t take_quickly(struct tw_trace *t, struct tw_trace_item *items, size_t most)
{
	struct tw_trace_item *item = items, *last = items + most;
	char *p = t->at, *next;
	uint64_t lines = 0;
	while (item < last && !t->beyond && (next = quick_line(p, item))) {
		p = next;
		lines++;
		item += item->type == 'I' || !t->insns_only;
	}
	t->at = p;
	t->facts.lines += lines;
	return (size_t)(item - items);
}

ssize_t tw_trace_next(struct tw_trace *t, struct tw_trace_item *items, size_t most)
{
	size_t n = 0;
	while (!n && (t->at < t->end || !t->ended)) {
		n = take_quickly(t, items, most);
		if (n)
			break;
		int found = next_patiently(t, items);
		if (found < 0)
			return found;
		n = found && (items->type == 'I' || !t->insns_only);
	}
	return (ssize_t)n;
}
