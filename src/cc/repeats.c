#include "cc/repeats.h"
#include "cc/statement.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { MOST_WRITTEN = 1 << 20 }; /* bytes of text */

/* A text, with a zero behind it. */
struct text {
	char *bytes;
	size_t n;
};

/* ---- words ---- */

static size_t word_length(const char *p)
{
	return strcspn(p, " \t\r\n;,#\"");
}

static int is_word(const char *p, const char *word)
{
	const size_t n = strlen(word);
	return word_length(p) == n && !strncasecmp(p, word, n);
}

static int is_one_of(const char *p, const char *const *words)
{
	for (; *words; words++)
		if (is_word(p, *words))
			return 1;
	return 0;
}

static int is_condition(const char *p)
{
	return !strncasecmp(p, ".if", 3) && !is_word(p, ".incbin");
}

/* Sections change with it. */
static int is_section(const char *p)
{
	static const char *const words[] = {".section",    ".pushsection", ".popsection", ".previous", ".text",
	                                    ".subsection", ".data",        ".bss",        NULL};
	return is_one_of(p, words);
}

/* The end of the next statement of the text from p on, with *p at its beginning. 0: none. */
static size_t next(const struct text *t, size_t *p)
{
	while (*p < t->n && (isspace((unsigned char)t->bytes[*p]) || t->bytes[*p] == ';'))
		++*p;
	if (*p < t->n && t->bytes[*p] == '#') {
		*p += strcspn(t->bytes + *p, "\n");
		return next(t, p);
	}
	return *p < t->n ? tw_cc_statement_end(t->bytes, t->n, *p) : 0;
}

/* The statement that closes the one that begins at p: [*begin, end). 0: none, or sections change before. */
static size_t find_last(const struct text *t, size_t p, const char *const *opens, const char *closes, size_t *begin)
{
	int depth = 0;
	for (size_t end; (end = next(t, &p)); p = end > p ? end : p + 1) {
		const char *at = t->bytes + p;
		depth += is_one_of(at, opens);
		depth -= is_word(at, closes);
		if (!depth) {
			*begin = p;
			return end;
		}
		if (is_section(at))
			return 0;
	}
	return 0;
}

/* ---- macros ---- */

static int find_macro(const struct tw_cc_repeats *r, const char *name, size_t n)
{
	for (uint32_t k = 0; k < r->n_macros; k++)
		if (strlen(r->macro[k]) == n && !strncasecmp(r->macro[k], name, n))
			return (int)k;
	return -1;
}

/* The first name behind the directive. */
static const char *name_behind(const char *directive, size_t *n)
{
	const char *name = directive + word_length(directive);
	name += strspn(name, " \t");
	*n = word_length(name);
	return name;
}

static enum tw_cc_repeat define(struct tw_cc_repeats *r, const struct text *t, size_t begin, size_t *end)
{
	static const char *const opens[] = {".macro", NULL};
	size_t last, n;
	const char *name = name_behind(t->bytes + begin, &n);
	const size_t to = find_last(t, begin, opens, ".endm", &last);
	if (!to || !n || n >= TW_CC_MACRO_NAME || r->n_macros == TW_CC_MACROS)
		return TW_CC_REPEATED;
	if (find_macro(r, name, n) < 0) {
		memcpy(r->macro[r->n_macros], name, n);
		r->macro[r->n_macros++][n] = 0;
	}
	*end = to;
	return TW_CC_WHOLE;
}

static void forget(struct tw_cc_repeats *r, const char *directive)
{
	size_t n;
	const char *name = name_behind(directive, &n);
	const int k = find_macro(r, name, n);
	if (k >= 0)
		memmove(r->macro[k], r->macro[--r->n_macros], TW_CC_MACRO_NAME);
}

/* ---- .rept ---- */

/* The text [from, to) becomes `times` times [body, body_end). */
static int replace(struct text *t, size_t from, size_t to, size_t body, size_t body_end, size_t times)
{
	const size_t n = body_end - body, more = n * times;
	char *bytes = malloc(t->n - (to - from) + more + 1);
	if (!bytes)
		return -1;
	memcpy(bytes, t->bytes, from);
	char *at = bytes + from;
	for (size_t k = 0; k < times; k++, at += n)
		memcpy(at, t->bytes + body, n);
	memcpy(at, t->bytes + to, t->n - to + 1);
	t->n = t->n - (to - from) + more;
	free(t->bytes);
	t->bytes = bytes;
	return 0;
}

static const char *const loops[] = {".rept", ".irp", ".irpc", ".rep", NULL};

static enum tw_cc_repeat write_out(struct text *t, size_t begin, size_t head_end)
{
	size_t last, n;
	const char *number = name_behind(t->bytes + begin, &n);
	char *behind;
	const size_t times = strtoul(number, &behind, 0), to = find_last(t, begin, loops, ".endr", &last);
	if (!to || !n || behind != number + n || !isdigit((unsigned char)*number) ||
	    number + strspn(behind, " \t") + n != t->bytes + head_end || (times && last - head_end > MOST_WRITTEN / times))
		return TW_CC_REPEATED;
	return replace(t, begin, to, head_end, last, times) ? TW_CC_NO_MEMORY : TW_CC_WRITTEN;
}

static enum tw_cc_repeat pass_over(const struct text *t, size_t begin, size_t *end)
{
	size_t last;
	const size_t to = find_last(t, begin, loops, ".endr", &last);
	*end = to ? to : *end;
	return to ? TW_CC_WHOLE : TW_CC_REPEATED;
}

/* ---- all of them ---- */

/* May stand where code is conditional: it only describes symbols or begins another section. */
static int leaves_code(const char *p)
{
	static const char *const words[] = {".pushsection", ".else",   ".elseif", ".endif", ".weak", ".hidden",
	                                    ".globl",       ".global", ".local",  ".size",  ".type", NULL};
	return is_condition(p) || is_one_of(p, words);
}

/* False: a condition may leave out code, or sections change with it. */
static int follow(struct tw_cc_repeats *r, const char *p, int is_data)
{
	const uint32_t n = r->conditions;
	if (n && !is_data && !leaves_code(p))
		return 0;
	if (is_word(p, ".pushsection")) {
		r->pushed++;
	} else if (is_word(p, ".popsection")) {
		if (n && r->open[n - 1] >= r->pushed)
			return 0;
		r->pushed -= r->pushed > 0;
	} else if (is_section(p)) {
		return !n;
	} else if (is_condition(p)) {
		if (n == TW_CC_CONDITIONS)
			return 0;
		r->open[r->conditions++] = r->pushed;
	} else if (n && is_word(p, ".endif")) {
		r->conditions--;
		return r->open[n - 1] == r->pushed;
	}
	return 1;
}

static enum tw_cc_repeat look_at(struct tw_cc_repeats *r, struct text *t, size_t begin, size_t *end, int is_data, const char **what)
{
	const char *p = t->bytes + begin;
	if (!r->conditions && (*p == '.' ? strchr("clquv248", p[1]) != NULL : !r->n_macros)) /* most of what compilers write */
		return TW_CC_AS_IT_IS;
	*what = is_one_of(p, loops) ? ".rept" : is_word(p, ".include") ? ".include" : ".macro";
	if (is_word(p, ".include"))
		return TW_CC_REPEATED;
	if (is_word(p, ".macro"))
		return define(r, t, begin, end);
	if (is_word(p, ".purgem"))
		forget(r, p);
	if (is_one_of(p, loops))
		return is_data ? pass_over(t, begin, end) : write_out(t, begin, *end);
	if (find_macro(r, p, word_length(p)) >= 0)
		return is_data ? TW_CC_WHOLE : TW_CC_REPEATED;
	*what = ".if";
	return follow(r, p, is_data) ? TW_CC_AS_IT_IS : TW_CC_REPEATED;
}

enum tw_cc_repeat tw_cc_repeat(struct tw_cc_repeats *r, char **bytes, size_t *n, size_t begin, size_t *end, int is_data, const char **what)
{
	struct text t = {*bytes, *n};
	const enum tw_cc_repeat is = look_at(r, &t, begin, end, is_data, what);
	*bytes = t.bytes;
	*n = t.n;
	return is;
}
