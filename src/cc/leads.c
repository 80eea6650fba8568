#include "cc/leads.h"
#include "cc/insns.h"
#include "base/cc_section.h"

#include <stdlib.h>
#include <string.h>

/* The instruction that a relocation refers to; its field begins `behind` bytes before the end of the instruction. */
static int32_t referred(const struct tw_cc_code *c, const struct tw_cc_reloc *r, int64_t behind)
{
	const struct tw_cc_symbol *s = &c->object.symbol[r->symbol];
	return s->section ? tw_cc_led_to(c, s->section, s->value + (uint64_t)(r->addend + behind)) : -1;
}

/* Calls by rules of their own. */
static int keeps_registers(const char *name)
{
	return tw_cc_is_named(name, "__x86_") || tw_cc_is_named(name, "__fentry__") || !strcmp(name, "mcount") ||
	       !strcmp(name, "_mcount") || tw_cc_is_named(name, "__llvm_retpoline") || tw_cc_is_named(name, "__asan_check") ||
	       tw_cc_is_named(name, "__hwasan");
}

/*
 * Complex multiplication and division (libgcc, compiler-rt), called in loops behind an almost never taken branch if a
 * part is NaN.
 */
static int computes_only(const char *name)
{
	static const char *const names[] = {"__mulsc3", "__muldc3", "__mulxc3", "__divsc3", "__divdc3", "__divxc3"};
	for (size_t k = 0; k < sizeof names / sizeof *names; k++)
		if (!strcmp(name, names[k]))
			return 1;
	return 0;
}

/* Where the function's code ends. At -O0, clang has paths that never continue branch there. */
static uint64_t end_of_function(const struct tw_cc_code *c, const struct tw_cc_insn *i)
{
	const struct tw_cc_insn *last = c->insn + c->n_insns - 1;
	while (i < last && i[1].section == i->section && i[1].function == i->function)
		i++;
	return i->at + i->d.len;
}

static void lead(struct tw_cc_code *c, struct tw_cc_insn *i)
{
	const int is_direct = i->d.kind == INSN_JUMP || i->d.kind == INSN_COND || i->d.kind == INSN_LOOP || i->d.kind == INSN_CALL;
	const struct tw_cc_reloc *r = tw_cc_reloc_in(c, i, 0, i->d.len);
	i->branch = -1;
	i->symbol = r ? r->symbol : 0;
	if (r && (i->d.kind == INSN_CALL || i->d.kind == INSN_JUMP || i->d.kind == INSN_ICALL))
		i->keeps_all = (uint8_t)keeps_registers(c->object.symbol[r->symbol].name);
	if (r && i->d.kind == INSN_CALL)
		i->computes = (uint8_t)computes_only(c->object.symbol[r->symbol].name);
	if (r && i->d.kind == INSN_ICALL && r->type == R_X86_64_TLSDESC_CALL)
		i->keeps_all = 1;
	if (!is_direct)
		return;
	const uint8_t *bytes = c->object.section[i->section].bytes + i->at;
	if (r) {
		i->branch = referred(c, r, (int64_t)(i->at + i->d.len - r->at));
		return;
	}
	uint64_t to = i->at + (i->d.target - (u64)bytes);
	i->branch = tw_cc_led_to(c, i->section, to);
	if (i->branch < 0 && to != end_of_function(c, i))
		tw_cc_code_leave(c, i, "a branch leads into the middle of something");
}

static void mark_labelled(struct tw_cc_code *c)
{
	const struct tw_cc_text *t = &c->text;
	for (uint32_t k = 0; k < c->n_insns; k++) {
		uint32_t s = c->insn[k].first;
		while (s && t->statement[s - 1].kind != TW_CC_INSN) {
			if (t->statement[s - 1].kind == TW_CC_LABEL) {
				c->insn[k].labelled = 1;
				break;
			}
			s--;
		}
	}
}

/* ---- places that data refer to ---- */

struct named {
	const char *name;
	uint32_t symbol;
};

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct named *)a)->name, ((const struct named *)b)->name);
}

static struct named *sort_names(const struct tw_cc_code *c, uint32_t *n)
{
	const struct tw_cc_object *o = &c->object;
	struct named *all = calloc(o->n_symbols + 1, sizeof *all);
	*n = 0;
	for (uint32_t k = 0; all && k < o->n_symbols; k++) {
		const struct tw_cc_symbol *s = &o->symbol[k];
		if (s->section && s->section < o->n_sections && o->section[s->section].is_code && s->type != STT_SECTION &&
		    strncmp(s->name, TW_CC_INSN_LABEL, sizeof TW_CC_INSN_LABEL - 1))
			all[(*n)++] = (struct named){s->name, k};
	}
	if (all)
		qsort(all, *n, sizeof *all, by_name);
	return all;
}

static void mark_data(struct tw_cc_code *c, const struct named *all, uint32_t n, const char *name, size_t length, uint8_t entry)
{
	char copy[4096];
	if (length >= sizeof copy)
		return;
	memcpy(copy, name, length);
	copy[length] = 0;
	const struct named key = {copy, 0}, *found = bsearch(&key, all, n, sizeof key, by_name);
	if (!found)
		return;
	const struct tw_cc_symbol *s = &c->object.symbol[found->symbol];
	int32_t i = tw_cc_led_to(c, s->section, s->value);
	if (i >= 0)
		c->insn[i].entry |= c->insn[i].entry & TW_CC_ENTRY_FUNCTION ? TW_CC_ENTRY_TAKEN : entry;
}

static int mark_all_data(struct tw_cc_code *c)
{
	const struct tw_cc_text *t = &c->text;
	uint32_t n;
	struct named *all = sort_names(c, &n);
	if (!all)
		return -1;
	for (uint32_t k = 0; k < t->n_statements; k++) {
		const struct tw_cc_statement *s = &t->statement[k];
		const char *name;
		uint32_t at = 0;
		if (s->where == TW_CC_DEBUG || !tw_cc_gives_data(t, s))
			continue;
		for (size_t length; (length = tw_cc_next_name(t, s, &at, &name));)
			mark_data(c, all, n, name, length, s->where == TW_CC_EXCEPTIONS ? TW_CC_ENTRY_LANDING : TW_CC_ENTRY_DATA);
	}
	free(all);
	return 0;
}

/* Numeric labels may be referred to by data that cannot be told apart from other data. */
static void mark_numbered(struct tw_cc_code *c)
{
	const struct tw_cc_text *t = &c->text;
	for (uint32_t k = 0; k < c->n_insns; k++) {
		struct tw_cc_insn *i = &c->insn[k];
		for (uint32_t s = i->first; s && t->statement[s - 1].kind != TW_CC_INSN; s--)
			if (t->statement[s - 1].kind == TW_CC_LABEL && t->bytes[t->statement[s - 1].begin] >= '0' &&
			    t->bytes[t->statement[s - 1].begin] <= '9')
				i->entry |= TW_CC_ENTRY_UNKNOWN;
	}
}

/* ---- relocations of operands ---- */

static void mark_address(struct tw_cc_code *c, int32_t target)
{
	if (target >= 0)
		c->insn[target].entry |= c->insn[target].entry & TW_CC_ENTRY_FUNCTION ? TW_CC_ENTRY_TAKEN : TW_CC_ENTRY_DATA;
}

static void note_operand_reloc(struct tw_cc_code *c, struct tw_cc_insn *i, const struct tw_cc_reloc *r)
{
	const unsigned at = (unsigned)(r->at - i->at);
	const uint8_t wide = r->type == R_X86_64_64 ? TW_CC_WIDE : TW_CC_SIGNED;
	const int is_relative = i->disp_patch == TW_CC_RELATIVE && at == i->disp_at;
	if (at == i->disp_at && !is_relative)
		i->disp_patch = wide;
	else if (at == i->imm_at)
		i->imm_patch = wide;
	if (is_relative && (r->type == R_X86_64_GOTPCREL || r->type == R_X86_64_GOTPCRELX || r->type == R_X86_64_REX_GOTPCRELX ||
	                    r->type == R_X86_64_GOTTPOFF || r->type == R_X86_64_GOTPC32_TLSDESC)) {
		i->disp_patch |= TW_CC_GOT;
		i->was = i->d.raw[i->disp_at - 2];
	}
	if (i->d.kind == INSN_PLAIN || i->d.kind == INSN_IJUMP || i->d.kind == INSN_ICALL)
		mark_address(c, referred(c, r, is_relative ? (int64_t)(i->at + i->d.len - r->at) : 0));
}

/*
 * Instruction k sets the argument of __tls_get_addr. Linkers replace it together with the call, and with the
 * computation of the address in the large code model.
 */
static void glue(struct tw_cc_code *c, uint32_t k)
{
	const struct tw_cc_reloc *r = k + 3 < c->n_insns ? tw_cc_reloc_in(c, &c->insn[k + 1], 0, c->insn[k + 1].d.len) : NULL;
	const uint32_t n = r && r->type == R_X86_64_PLTOFF64 ? 3 : 1;
	for (uint32_t m = 1; m <= n && k + m < c->n_insns; m++)
		c->insn[k + m].glued = 1;
}

/* What operands refer to, and calls of __tls_get_addr. */
static void note_operands(struct tw_cc_code *c, uint32_t k)
{
	struct tw_cc_insn *i = &c->insn[k];
	for (unsigned from = 0; from < i->d.len;) {
		const struct tw_cc_reloc *r = tw_cc_reloc_in(c, i, from, i->d.len);
		if (!r)
			break;
		if (i->d.kind == INSN_PLAIN || i->d.kind == INSN_IJUMP || i->d.kind == INSN_ICALL)
			note_operand_reloc(c, i, r);
		if (r->type == R_X86_64_TLSGD || r->type == R_X86_64_TLSLD)
			glue(c, k);
		from = (unsigned)(r->at - i->at) + 1;
	}
	if (i->disp_patch == TW_CC_RELATIVE && !tw_cc_reloc_in(c, i, i->disp_at, i->disp_at + 4u))
		mark_address(
		    c, tw_cc_at_place(c, i->section,
		                      i->at + i->d.len + (uint64_t)(int64_t) * (const int32_t *)(const void *)(i->d.raw + i->disp_at)));
}

int tw_cc_leads_find(struct tw_cc_code *c)
{
	mark_labelled(c);
	for (uint32_t k = 0; k < c->n_insns; k++) {
		lead(c, &c->insn[k]);
		note_operands(c, k);
	}
	if (mark_all_data(c))
		return -1;
	mark_numbered(c);
	return 0;
}
