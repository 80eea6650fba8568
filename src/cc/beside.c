#include "cc/beside.h"

#include <stdlib.h>
#include <string.h>

/* ---- tables of labels ---- */

static int is_data(const struct tw_cc_twice *w, const struct tw_cc_statement *s)
{
	return s->kind == TW_CC_DIRECTIVE && (tw_cc_is_word(&w->code->text, s, ".quad") || tw_cc_is_word(&w->code->text, s, ".long"));
}

static int is_name_of(const struct tw_cc_twice *w, const struct tw_cc_statement *label, const char *name, size_t length)
{
	return label->end - label->begin == length && !memcmp(tw_cc_text_of(w, label), name, length);
}

/* The only unit that owns the labels named by the statement, apart from the table's own label; otherwise -1. */
static int32_t unit_named(const struct tw_cc_twice *w, uint32_t s, const struct tw_cc_statement *table)
{
	const struct tw_cc_text *t = &w->code->text;
	const char *name;
	uint32_t at = 0;
	int32_t unit = -1;
	for (size_t length; (length = tw_cc_next_name(t, &t->statement[s], &at, &name));) {
		const struct tw_cc_own_label *l = tw_cc_find_label(w, name, length);
		if (is_name_of(w, table, name, length))
			continue;
		if (!l || (unit >= 0 && unit != (int32_t)l->unit))
			return -1;
		unit = (int32_t)l->unit;
	}
	return unit;
}

static void note_table(struct tw_cc_twice *w, uint32_t label)
{
	const struct tw_cc_text *t = &w->code->text;
	struct tw_cc_table table = {.label = label, .from = label + 1, .to = label + 1};
	while (table.to < t->n_statements && is_data(w, &t->statement[table.to]) && w->unit_of[table.to] < 0) {
		const int32_t unit = unit_named(w, table.to, &t->statement[label]);
		if (unit < 0 || (table.to > table.from && unit != (int32_t)table.unit))
			return;
		table.unit = (uint32_t)unit;
		table.to++;
	}
	if (table.to > table.from)
		w->table[w->n_tables++] = table;
}

/* Marks tables that this statement names although it belongs to another unit. */
static void look_at_references(struct tw_cc_twice *w, uint32_t s)
{
	const struct tw_cc_text *t = &w->code->text;
	const char *name;
	uint32_t at = 0;
	for (size_t length; (length = tw_cc_next_name(t, &t->statement[s], &at, &name));)
		for (uint32_t k = 0; k < w->n_tables; k++) {
			struct tw_cc_table *table = &w->table[k];
			const int is_own = w->unit_of[s] == (int32_t)table->unit || (s >= table->from && s < table->to);
			if (!is_own && is_name_of(w, &t->statement[table->label], name, length))
				table->is_shared = 1;
		}
}

/* ---- tables of exceptions ---- */

/* The name of the function's table; its length, or 0. */
static size_t find_lsda(const struct tw_cc_twice *w, const struct tw_cc_unit *u, const char **name)
{
	const struct tw_cc_text *t = &w->code->text;
	uint32_t at = 0;
	size_t length = 0;
	for (uint32_t s = u->from; s < u->to && !length; s++)
		if (t->statement[s].kind == TW_CC_DIRECTIVE && tw_cc_is_word(t, &t->statement[s], ".cfi_lsda"))
			length = tw_cc_next_name(t, &t->statement[s], &at, name);
	return length;
}

static int goes_on(const struct tw_cc_twice *w, uint32_t s)
{
	const struct tw_cc_statement *of = &w->code->text.statement[s];
	return s < w->code->text.n_statements && w->unit_of[s] < 0 && of->where == TW_CC_EXCEPTIONS &&
	       !(of->kind == TW_CC_DIRECTIVE && tw_cc_is_word(&w->code->text, of, ".section")) &&
	       !(of->kind == TW_CC_LABEL && tw_cc_text_of(w, of)[0] != '.');
}

/* gcc puts it within the function, clang behind it. All labels in it belong to the function. */
static void note_lsda(struct tw_cc_twice *w, uint32_t unit)
{
	const struct tw_cc_text *t = &w->code->text;
	const char *name;
	const size_t length = find_lsda(w, &w->unit[unit], &name);
	uint32_t label = w->unit[unit].to;
	while (length && label < t->n_statements &&
	       !(t->statement[label].kind == TW_CC_LABEL && is_name_of(w, &t->statement[label], name, length)))
		label++;
	if (!length || label == t->n_statements || w->unit_of[label] >= 0)
		return;
	struct tw_cc_table table = {.label = label, .from = label + 1, .to = label + 1, .unit = unit, .is_lsda = 1};
	while (goes_on(w, table.to)) {
		const struct tw_cc_statement *l = &t->statement[table.to++];
		if (l->kind == TW_CC_LABEL)
			w->label[w->n_labels++] = (struct tw_cc_own_label){tw_cc_text_of(w, l), l->end - l->begin, unit};
	}
	w->table[w->n_tables++] = table;
}

/* ---- all ---- */

int tw_cc_beside_find(struct tw_cc_twice *w)
{
	const struct tw_cc_text *t = &w->code->text;
	w->table = calloc(t->n_statements + 1, sizeof *w->table);
	if (!w->table)
		return -1;
	for (uint32_t s = 0; s < t->n_statements; s++)
		if (t->statement[s].kind == TW_CC_LABEL && w->unit_of[s] < 0 && t->statement[s].where == TW_CC_OTHER)
			note_table(w, s);
	for (uint32_t s = 0; w->n_tables && s < t->n_statements; s++)
		if (t->statement[s].kind != TW_CC_LABEL && t->statement[s].where != TW_CC_DEBUG &&
		    !tw_cc_is_about_symbols(w, &t->statement[s]))
			look_at_references(w, s);
	for (uint32_t u = 0; u < w->n_units; u++)
		note_lsda(w, u);
	for (uint32_t k = 0; k < w->n_tables; k++) {
		const struct tw_cc_statement *l = &t->statement[w->table[k].label];
		if (!w->table[k].is_shared)
			w->label[w->n_labels++] = (struct tw_cc_own_label){tw_cc_text_of(w, l), l->end - l->begin, w->table[k].unit};
	}
	tw_cc_sort_labels(w);
	return 0;
}

/* Enters the section that contains the table, or, if no directive names it, a section for addresses. */
static void enter_section(struct tw_cc_twice *w, const struct tw_cc_table *table)
{
	const struct tw_cc_text *t = &w->code->text;
	uint32_t s = table->label;
	while (s && !(t->statement[s].kind == TW_CC_DIRECTIVE &&
	              (tw_cc_is_word(t, &t->statement[s], ".section") || tw_cc_is_word(t, &t->statement[s], ".text") ||
	               tw_cc_is_word(t, &t->statement[s], ".data"))))
		s--;
	const struct tw_cc_statement *of = &t->statement[s];
	if (tw_cc_is_word(t, of, ".section"))
		fprintf(w->out, "\n\t.push%.*s\n", (int)(of->end - of->begin - 1), tw_cc_text_of(w, of) + 1);
	else
		fputs("\n\t.pushsection .data.rel.ro.local,\"aw\",@progbits\n", w->out);
	fputs(table->is_lsda ? "\t.p2align 2\n" : "\t.p2align 3\n", w->out);
}

static void write_table(struct tw_cc_twice *w, const struct tw_cc_table *table)
{
	const struct tw_cc_statement *all = w->code->text.statement;
	if (table->is_shared)
		return;
	enter_section(w, table);
	for (uint32_t s = table->label; s < table->to; s += s == table->label ? table->from - s : 1)
		tw_cc_write_statement(w, &w->unit[table->unit], &all[s]);
	fputs("\t.popsection\n", w->out);
}

void tw_cc_beside_write(struct tw_cc_twice *w, const struct tw_cc_unit *u)
{
	for (uint32_t k = 0; k < w->n_tables; k++)
		if (&w->unit[w->table[k].unit] == u)
			write_table(w, &w->table[k]);
}
