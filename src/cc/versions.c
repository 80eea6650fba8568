#include "cc/versions.h"

#include <stdlib.h>
#include <string.h>

int tw_cc_is_text(const struct tw_cc_twice *w, const struct tw_cc_statement *s, const char *name)
{
	return s->end - s->begin == strlen(name) && !memcmp(tw_cc_text_of(w, s), name, strlen(name));
}

static int by_name(const void *a, const void *b)
{
	const struct tw_cc_own_label *x = a, *y = b;
	const uint32_t least = x->length < y->length ? x->length : y->length;
	const int order = memcmp(x->name, y->name, least);
	return order ? order : x->length < y->length ? -1 : x->length > y->length;
}

void tw_cc_sort_labels(struct tw_cc_twice *w)
{
	qsort(w->label, w->n_labels, sizeof *w->label, by_name);
}

const struct tw_cc_own_label *tw_cc_find_label(const struct tw_cc_twice *w, const char *name, size_t length)
{
	const struct tw_cc_own_label key = {name, (uint32_t)length, 0};
	return bsearch(&key, w->label, w->n_labels, sizeof key, by_name);
}

/* The part of the function that was split off. */
int tw_cc_is_cold_part(const struct tw_cc_unit *u, const char *name, size_t length)
{
	const size_t own = strlen(u->name);
	return length > own + 4 && !memcmp(name, u->name, own) && !memcmp(name + own, ".cold", 5);
}

int tw_cc_is_about_symbols(const struct tw_cc_twice *w, const struct tw_cc_statement *s)
{
	static const char *const words[] = {".size",   ".type",  ".globl",     ".global",   ".weak",
	                                    ".hidden", ".local", ".protected", ".internal", ".addrsig_sym"};
	for (size_t k = 0; s->kind == TW_CC_DIRECTIVE && k < sizeof words / sizeof *words; k++)
		if (tw_cc_is_word(&w->code->text, s, words[k]))
			return 1;
	return 0;
}

/* gcc has a label from before the function where its split-off part begins. */
static int is_cold_start(const struct tw_cc_unit *u, const char *name, size_t length)
{
	return u->cold && length > 7 && !memcmp(name, ".LCOLDB", 7);
}

/* A name in the second version of the unit. */
static void write_name(struct tw_cc_twice *w, const struct tw_cc_unit *u, const char *name, size_t length)
{
	const struct tw_cc_own_label *l = tw_cc_find_label(w, name, length);
	const size_t own = strlen(u->name);
	if (!l && is_cold_start(u, name, length))
		fprintf(w->out, TW_CC_SECOND "%u%.*s", u->function, (int)u->cold_length, u->cold);
	else if (!l || &w->unit[l->unit] != u)
		fwrite(name, 1, length, w->out);
	else if (tw_cc_is_cold_part(u, name, length))
		fprintf(w->out, TW_CC_SECOND "%u%.*s", u->function, (int)(length - own), name + own);
	else
		fprintf(w->out, ".LtwSD%u%.*s", u->function, (int)length, name);
}

void tw_cc_write_statement(struct tw_cc_twice *w, const struct tw_cc_unit *u, const struct tw_cc_statement *s)
{
	const struct tw_cc_text *t = &w->code->text;
	const char *name, *from = t->bytes + s->begin;
	uint32_t at = 0;
	if (s->kind == TW_CC_LABEL) {
		write_name(w, u, from, s->end - s->begin);
		fputs(":\n", w->out);
		return;
	}
	for (size_t length; (length = tw_cc_next_name(t, s, &at, &name)); from = name + length) {
		fwrite(from, 1, (size_t)(name - from), w->out);
		write_name(w, u, name, length);
	}
	fwrite(from, 1, (size_t)(t->bytes + s->end - from), w->out);
	fputc('\n', w->out);
}
