#include "cc/text.h"
#include "cc/repeats.h"
#include "cc/statement.h"
#include "base/cc_section.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- reading ---- */

static char *read_all(FILE *f, size_t *n)
{
	size_t room = 1 << 16;
	char *bytes = malloc(room);
	*n = 0;
	for (size_t got; bytes && (got = fread(bytes + *n, 1, room - *n - 1, f)) > 0;) {
		*n += got;
		char *more = room - *n < 2 ? realloc(bytes, room *= 2) : bytes;
		if (!more)
			free(bytes);
		bytes = more;
	}
	if (bytes)
		bytes[*n] = 0;
	return bytes;
}

/* ---- cutting ---- */

enum { MAX_NESTED = 32, NO_CODE = 0x80 };

struct cutter {
	struct tw_cc_text *t;
	size_t room;
	uint32_t line;
	uint8_t where, by_hand, previous, pushed[MAX_NESTED], depth;
	struct tw_cc_repeats repeats;
};

static int is_name_char(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '.' || c == '$' || (unsigned char)c >= 0x80;
}

static size_t skip_comment(struct cutter *c, size_t p)
{
	const char *end = strstr(c->t->bytes + p + 2, "*/");
	size_t to = end ? (size_t)(end - c->t->bytes) + 2 : c->t->n;
	for (; p < to; p++)
		c->line += c->t->bytes[p] == '\n';
	return to;
}

/* References from sections that are only read do not lead control there. */
static uint8_t where_of(const char *name, size_t n)
{
	enum { OWN = sizeof TW_CC_SECTION_TURNINGS - 1 };
	if ((n >= 6 && !memcmp(name, ".debug", 6)) || (n >= 8 && !memcmp(name, "\".debug_", 8)) ||
	    (n >= 10 && !memcmp(name, ".gnu.debug", 10)) || (n >= OWN && !memcmp(name, TW_CC_SECTION_TURNINGS, OWN)))
		return TW_CC_DEBUG;
	return n >= 17 && !memcmp(name, ".gcc_except_table", 17) ? TW_CC_EXCEPTIONS : TW_CC_OTHER;
}

/* The section's flags are stated and exclude code. `name`: up to the end of the statement. */
static uint8_t has_no_code(const char *name, size_t n)
{
	const char *flags = memchr(name, ',', n), *end = flags ? name + n : NULL;
	while (flags && flags < end && *flags != '"')
		flags++;
	if (!flags || flags == end)
		return 0;
	while (++flags < end && *flags != '"')
		if (*flags == 'x')
			return 0;
	return NO_CODE;
}

static void enter(struct cutter *c, uint8_t where)
{
	c->previous = c->where;
	c->where = where;
}

/* Follows the directives that say which section comes. */
static void follow(struct cutter *c, const struct tw_cc_statement *s)
{
	const struct tw_cc_text *t = c->t;
	const int pushes = tw_cc_is_word(t, s, ".pushsection");
	if (pushes || tw_cc_is_word(t, s, ".section")) {
		uint32_t p = s->begin + (pushes ? 12u : 8u);
		while (p < s->end && isblank((unsigned char)t->bytes[p]))
			p++;
		if (pushes && c->depth < MAX_NESTED)
			c->pushed[c->depth++] = c->where;
		enter(c, where_of(t->bytes + p, s->end - p) | has_no_code(t->bytes + p, s->end - p));
	} else if (tw_cc_is_word(t, s, ".popsection")) {
		enter(c, c->depth ? c->pushed[--c->depth] : 0);
	} else if (tw_cc_is_word(t, s, ".previous")) {
		enter(c, c->previous);
	} else if (tw_cc_is_word(t, s, ".text") || tw_cc_is_word(t, s, ".data") || tw_cc_is_word(t, s, ".bss")) {
		enter(c, TW_CC_OTHER);
	}
}

static int add(struct cutter *c, size_t begin, size_t end, uint8_t kind)
{
	struct tw_cc_text *t = c->t;
	while (end > begin && isspace((unsigned char)t->bytes[end - 1]))
		end--;
	if (t->n_statements == c->room) {
		c->room = c->room ? c->room * 2 : 4096;
		struct tw_cc_statement *more = realloc(t->statement, c->room * sizeof *more);
		if (!more)
			return -1;
		t->statement = more;
	}
	struct tw_cc_statement *s = &t->statement[t->n_statements++];
	*s = (struct tw_cc_statement){(uint32_t)begin, (uint32_t)end, c->line, kind, c->where & ~NO_CODE, c->by_hand, 0};
	if (kind == TW_CC_DIRECTIVE)
		follow(c, s);
	return 0;
}

/* Length of the label at p, without the colon; 0: none. */
static size_t label_at(const struct tw_cc_text *t, size_t p)
{
	size_t q = p;
	if (t->bytes[p] == '"')
		q = tw_cc_string_end(t->bytes, t->n, p);
	else
		while (is_name_char(t->bytes[q]))
			q++;
	size_t end = q;
	while (isblank((unsigned char)t->bytes[q]))
		q++;
	return end > p && t->bytes[q] == ':' ? end - p : 0;
}

static uint8_t kind_of(const struct tw_cc_text *t, size_t p, size_t end)
{
	size_t q = p;
	if (t->bytes[p] == '.' && !(p + 1 < end && t->bytes[p + 1] == '='))
		return TW_CC_DIRECTIVE;
	while (q < end && is_name_char(t->bytes[q]))
		q++;
	while (q < end && isblank((unsigned char)t->bytes[q]))
		q++;
	return q < end && t->bytes[q] == '=' ? TW_CC_ASSIGNMENT : TW_CC_INSN;
}

/* Skips to the end of the line. Compilers mark the beginning and end of inline assembly with remarks. */
static size_t skip_remark(struct cutter *c, const char *at)
{
	const size_t n = strcspn(at, "\n");
	if (n >= 4 && !memcmp(at, "#APP", 4))
		c->by_hand = 1;
	else if (n >= 7 && !memcmp(at, "#NO_APP", 7))
		c->by_hand = 0;
	return n;
}

/*
 * Floating-point instructions that first wait for pending exceptions are two: fwait, and the form that does not wait.
 * If the statement at p is one, text is inserted that makes it two. 0; -1: no memory.
 */
static int part_waiting(struct tw_cc_text *t, size_t p)
{
	static const char *const words[] = {"finit", "fclex", "fstcw", "fstsw", "fstenv", "fsave"}, wait[] = "fwait;fn";
	enum { MORE = sizeof wait - 1 - 1 }; /* the f is there */
	size_t n = 0, w = 0;
	while (is_name_char(t->bytes[p + n]))
		n++;
	while (w < sizeof words / sizeof *words && (strlen(words[w]) != n || memcmp(t->bytes + p, words[w], n)))
		w++;
	if (w == sizeof words / sizeof *words)
		return 0;
	char *more = realloc(t->bytes, t->n + MORE + 1);
	if (!more)
		return -1;
	memmove(more + p + MORE, more + p, t->n + 1 - p);
	memcpy(more + p, wait, sizeof wait - 1);
	t->bytes = more;
	t->n += MORE;
	return 0;
}

static void note_repeated(struct cutter *c, const char *what)
{
	if (c->t->repeated)
		return;
	c->t->repeated = what;
	c->t->repeated_line = c->line;
}

/* Adds the statement at *p and moves *p behind it. 0; -1: no memory. */
static int add_statement(struct cutter *c, size_t *p)
{
	struct tw_cc_text *t = c->t;
	size_t end = tw_cc_statement_end(t->bytes, t->n, *p);
	const char *what = NULL;
	const enum tw_cc_repeat is = tw_cc_repeat(&c->repeats, &t->bytes, &t->n, *p, &end, c->where & NO_CODE, &what);
	if (is == TW_CC_WRITTEN)
		return 0;
	if (is == TW_CC_NO_MEMORY || add(c, *p, end, is == TW_CC_WHOLE ? TW_CC_DIRECTIVE : kind_of(t, *p, end)))
		return -1;
	if (is == TW_CC_REPEATED)
		note_repeated(c, what);
	for (size_t k = *p; k < end; k++)
		c->line += t->bytes[k] == '\n';
	*p = end > *p ? end : *p + 1;
	return 0;
}

static int cut(struct cutter *c)
{
	struct tw_cc_text *t = c->t;
	size_t p = 0;
	while (p < t->n) {
		char ch = t->bytes[p];
		size_t label;
		if (ch == '\n' || ch == ';' || isspace((unsigned char)ch)) {
			c->line += ch == '\n';
			p++;
		} else if (ch == '#') {
			p += skip_remark(c, t->bytes + p);
		} else if (ch == '/' && t->bytes[p + 1] == '*') {
			p = skip_comment(c, p);
		} else if ((label = label_at(t, p))) {
			if (c->repeats.conditions && !(c->where & NO_CODE))
				note_repeated(c, ".if");
			if (add(c, p, p + label, TW_CC_LABEL))
				return -1;
			p = (size_t)(strchr(t->bytes + p + label, ':') - t->bytes) + 1;
		} else {
			if (part_waiting(t, p) || add_statement(c, &p))
				return -1;
		}
	}
	return 0;
}

/* ---- Intel's syntax ---- */

/* A text being made anew: statements keep their numbers. */
struct remake {
	struct tw_cc_text *t;
	char *bytes;
	size_t n, done;
};

static void put(struct remake *r, const char *bytes, size_t n)
{
	memcpy(r->bytes + r->n, bytes, n);
	r->n += n;
}

/* Copies up to the end of the statement, and puts words before and behind it. */
static void enclose(struct remake *r, struct tw_cc_statement *s, const char *before, const char *behind)
{
	put(r, r->t->bytes + r->done, s->begin - r->done);
	r->done = s->end;
	const size_t begin = r->n;
	put(r, before, strlen(before));
	put(r, r->t->bytes + s->begin, s->end - s->begin);
	put(r, behind, strlen(behind));
	s->syntax = (uint8_t)strlen(before);
	s->begin = (uint32_t)begin;
	s->end = (uint32_t)r->n;
}

/*
 * Inserted code is in AT&T syntax. In Intel text, each instruction gets the directive for its syntax before it, and
 * the opposite one behind it. 0; -1: no memory.
 */
static int take_syntax_along(struct tw_cc_text *t)
{
	static const char intel[] = ".intel_syntax", att[] = ";.att_syntax prefix";
	enum { MOST = sizeof ".intel_syntax noprefix;" + sizeof att };
	struct remake r = {t, malloc(t->n + (size_t)t->n_statements * MOST + 1), 0, 0};
	char says[MOST] = "";
	if (!r.bytes)
		return -1;
	for (uint32_t k = 0; k < t->n_statements; k++) {
		struct tw_cc_statement *s = &t->statement[k];
		const int is_directive = s->kind == TW_CC_DIRECTIVE, begins = is_directive && tw_cc_is_word(t, s, intel);
		const int is_meant = s->kind == TW_CC_INSN && says[0];
		if (begins)
			snprintf(says, sizeof says, "%.*s;", (int)(s->end - s->begin), t->bytes + s->begin);
		else if (is_directive && tw_cc_is_word(t, s, ".att_syntax"))
			says[0] = 0;
		enclose(&r, s, is_meant ? says : "", begins || is_meant ? att : "");
	}
	put(&r, t->bytes + r.done, t->n - r.done);
	r.bytes[r.n] = 0;
	free(t->bytes);
	t->bytes = r.bytes;
	t->n = r.n;
	return 0;
}

int tw_cc_text_read(const char *path, struct tw_cc_text *t)
{
	struct cutter c = {.t = t, .line = 1};
	FILE *f = fopen(path, "re");
	memset(t, 0, sizeof *t);
	if (!f)
		return -1;
	t->bytes = read_all(f, &t->n);
	fclose(f);
	if (t->bytes && t->n < UINT32_MAX && !cut(&c) && (!strstr(t->bytes, ".intel_syntax") || !take_syntax_along(t)))
		return 0;
	tw_cc_text_free(t);
	errno = ENOMEM;
	return -1;
}

void tw_cc_text_free(struct tw_cc_text *t)
{
	free(t->bytes);
	free(t->statement);
	memset(t, 0, sizeof *t);
}

/* ---- looking at statements ---- */

int tw_cc_is_word(const struct tw_cc_text *t, const struct tw_cc_statement *s, const char *word)
{
	size_t n = strlen(word);
	return s->end - s->begin >= n && !memcmp(t->bytes + s->begin, word, n) && !is_name_char(t->bytes[s->begin + n]);
}

int tw_cc_gives_data(const struct tw_cc_text *t, const struct tw_cc_statement *s)
{
	static const char *const words[] = {".long",  ".quad", ".uleb128", ".sleb128", ".byte",  ".value",
	                                    ".short", ".word", ".int",     ".4byte",   ".8byte", ".2byte"};
	if (s->kind != TW_CC_DIRECTIVE)
		return 0;
	for (size_t w = 0; w < sizeof words / sizeof *words; w++)
		if (tw_cc_is_word(t, s, words[w]))
			return 1;
	return 0;
}

size_t tw_cc_next_name(const struct tw_cc_text *t, const struct tw_cc_statement *s, uint32_t *at, const char **name)
{
	uint32_t p = *at ? *at : s->begin + s->syntax + (uint32_t)strcspn(t->bytes + s->begin + s->syntax, " \t\n");
	while (p < s->end) {
		if (t->bytes[p] == '"') {
			p = (uint32_t)tw_cc_string_end(t->bytes, t->n, p);
		} else if (is_name_char(t->bytes[p])) {
			uint32_t from = p;
			while (p < s->end && is_name_char(t->bytes[p]))
				p++;
			if (isdigit((unsigned char)t->bytes[from]))
				continue;
			*at = p;
			*name = t->bytes + from;
			return p - from;
		} else {
			p++;
		}
	}
	return 0;
}
