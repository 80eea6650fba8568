#include "cc/twice.h"
#include "cc/beside.h"
#include "cc/turnings.h"
#include "base/cc_section.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MARK_ENTRY = -1 };

/* Smaller innermost loops are not tested. */
enum { SMALL_LOOP = 40 };

static void give_up(struct tw_cc_twice *w, const struct tw_cc_unit *u, uint32_t statement, const char *why)
{
	struct tw_cc_function *own = &w->code->function[u->function];
	if (!own->why)
		own->why_line = w->code->text.statement[statement].line;
	own->why = own->why ? own->why : why;
}

/* ---- units ---- */

/* The function that has the label as a name; 0: none. */
static uint32_t function_of_label(const struct tw_cc_twice *w, const struct tw_cc_statement *s)
{
	const struct tw_cc_code *c = w->code;
	for (uint32_t k = 1; tw_cc_text_of(w, s)[0] != '.' && k < c->n_functions; k++)
		if (tw_cc_is_text(w, s, c->function[k].name))
			return k;
	return 0;
}

/* Does the directive give this symbol's size, or something else of it? */
static int is_about(const struct tw_cc_twice *w, const struct tw_cc_statement *s, const char *word, const char *name, size_t length)
{
	const char *first;
	uint32_t at = 0;
	return s->kind == TW_CC_DIRECTIVE && tw_cc_is_word(&w->code->text, s, word) &&
	       tw_cc_next_name(&w->code->text, s, &at, &first) == length && !memcmp(first, name, length);
}

static uint32_t find_size(const struct tw_cc_twice *w, uint32_t from, const char *name)
{
	const struct tw_cc_text *t = &w->code->text;
	while (from < t->n_statements && !is_about(w, &t->statement[from], ".size", name, strlen(name)))
		from++;
	return from;
}

static int find_units(struct tw_cc_twice *w)
{
	const struct tw_cc_text *t = &w->code->text;
	w->unit = calloc(w->code->n_functions + 1, sizeof *w->unit);
	w->unit_of = malloc((t->n_statements + 1) * sizeof *w->unit_of);
	w->mark = calloc(t->n_statements + 1, sizeof *w->mark);
	w->turning = calloc(t->n_statements + 1, sizeof *w->turning);
	if (!w->unit || !w->unit_of || !w->mark || !w->turning)
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
		w->unit[w->n_units] = (struct tw_cc_unit){.function = number, .from = s + 1, .to = to, .name = own->name};
		while (++s < to)
			w->unit_of[s] = (int32_t)w->n_units;
		w->unit_of[to] = -1;
		w->n_units++;
	}
	return 0;
}

/* ---- labels ---- */

/* What a unit defines besides its own labels would be there twice. */
static void note_label(struct tw_cc_twice *w, uint32_t s, const char *name, size_t length)
{
	struct tw_cc_unit *u = &w->unit[w->unit_of[s]];
	if (name[0] >= '0' && name[0] <= '9')
		return;
	if (tw_cc_is_cold_part(u, name, length)) {
		u->cold = name + strlen(u->name);
		u->cold_length = (uint32_t)(length - strlen(u->name));
	}
	if ((length < 2 || memcmp(name, ".L", 2)) && !tw_cc_is_cold_part(u, name, length))
		give_up(w, u, s, "something with a name of its own stands between its instructions");
	w->label[w->n_labels++] = (struct tw_cc_own_label){name, (uint32_t)length, (uint32_t)w->unit_of[s]};
}

/* gcc has labels in .loc, too. */
static size_t label_in(const struct tw_cc_twice *w, const struct tw_cc_statement *s, const char **name)
{
	const struct tw_cc_text *t = &w->code->text;
	const int is_set = s->kind == TW_CC_DIRECTIVE && (tw_cc_is_word(t, s, ".set") || tw_cc_is_word(t, s, ".equ"));
	const int is_loc = s->kind == TW_CC_DIRECTIVE && tw_cc_is_word(t, s, ".loc");
	uint32_t at = 0;
	size_t length = 0;
	if (s->kind == TW_CC_LABEL) {
		*name = tw_cc_text_of(w, s);
		return s->end - s->begin;
	}
	if (is_set)
		return tw_cc_next_name(t, s, &at, name);
	while (is_loc && (length = tw_cc_next_name(t, s, &at, name)) && memcmp(*name, ".L", 2))
		;
	return length;
}

static int find_labels(struct tw_cc_twice *w)
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
	tw_cc_sort_labels(w);
	return 0;
}

/* ---- where it is tested ---- */

static int is_of_function(const struct tw_cc_flow *f, uint32_t k, uint32_t n)
{
	return k < f->n_blocks && f->code->insn[f->block[k].first].function == f->code->insn[f->block[n].first].function;
}

/*
 * The blocks of n's loop, in their order in the text. Its test may be its last block (-O0); blocks that lead back and
 * exits may stand before it.
 */
static void find_extent(const struct tw_cc_flow *f, uint32_t n, uint32_t *from, uint32_t *to)
{
	const int32_t next[] = {f->block[n].fall, f->block[n].target};
	*from = *to = n;
	for (int k = 0; k < 2; k++)
		if (next[k] >= 0 && (uint32_t)next[k] < *from)
			*from = (uint32_t)next[k];
	for (uint32_t k = n; k && is_of_function(f, k - 1, n); k--)
		if ((f->block[k - 1].fall == (int32_t)n || f->block[k - 1].target == (int32_t)n) && tw_cc_goes_back(f, k - 1, n) &&
		    k - 1 < *from)
			*from = k - 1;
	for (uint32_t k = n; is_of_function(f, k, n); k++)
		if (f->block[k].fall == (int32_t)n || f->block[k].target == (int32_t)n)
			*to = k;
}

static int is_small(const struct tw_cc_flow *f, uint32_t n)
{
	uint32_t from, to, insns = 0;
	find_extent(f, n, &from, &to);
	for (uint32_t k = from; k <= to; k++) {
		const struct tw_cc_block_info *b = &f->block[k];
		insns += b->n;
		if (tw_cc_is_call(b) || b->end == TW_END_SYSCALL || (k != n && b->looped))
			return 0;
	}
	return insns < SMALL_LOOP;
}

static void place_tests(struct tw_cc_twice *w)
{
	const struct tw_cc_flow *f = w->f;
	for (uint32_t n = 0; n < f->n_blocks; n++) {
		const struct tw_cc_block_info *b = &f->block[n];
		const struct tw_cc_insn *first = &f->code->insn[b->first];
		const uint32_t lead = tw_cc_lead(f, b);
		if (w->unit_of[first->first] < 0 || !tw_cc_is_whole(w, &w->unit[w->unit_of[first->first]]))
			continue;
		if (b->entry & TW_CC_ENTRY_FUNCTION && lead < b->n)
			w->mark[first[lead].first] = MARK_ENTRY;
		else if (b->looped && !b->flags_live && !first->glued && !lead && !is_small(f, n))
			w->mark[first->first] = (int32_t)++w->n_joints;
	}
}

/* ---- writing ---- */

static void copy_to(struct tw_cc_twice *w, size_t end)
{
	fwrite(w->code->text.bytes + w->done, 1, end - w->done, w->out);
	w->done = end;
}

/* In the second version, labels keep only their types; .file directives are not repeated. */
static int is_left_out(const struct tw_cc_twice *w, const struct tw_cc_statement *s)
{
	const char *name;
	uint32_t at = 0;
	if (s->kind == TW_CC_DIRECTIVE && tw_cc_is_word(&w->code->text, s, ".file"))
		return 1;
	const size_t length = tw_cc_is_about_symbols(w, s) ? tw_cc_next_name(&w->code->text, s, &at, &name) : 0;
	return length && !tw_cc_is_word(&w->code->text, s, ".type") && tw_cc_find_label(w, name, length);
}

static void write_second(struct tw_cc_twice *w, const struct tw_cc_unit *u)
{
	const struct tw_cc_text *t = &w->code->text;
	uint8_t by_hand = 0;
	tw_cc_beside_write(w, u);
	fprintf(w->out, "\n\t.type " TW_CC_SECOND "%u,@function\n" TW_CC_SECOND "%u:\n", u->function, u->function);
	for (uint32_t s = u->from; s < u->to; s++) {
		if (t->statement[s].by_hand != by_hand)
			fputs((by_hand = t->statement[s].by_hand) ? "#APP\n" : "#NO_APP\n", w->out);
		if (w->mark[s] > 0)
			fprintf(w->out, TW_CC_HEAD "%d:\n", w->mark[s]);
		if (w->turning[s] == TW_CC_TURNING_ROOM)
			tw_cc_turnings_second(w, s);
		if (!is_left_out(w, &t->statement[s]))
			tw_cc_write_statement(w, u, &t->statement[s]);
		if (w->turning[s] == TW_CC_TURNING_BRANCH)
			tw_cc_turnings_second(w, s);
	}
	fputs(by_hand ? "#NO_APP\n" : "", w->out);
	for (uint32_t s = u->from; s < u->to; s++)
		if (w->mark[s] > 0)
			fprintf(w->out, TW_CC_JOINT "%d:\n\tjmp " TW_CC_HEAD "%d\n", w->mark[s], w->mark[s]);
}

static void write_test(struct tw_cc_twice *w, uint32_t s)
{
	fputc('\n', w->out);
	tw_cc_turnings_first(w, s, TW_CC_LABEL_TEST);
	fputs("\tcmpb $0," TW_CC_SWITCH "(%rip)\n", w->out);
	if (w->mark[s] == MARK_ENTRY)
		fprintf(w->out, "\tjne " TW_CC_SECOND "%u\n", w->unit[w->unit_of[s]].function);
	else
		fprintf(w->out, "\tjne " TW_CC_JOINT "%d\n" TW_CC_FIRST "%d:\n", w->mark[s], w->mark[s]);
}

/* A branch whose way can be changed, or room for one. */
static void write_turning(struct tw_cc_twice *w, uint32_t s)
{
	fputc('\n', w->out);
	tw_cc_turnings_first(w, s, TW_CC_LABEL_TURNING);
	if (w->turning[s] == TW_CC_TURNING_BRANCH) {
		copy_to(w, w->code->text.statement[s].begin + w->code->text.statement[s].syntax);
		fputs("\t{disp32} ", w->out);
	} else {
		tw_cc_turnings_room(w);
	}
}

/* Behind the size of a function, or of its cold part: that of its second version. */
static void write_size(struct tw_cc_twice *w, const struct tw_cc_unit *u, const char *suffix)
{
	fprintf(w->out, "\n\t.size " TW_CC_SECOND "%u%s,.-" TW_CC_SECOND "%u%s\n", u->function, suffix, u->function, suffix);
}

static void write_sizes(struct tw_cc_twice *w, uint32_t s)
{
	const struct tw_cc_text *t = &w->code->text;
	const char *name;
	uint32_t at = 0;
	char suffix[64];
	const size_t length = tw_cc_is_word(t, &t->statement[s], ".size") ? tw_cc_next_name(t, &t->statement[s], &at, &name) : 0;
	const struct tw_cc_own_label *l = length ? tw_cc_find_label(w, name, length) : NULL;
	if (!l || !tw_cc_is_whole(w, &w->unit[l->unit]) || !tw_cc_is_cold_part(&w->unit[l->unit], name, length))
		return;
	copy_to(w, t->statement[s].end);
	const size_t own = strlen(w->unit[l->unit].name);
	snprintf(suffix, sizeof suffix, "%.*s", (int)(length - own), name + own);
	write_size(w, &w->unit[l->unit], suffix);
}

static void write_all(struct tw_cc_twice *w)
{
	const struct tw_cc_text *t = &w->code->text;
	uint32_t next = 0;
	for (uint32_t s = 0; s < t->n_statements; s++) {
		if (w->mark[s] || w->turning[s])
			copy_to(w, t->statement[s].begin);
		if (w->mark[s])
			write_test(w, s);
		if (w->turning[s])
			write_turning(w, s);
		if (next < w->n_units && s == w->unit[next].to) {
			const struct tw_cc_unit *u = &w->unit[next++];
			if (!tw_cc_is_whole(w, u))
				continue;
			copy_to(w, t->statement[s].begin);
			if (s + 1 < t->n_statements && tw_cc_is_word(t, &t->statement[s + 1], ".cfi_endproc"))
				fputs("\n\t.cfi_endproc\n", w->out); /* clang's stands behind the size: there it ends the second's frame */
			write_second(w, u);
			fprintf(w->out, "\n\t.size %s,.-%s\n", u->name, u->name); /* clang's would end with the first */
			w->done = t->statement[s].end;
			write_size(w, u, "");
			tw_cc_turnings_write(w, u);
		} else if (t->statement[s].kind == TW_CC_DIRECTIVE) {
			write_sizes(w, s);
		}
	}
	copy_to(w, t->n);
	fputs("\n\t.hidden " TW_CC_SWITCH "\n\t.section " TW_CC_SECTION_TWICE
	      ",\"aR\",@progbits\n" TW_CC_SECTION_ENDS(TW_CC_SECTION_TWICE) "\t.long " TW_CC_SWITCH "-.\n",
	      w->out);
}

static void leave_rest(struct tw_cc_twice *w)
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
	struct tw_cc_twice w = {.f = f, .code = f->code};
	int wrong = find_units(&w) || find_labels(&w) || tw_cc_beside_find(&w) ? -1 : 0;
	if (!wrong && (w.out = fopen(path, "we"))) {
		leave_rest(&w);
		place_tests(&w);
		tw_cc_turnings_find(&w);
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
	free(w.turning);
	return wrong ? -1 : 0;
}
