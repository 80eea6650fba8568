#include "cc/twice.h"
#include "base/cc_section.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Smaller innermost loops are not tested. */
enum { SMALL_LOOP = 40 };

/* A function's statements: from behind its label up to the one that gives its size. */
struct unit {
	uint32_t function, from, to;
	const char *name; /* that which the label has, of several */
	const char *cold; /* the suffix of its part that was split off, and how long it is; or NULL */
	uint32_t cold_length;
};

/* Statements behind a label outside of all units that are addresses of one unit's labels, which nothing else refers to: for computed goto. */
struct table {
	uint32_t label, from, to, unit;
	uint8_t is_shared; /* something else does */
};

struct label {
	const char *name;
	uint32_t length, unit;
};

enum { MARK_ENTRY = -1 };

struct twice {
	const struct tw_cc_flow *f;
	struct tw_cc_code *code;
	struct unit *unit;
	uint32_t n_units;
	int32_t *unit_of; /* by statement; -1: none */
	struct label *label;
	uint32_t n_labels;
	struct table *table;
	uint32_t n_tables;
	int32_t *mark; /* by statement: 0, MARK_ENTRY, or 1 and the number of a joint */
	uint32_t n_joints;
	FILE *out;
	size_t done; /* of the text */
};

static const char *text_of(const struct twice *w, const struct tw_cc_statement *s)
{
	return w->code->text.bytes + s->begin;
}

static int is_text(const struct twice *w, const struct tw_cc_statement *s, const char *name)
{
	return s->end - s->begin == strlen(name) && !memcmp(text_of(w, s), name, strlen(name));
}

static int is_whole(const struct twice *w, const struct unit *u)
{
	return !w->code->function[u->function].why;
}

static void give_up(struct twice *w, const struct unit *u, uint32_t statement, const char *why)
{
	struct tw_cc_function *own = &w->code->function[u->function];
	if (!own->why)
		own->why_line = w->code->text.statement[statement].line;
	own->why = own->why ? own->why : why;
}

/* ---- units ---- */

/* The function that has the label as a name; 0: none. */
static uint32_t function_of_label(const struct twice *w, const struct tw_cc_statement *s)
{
	const struct tw_cc_code *c = w->code;
	for (uint32_t k = 1; text_of(w, s)[0] != '.' && k < c->n_functions; k++)
		if (is_text(w, s, c->function[k].name))
			return k;
	return 0;
}

/* Does the directive give this symbol's size, or something else of it? */
static int is_about(const struct twice *w, const struct tw_cc_statement *s, const char *word, const char *name, size_t length)
{
	const char *first;
	uint32_t at = 0;
	return s->kind == TW_CC_DIRECTIVE && tw_cc_is_word(&w->code->text, s, word) &&
	       tw_cc_next_name(&w->code->text, s, &at, &first) == length && !memcmp(first, name, length);
}

static uint32_t find_size(const struct twice *w, uint32_t from, const char *name)
{
	const struct tw_cc_text *t = &w->code->text;
	while (from < t->n_statements && !is_about(w, &t->statement[from], ".size", name, strlen(name)))
		from++;
	return from;
}

static int find_units(struct twice *w)
{
	const struct tw_cc_text *t = &w->code->text;
	w->unit = calloc(w->code->n_functions + 1, sizeof *w->unit);
	w->unit_of = malloc((t->n_statements + 1) * sizeof *w->unit_of);
	w->mark = calloc(t->n_statements + 1, sizeof *w->mark);
	if (!w->unit || !w->unit_of || !w->mark)
		return -1;
	for (uint32_t s = 0; s < t->n_statements; s++) {
		const uint32_t function = t->statement[s].kind == TW_CC_LABEL ? function_of_label(w, &t->statement[s]) : 0;
		w->unit_of[s] = -1;
		if (!function)
			continue;
		const struct tw_cc_function *own = &w->code->function[function];
		const uint32_t number = own->same_as ? own->same_as : function, to = find_size(w, s + 1, own->name);
		if (to == t->n_statements || w->code->function[number].why)
			continue;
		w->unit[w->n_units] = (struct unit){.function = number, .from = s + 1, .to = to, .name = own->name};
		while (++s < to)
			w->unit_of[s] = (int32_t)w->n_units;
		w->unit_of[to] = -1;
		w->n_units++;
	}
	return 0;
}

/* ---- labels ---- */

static int by_name(const void *a, const void *b)
{
	const struct label *x = a, *y = b;
	const uint32_t least = x->length < y->length ? x->length : y->length;
	const int order = memcmp(x->name, y->name, least);
	return order ? order : x->length < y->length ? -1 : x->length > y->length;
}

static const struct label *find_label(const struct twice *w, const char *name, size_t length)
{
	const struct label key = {name, (uint32_t)length, 0};
	return bsearch(&key, w->label, w->n_labels, sizeof key, by_name);
}

/* The part of the function that was split off. */
static int is_cold_part(const struct unit *u, const char *name, size_t length)
{
	const size_t own = strlen(u->name);
	return length > own + 4 && !memcmp(name, u->name, own) && !memcmp(name + own, ".cold", 5);
}

/* What a unit defines besides its own labels would be there twice. */
static void note_label(struct twice *w, uint32_t s, const char *name, size_t length)
{
	struct unit *u = &w->unit[w->unit_of[s]];
	if (name[0] >= '0' && name[0] <= '9')
		return;
	if (is_cold_part(u, name, length)) {
		u->cold = name + strlen(u->name);
		u->cold_length = (uint32_t)(length - strlen(u->name));
	}
	if ((length < 2 || memcmp(name, ".L", 2)) && !is_cold_part(u, name, length))
		give_up(w, u, s, "something with a name of its own stands between its instructions");
	w->label[w->n_labels++] = (struct label){name, (uint32_t)length, (uint32_t)w->unit_of[s]};
}

/* gcc has labels in .loc, too. */
static size_t label_in(const struct twice *w, const struct tw_cc_statement *s, const char **name)
{
	const struct tw_cc_text *t = &w->code->text;
	const int is_set = s->kind == TW_CC_DIRECTIVE && (tw_cc_is_word(t, s, ".set") || tw_cc_is_word(t, s, ".equ"));
	const int is_loc = s->kind == TW_CC_DIRECTIVE && tw_cc_is_word(t, s, ".loc");
	uint32_t at = 0;
	size_t length = 0;
	if (s->kind == TW_CC_LABEL) {
		*name = text_of(w, s);
		return s->end - s->begin;
	}
	if (is_set)
		return tw_cc_next_name(t, s, &at, name);
	while (is_loc && (length = tw_cc_next_name(t, s, &at, name)) && memcmp(*name, ".L", 2))
		;
	return length;
}

static int find_labels(struct twice *w)
{
	const struct tw_cc_text *t = &w->code->text;
	w->label = calloc(t->n_statements + 1, sizeof *w->label);
	if (!w->label)
		return -1;
	for (uint32_t s = 0; s < t->n_statements; s++) {
		const char *name;
		if (w->unit_of[s] < 0)
			continue;
		const size_t length = label_in(w, &t->statement[s], &name);
		if (length)
			note_label(w, s, name, length);
		if (t->statement[s].kind == TW_CC_ASSIGNMENT)
			give_up(w, &w->unit[w->unit_of[s]], s, "it has an assignment in it");
	}
	qsort(w->label, w->n_labels, sizeof *w->label, by_name);
	return 0;
}

static int is_about_symbols(const struct twice *w, const struct tw_cc_statement *s)
{
	static const char *const words[] = {".size", ".type", ".globl", ".global", ".weak", ".hidden", ".local", ".protected", ".internal"};
	for (size_t k = 0; s->kind == TW_CC_DIRECTIVE && k < sizeof words / sizeof *words; k++)
		if (tw_cc_is_word(&w->code->text, s, words[k]))
			return 1;
	return 0;
}

/* ---- tables of labels ---- */

static int is_data(const struct twice *w, const struct tw_cc_statement *s)
{
	return s->kind == TW_CC_DIRECTIVE && (tw_cc_is_word(&w->code->text, s, ".quad") || tw_cc_is_word(&w->code->text, s, ".long"));
}

/* The one unit whose labels the statement's names are, or -1. */
static int32_t unit_named(const struct twice *w, uint32_t s)
{
	const struct tw_cc_text *t = &w->code->text;
	const char *name;
	uint32_t at = 0;
	int32_t unit = -1;
	for (size_t length; (length = tw_cc_next_name(t, &t->statement[s], &at, &name));) {
		const struct label *l = find_label(w, name, length);
		if (!l || (unit >= 0 && unit != (int32_t)l->unit))
			return -1;
		unit = (int32_t)l->unit;
	}
	return unit;
}

static void note_table(struct twice *w, uint32_t label)
{
	const struct tw_cc_text *t = &w->code->text;
	struct table table = {.label = label, .from = label + 1, .to = label + 1};
	while (table.to < t->n_statements && is_data(w, &t->statement[table.to]) && w->unit_of[table.to] < 0) {
		const int32_t unit = unit_named(w, table.to);
		if (unit < 0 || (table.to > table.from && unit != (int32_t)table.unit))
			return;
		table.unit = (uint32_t)unit;
		table.to++;
	}
	if (table.to > table.from)
		w->table[w->n_tables++] = table;
}

/* Is the table of this name referred to by this statement, which is not of its unit? */
static void look_at_references(struct twice *w, uint32_t s)
{
	const struct tw_cc_text *t = &w->code->text;
	const char *name;
	uint32_t at = 0;
	for (size_t length; (length = tw_cc_next_name(t, &t->statement[s], &at, &name));)
		for (uint32_t k = 0; k < w->n_tables; k++) {
			const struct tw_cc_statement *l = &t->statement[w->table[k].label];
			if (l->end - l->begin == length && !memcmp(text_of(w, l), name, length) &&
			    w->unit_of[s] != (int32_t)w->table[k].unit)
				w->table[k].is_shared = 1;
		}
}

static int find_tables(struct twice *w)
{
	const struct tw_cc_text *t = &w->code->text;
	w->table = calloc(t->n_statements + 1, sizeof *w->table);
	if (!w->table)
		return -1;
	for (uint32_t s = 0; s < t->n_statements; s++)
		if (t->statement[s].kind == TW_CC_LABEL && w->unit_of[s] < 0 && t->statement[s].where == TW_CC_OTHER)
			note_table(w, s);
	for (uint32_t s = 0; w->n_tables && s < t->n_statements; s++)
		if (t->statement[s].kind != TW_CC_LABEL && t->statement[s].where != TW_CC_DEBUG && !is_about_symbols(w, &t->statement[s]))
			look_at_references(w, s);
	for (uint32_t k = 0; k < w->n_tables; k++) {
		const struct tw_cc_statement *l = &t->statement[w->table[k].label];
		if (!w->table[k].is_shared)
			w->label[w->n_labels++] = (struct label){text_of(w, l), l->end - l->begin, w->table[k].unit};
	}
	qsort(w->label, w->n_labels, sizeof *w->label, by_name);
	return 0;
}

/* ---- where it is tested ---- */

/* The last block that leads back to n. */
static uint32_t end_of_loop(const struct tw_cc_flow *f, uint32_t n)
{
	uint32_t end = n;
	for (uint32_t k = n; k < f->n_blocks && f->code->insn[f->block[k].first].function == f->code->insn[f->block[n].first].function; k++)
		if (f->block[k].fall == (int32_t)n || f->block[k].target == (int32_t)n)
			end = k;
	return end;
}

static int is_small(const struct tw_cc_flow *f, uint32_t n)
{
	const uint32_t end = end_of_loop(f, n);
	uint32_t insns = 0;
	for (uint32_t k = n; k <= end; k++) {
		const struct tw_cc_block_info *b = &f->block[k];
		insns += b->n;
		if (b->end == TW_END_CALL || b->end == TW_END_ICALL || b->end == TW_END_SYSCALL || (k > n && b->looped))
			return 0;
	}
	return insns < SMALL_LOOP;
}

static void place_tests(struct twice *w)
{
	const struct tw_cc_flow *f = w->f;
	for (uint32_t n = 0; n < f->n_blocks; n++) {
		const struct tw_cc_block_info *b = &f->block[n];
		const struct tw_cc_insn *first = &f->code->insn[b->first];
		const int is_endbr = first->d.len == 4 && !memcmp(first->d.raw, "\xf3\x0f\x1e\xfa", 4);
		if (w->unit_of[first->first] < 0 || !is_whole(w, &w->unit[w->unit_of[first->first]]))
			continue;
		if (b->entry & TW_CC_ENTRY_FUNCTION && (!is_endbr || b->n > 1))
			w->mark[first[is_endbr].first] = MARK_ENTRY;
		else if (b->looped && !b->flags_live && !first->glued && !is_endbr && !is_small(f, n))
			w->mark[first->first] = (int32_t)++w->n_joints;
	}
}

/* ---- writing ---- */

static void copy_to(struct twice *w, size_t end)
{
	fwrite(w->code->text.bytes + w->done, 1, end - w->done, w->out);
	w->done = end;
}

/* Where its part that was split off begins, gcc has a label from before the function. */
static int is_cold_start(const struct unit *u, const char *name, size_t length)
{
	return u->cold && length > 7 && !memcmp(name, ".LCOLDB", 7);
}

/* A name in the second version of the unit. */
static void write_name(struct twice *w, const struct unit *u, const char *name, size_t length)
{
	const struct label *l = find_label(w, name, length);
	const size_t own = strlen(u->name);
	if (!l && is_cold_start(u, name, length))
		fprintf(w->out, TW_CC_SECOND "%u%.*s", u->function, (int)u->cold_length, u->cold);
	else if (!l || &w->unit[l->unit] != u)
		fwrite(name, 1, length, w->out);
	else if (is_cold_part(u, name, length))
		fprintf(w->out, TW_CC_SECOND "%u%.*s", u->function, (int)(length - own), name + own);
	else
		fprintf(w->out, ".LtwSD%u%.*s", u->function, (int)length, name);
}

static void write_statement(struct twice *w, const struct unit *u, const struct tw_cc_statement *s)
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

/* In the second version labels have no more than their types; what files there are has been said. */
static int is_left_out(const struct twice *w, const struct tw_cc_statement *s)
{
	const char *name;
	uint32_t at = 0;
	if (s->kind == TW_CC_DIRECTIVE && tw_cc_is_word(&w->code->text, s, ".file"))
		return 1;
	const size_t length = is_about_symbols(w, s) ? tw_cc_next_name(&w->code->text, s, &at, &name) : 0;
	return length && !tw_cc_is_word(&w->code->text, s, ".type") && find_label(w, name, length);
}

static void write_table(struct twice *w, const struct table *table)
{
	const struct tw_cc_statement *all = w->code->text.statement;
	if (table->is_shared)
		return;
	fputs("\n\t.pushsection .data.rel.ro.local,\"aw\",@progbits\n\t.p2align 3\n", w->out);
	for (uint32_t s = table->label; s < table->to; s += s == table->label ? table->from - s : 1)
		write_statement(w, &w->unit[table->unit], &all[s]);
	fputs("\t.popsection\n", w->out);
}

static void write_second(struct twice *w, const struct unit *u)
{
	const struct tw_cc_text *t = &w->code->text;
	for (uint32_t k = 0; k < w->n_tables; k++)
		if (&w->unit[w->table[k].unit] == u)
			write_table(w, &w->table[k]);
	fprintf(w->out, "\n\t.type " TW_CC_SECOND "%u,@function\n" TW_CC_SECOND "%u:\n", u->function, u->function);
	for (uint32_t s = u->from; s < u->to; s++) {
		if (w->mark[s] > 0)
			fprintf(w->out, TW_CC_HEAD "%d:\n", w->mark[s]);
		if (!is_left_out(w, &t->statement[s]))
			write_statement(w, u, &t->statement[s]);
	}
	for (uint32_t s = u->from; s < u->to; s++)
		if (w->mark[s] > 0)
			fprintf(w->out, TW_CC_JOINT "%d:\n\tjmp " TW_CC_HEAD "%d\n", w->mark[s], w->mark[s]);
}

static void write_test(struct twice *w, uint32_t s)
{
	copy_to(w, w->code->text.statement[s].begin);
	fputs("\n\tcmpb $0," TW_CC_SWITCH "(%rip)\n", w->out);
	if (w->mark[s] == MARK_ENTRY)
		fprintf(w->out, "\tjne " TW_CC_SECOND "%u\n", w->unit[w->unit_of[s]].function);
	else
		fprintf(w->out, "\tjne " TW_CC_JOINT "%d\n" TW_CC_FIRST "%d:\n", w->mark[s], w->mark[s]);
}

/* Behind the size of a function, or of its cold part: that of its second version. */
static void write_size(struct twice *w, const struct unit *u, const char *suffix)
{
	fprintf(w->out, "\n\t.size " TW_CC_SECOND "%u%s,.-" TW_CC_SECOND "%u%s\n", u->function, suffix, u->function, suffix);
}

static void write_sizes(struct twice *w, uint32_t s)
{
	const struct tw_cc_text *t = &w->code->text;
	const char *name;
	uint32_t at = 0;
	char suffix[64];
	const size_t length = tw_cc_is_word(t, &t->statement[s], ".size") ? tw_cc_next_name(t, &t->statement[s], &at, &name) : 0;
	const struct label *l = length ? find_label(w, name, length) : NULL;
	if (!l || !is_whole(w, &w->unit[l->unit]) || !is_cold_part(&w->unit[l->unit], name, length))
		return;
	copy_to(w, t->statement[s].end);
	const size_t own = strlen(w->unit[l->unit].name);
	snprintf(suffix, sizeof suffix, "%.*s", (int)(length - own), name + own);
	write_size(w, &w->unit[l->unit], suffix);
}

static void write_all(struct twice *w)
{
	const struct tw_cc_text *t = &w->code->text;
	uint32_t next = 0;
	for (uint32_t s = 0; s < t->n_statements; s++) {
		if (w->mark[s])
			write_test(w, s);
		if (next < w->n_units && s == w->unit[next].to) {
			const struct unit *u = &w->unit[next++];
			if (!is_whole(w, u))
				continue;
			copy_to(w, t->statement[s].begin);
			write_second(w, u);
			copy_to(w, t->statement[s].end);
			write_size(w, u, "");
		} else if (t->statement[s].kind == TW_CC_DIRECTIVE) {
			write_sizes(w, s);
		}
	}
	copy_to(w, t->n);
	fputs("\n\t.hidden " TW_CC_SWITCH "\n\t.section " TW_CC_SECTION_TWICE ",\"aR\",@progbits\n\t.byte 1\n", w->out);
}

static void leave_rest(struct twice *w)
{
	for (uint32_t k = 1; k < w->code->n_functions; k++) {
		struct tw_cc_function *own = &w->code->function[k];
		uint32_t u = 0;
		while (u < w->n_units && w->unit[u].function != k)
			u++;
		if (u == w->n_units && !own->why && !own->same_as)
			own->why = "its end is not where gcc has it: it has one version only";
	}
}

int tw_cc_twice(const struct tw_cc_flow *f, const char *path)
{
	struct twice w = {.f = f, .code = f->code};
	int wrong = find_units(&w) || find_labels(&w) || find_tables(&w) ? -1 : 0;
	if (!wrong && (w.out = fopen(path, "we"))) {
		leave_rest(&w);
		place_tests(&w);
		write_all(&w);
		wrong = ferror(w.out);
		wrong |= fclose(w.out);
	} else {
		wrong = -1;
	}
	free(w.unit);
	free(w.unit_of);
	free(w.label);
	free(w.table);
	free(w.mark);
	return wrong ? -1 : 0;
}
