#include "cc/insns.h"
#include "cc/decode.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Numbers only: they may be an instruction. */
static int gives_numbers(const struct tw_cc_text *t, const struct tw_cc_statement *s)
{
	const char *name;
	uint32_t at = 0;
	return s->where == TW_CC_OTHER && tw_cc_gives_data(t, s) && !tw_cc_next_name(t, s, &at, &name);
}

int tw_cc_code_label(const struct tw_cc_text *t, const char *path)
{
	FILE *f = fopen(path, "we");
	size_t done = 0;
	if (!f)
		return -1;
	for (uint32_t k = 0; k < t->n_statements; k++) {
		const struct tw_cc_statement *s = &t->statement[k];
		if (s->kind != TW_CC_INSN && !gives_numbers(t, s))
			continue;
		fwrite(t->bytes + done, 1, s->begin - done, f);
		fprintf(f, TW_CC_INSN_LABEL "%u: ", k);
		done = s->begin;
	}
	fwrite(t->bytes + done, 1, t->n - done, f);
	int wrong = ferror(f);
	return fclose(f) || wrong ? -1 : 0;
}

void tw_cc_code_leave(struct tw_cc_code *c, const struct tw_cc_insn *i, const char *why)
{
	struct tw_cc_function *f = &c->function[i->function];
	if (f->why)
		return;
	f->why = why;
	f->why_line = c->text.statement[i->first].line;
}

static int by_place(const void *a, const void *b)
{
	const struct tw_cc_insn *x = a, *y = b;
	if (x->section != y->section)
		return x->section < y->section ? -1 : 1;
	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	return x->first < y->first ? -1 : x->first > y->first;
}

/* Makes an instruction, without its encoding, for each label that was inserted before one. */
static int find_labels(struct tw_cc_code *c)
{
	const struct tw_cc_object *o = &c->object;
	c->insn = calloc(c->text.n_statements + 1, sizeof *c->insn);
	if (!c->insn)
		return -1;
	for (uint32_t k = 0; k < o->n_symbols; k++) {
		const struct tw_cc_symbol *s = &o->symbol[k];
		if (strncmp(s->name, TW_CC_INSN_LABEL, sizeof TW_CC_INSN_LABEL - 1) || !s->section || s->section >= o->n_sections ||
		    !o->section[s->section].is_code)
			continue;
		uint32_t statement = (uint32_t)strtoul(s->name + sizeof TW_CC_INSN_LABEL - 1, NULL, 10);
		if (statement < c->text.n_statements && c->n_insns < c->text.n_statements)
			c->insn[c->n_insns++] =
			    (struct tw_cc_insn){.first = statement, .last = statement, .section = s->section, .at = s->value};
	}
	qsort(c->insn, c->n_insns, sizeof *c->insn, by_place);
	return 0;
}

/* The first of the directives right before a statement that give single bytes: they may be an instruction's prefixes. */
static uint32_t before_bytes(const struct tw_cc_text *t, uint32_t statement)
{
	static const char *const words[] = {".byte", ".value", ".short", ".word", ".2byte"};
	while (statement) {
		size_t w = 0;
		while (w < sizeof words / sizeof *words && !tw_cc_is_word(t, &t->statement[statement - 1], words[w]))
			w++;
		if (w == sizeof words / sizeof *words)
			break;
		statement--;
	}
	return statement;
}

/* Instruction i ends at `end`; the next statement begins later. Are the bytes between padding, prefixes of the next, or neither? */
static void bridge(struct tw_cc_insn *i, struct tw_cc_insn *next, const struct tw_cc_code *c, uint64_t end)
{
	const struct tw_cc_section *s = &c->object.section[i->section];
	const uint64_t gap = next->at - end;
	const unsigned own = tw_cc_decode_length(s->bytes + next->at, s->n - next->at);
	i->falls = 1;
	if (gap && gap <= 3 && own && tw_cc_decode_length(s->bytes + end, s->n - end) == gap + own &&
	    before_bytes(&c->text, next->first) != next->first) {
		next->at = end;
		next->first = before_bytes(&c->text, next->first);
	} else if (!tw_cc_decode_padding(s->bytes + end, gap)) {
		i->falls = 0;
	}
}

const struct tw_cc_reloc *tw_cc_reloc_in(const struct tw_cc_code *c, const struct tw_cc_insn *i, unsigned from, unsigned to)
{
	return tw_cc_object_reloc(&c->object, i->section, i->at + from, i->at + to);
}

/*
 * An instruction that takes the address of a thread-local descriptor may become a load at link time. It is decoded as
 * a load, and is one if its byte says so (TW_CC_GOT).
 */
static int decode_one(struct tw_cc_code *c, struct tw_cc_insn *i)
{
	enum { LEA = 0x8d, LOAD = 0x8b, LENGTH = 7 };
	const struct tw_cc_section *s = &c->object.section[i->section];
	const uint8_t *p = s->bytes + i->at;
	uint8_t as_load[LENGTH];
	const struct tw_cc_reloc *r = s->n - i->at >= LENGTH && p[1] == LEA ? tw_cc_reloc_in(c, i, 0, LENGTH) : NULL;
	if (!r || r->type != R_X86_64_GOTPC32_TLSDESC)
		return tw_cc_decode(c, i, p, s->n - i->at);
	memcpy(as_load, p, LENGTH);
	as_load[1] = LOAD;
	return tw_cc_decode(c, i, as_load, LENGTH);
}

/* ---- instructions that are written as numbers ---- */

static int is_numbers(const struct tw_cc_code *c, uint32_t k)
{
	return c->text.statement[c->insn[k].first].kind != TW_CC_INSN;
}

/* Does what follows the instruction run after it, whatever it is? */
static int runs_on(const struct tw_cc_insn *i)
{
	return i->d.len && (i->d.kind == INSN_PLAIN || i->d.kind == INSN_COND);
}

/*
 * Entries [k, to) are numbers. Returns the end of those that are instructions without a branch, one instruction for
 * each entry or for several: up to a return, or up to the last entry, which may be a prefix of the next instruction.
 * k: they are not instructions, or not all of them.
 */
static uint32_t end_of_insns(const struct tw_cc_code *c, uint32_t k, uint32_t to)
{
	const uint32_t section = c->insn[k].section, none = k;
	const struct tw_cc_section *s = &c->object.section[section];
	const int is_last = to == c->n_insns || c->insn[to].section != section;
	const uint64_t next = is_last ? s->n : c->insn[to].at;
	uint64_t at = c->insn[k].at;
	while (k < to && c->insn[k].at == at) {
		int returns;
		const unsigned n = tw_cc_decode_plain(s->bytes + at, s->n - at, &returns);
		if (!n || tw_cc_object_reloc(&c->object, section, at, at + n))
			return none;
		at += n;
		while (k < to && c->insn[k].at < at)
			k++;
		if (returns && k < to && c->insn[k].at == at)
			return k;
	}
	const int is_whole = at <= next ? tw_cc_decode_padding(s->bytes + at, next - at)
	                                : !is_last && at == next + tw_cc_decode_length(s->bytes + next, s->n - next);
	return k == to && is_whole ? to : none;
}

/*
 * The entry behind instruction i (NULL: a section begins), from k on. Numbers are instructions if i leads to them and
 * they decode as such; their statements are then marked so. Others are skipped.
 */
static uint32_t next_entry(struct tw_cc_code *c, const struct tw_cc_insn *i, uint32_t k)
{
	uint32_t to = k;
	while (to < c->n_insns && is_numbers(c, to) && c->insn[to].section == c->insn[k].section)
		to++;
	if (to == k)
		return k;
	const int is_led = i && i->section == c->insn[k].section && i->at + i->d.len == c->insn[k].at && runs_on(i);
	const uint32_t end = is_led ? end_of_insns(c, k, to) : k;
	for (uint32_t m = k; m < end; m++)
		c->text.statement[c->insn[m].first].kind = TW_CC_INSN;
	return end > k ? k : next_entry(c, NULL, to);
}

static void decode_all(struct tw_cc_code *c)
{
	uint32_t n = 0;
	for (uint32_t k = next_entry(c, NULL, 0); k < c->n_insns;) {
		struct tw_cc_insn i = c->insn[k++];
		if (decode_one(c, &i)) {
			i.falls = 0;
			i.d.kind = INSN_BAD;
			i.d.len = 0;
		}
		const uint64_t end = i.at + i.d.len;
		/* Prefixes may be statements of their own. */
		while (k < c->n_insns && c->insn[k].section == i.section && c->insn[k].at < end && i.d.len)
			i.last = c->insn[k++].first;
		k = next_entry(c, &i, k);
		if (k < c->n_insns && c->insn[k].section == i.section)
			bridge(&i, &c->insn[k], c, end);
		c->insn[n++] = i;
	}
	c->n_insns = n;
}

int tw_cc_insns_find(struct tw_cc_code *c)
{
	if (find_labels(c))
		return -1;
	decode_all(c);
	return 0;
}

/* The first instruction at or behind this place; n_insns: none. */
static uint32_t first_from(const struct tw_cc_code *c, uint32_t section, uint64_t at)
{
	uint32_t low = 0, high = c->n_insns;
	while (low < high) {
		uint32_t mid = (low + high) / 2;
		const struct tw_cc_insn *i = &c->insn[mid];
		if (i->section < section || (i->section == section && i->at < at))
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

int32_t tw_cc_at_place(const struct tw_cc_code *c, uint32_t section, uint64_t at)
{
	const uint32_t k = first_from(c, section, at);
	return k < c->n_insns && c->insn[k].section == section && c->insn[k].at == at ? (int32_t)k : -1;
}

static int covers(const struct tw_cc_insn *i, uint32_t section, uint64_t at)
{
	return i->section == section && i->at + i->d.len > at;
}

int32_t tw_cc_led_to(const struct tw_cc_code *c, uint32_t section, uint64_t at)
{
	const uint32_t k = first_from(c, section, at);
	if (k == c->n_insns || c->insn[k].section != section || (k && covers(&c->insn[k - 1], section, at)))
		return -1;
	return tw_cc_decode_padding(c->object.section[section].bytes + at, c->insn[k].at - at) ? (int32_t)k : -1;
}
