/* Statements and encodings, one to one. */
#include "cc/code.h"
#include "cc/decode.h"
#include "cc/twice.h"
#include "base/cc_section.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LABEL ".LtwI"

int tw_cc_code_label(const struct tw_cc_text *t, const char *path)
{
	FILE *f = fopen(path, "we");
	size_t done = 0;
	if (!f)
		return -1;
	for (uint32_t k = 0; k < t->n_statements; k++) {
		const struct tw_cc_statement *s = &t->statement[k];
		if (s->kind != TW_CC_INSN)
			continue;
		fwrite(t->bytes + done, 1, s->begin - done, f);
		fprintf(f, LABEL "%u: ", k);
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

/* ---- instructions ---- */

static int by_place(const void *a, const void *b)
{
	const struct tw_cc_insn *x = a, *y = b;
	if (x->section != y->section)
		return x->section < y->section ? -1 : 1;
	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	return x->first < y->first ? -1 : x->first > y->first;
}

/* An instruction for each label that was put before one, without its encoding. */
static int find_labels(struct tw_cc_code *c)
{
	const struct tw_cc_object *o = &c->object;
	c->insn = calloc(c->text.n_statements + 1, sizeof *c->insn);
	if (!c->insn)
		return -1;
	for (uint32_t k = 0; k < o->n_symbols; k++) {
		const struct tw_cc_symbol *s = &o->symbol[k];
		if (strncmp(s->name, LABEL, sizeof LABEL - 1) || !s->section || s->section >= o->n_sections ||
		    !o->section[s->section].is_code)
			continue;
		uint32_t statement = (uint32_t)strtoul(s->name + sizeof LABEL - 1, NULL, 10);
		if (statement < c->text.n_statements && c->n_insns < c->text.n_statements)
			c->insn[c->n_insns++] =
			    (struct tw_cc_insn){.first = statement, .last = statement, .section = s->section, .at = s->value};
	}
	qsort(c->insn, c->n_insns, sizeof *c->insn, by_place);
	return 0;
}

/* Directives right before a statement that give single bytes: they may be an instruction's prefixes. */
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

/* Instruction i ends at `end`, and the next statement's place is behind that: are the bytes between padding, its prefixes, or neither? */
static void bridge(struct tw_cc_insn *i, struct tw_cc_insn *next, const struct tw_cc_code *c, uint64_t end)
{
	const struct tw_cc_section *s = &c->object.section[i->section];
	const uint64_t gap = next->at - end;
	const unsigned own = tw_cc_decode_length(s->bytes + next->at, s->n - next->at);
	i->falls = 1;
	if (gap <= 3 && own && tw_cc_decode_length(s->bytes + end, s->n - end) == gap + own &&
	    before_bytes(&c->text, next->first) != next->first) {
		next->at = end;
		next->first = before_bytes(&c->text, next->first);
	} else if (!tw_cc_decode_padding(s->bytes + end, gap)) {
		i->falls = 0;
	}
}

static const struct tw_cc_reloc *reloc_in(const struct tw_cc_code *c, const struct tw_cc_insn *i, unsigned from, unsigned to)
{
	return tw_cc_object_reloc(&c->object, i->section, i->at + from, i->at + to);
}

/* What takes the address of a thread-local descriptor may become a load, once linked: it is decoded as that, and is one where the byte says so (TW_CC_GOT). */
static int decode_one(struct tw_cc_code *c, struct tw_cc_insn *i)
{
	enum { LEA = 0x8d, LOAD = 0x8b, LENGTH = 7 };
	const struct tw_cc_section *s = &c->object.section[i->section];
	const uint8_t *p = s->bytes + i->at;
	uint8_t as_load[LENGTH];
	const struct tw_cc_reloc *r = s->n - i->at >= LENGTH && p[1] == LEA ? reloc_in(c, i, 0, LENGTH) : NULL;
	if (!r || r->type != R_X86_64_GOTPC32_TLSDESC)
		return tw_cc_decode(c, i, p, s->n - i->at);
	memcpy(as_load, p, LENGTH);
	as_load[1] = LOAD;
	return tw_cc_decode(c, i, as_load, LENGTH);
}

static int decode_all(struct tw_cc_code *c)
{
	uint32_t n = 0;
	for (uint32_t k = 0; k < c->n_insns;) {
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
		if (k < c->n_insns && c->insn[k].section == i.section)
			bridge(&i, &c->insn[k], c, end);
		c->insn[n++] = i;
	}
	c->n_insns = n;
	return 0;
}

/* The first instruction at this place or behind it; n_insns: there is none. */
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

/* The instruction at this place, or -1. */
static int32_t at_place(const struct tw_cc_code *c, uint32_t section, uint64_t at)
{
	const uint32_t k = first_from(c, section, at);
	return k < c->n_insns && c->insn[k].section == section && c->insn[k].at == at ? (int32_t)k : -1;
}

static int covers(const struct tw_cc_insn *i, uint32_t section, uint64_t at)
{
	return i->section == section && i->at + i->d.len > at;
}

/* The instruction that runs first where control comes to this place: padding may stand before it, to which a label belongs. */
static int32_t led_to(const struct tw_cc_code *c, uint32_t section, uint64_t at)
{
	const uint32_t k = first_from(c, section, at);
	if (k == c->n_insns || c->insn[k].section != section || (k && covers(&c->insn[k - 1], section, at)))
		return -1;
	return tw_cc_decode_padding(c->object.section[section].bytes + at, c->insn[k].at - at) ? (int32_t)k : -1;
}

/* ---- functions ---- */

/* `name` without the suffix of a part that was split off. */
static size_t own_length(const char *name)
{
	const char *cold = strstr(name, ".cold");
	return cold ? (size_t)(cold - name) : strlen(name);
}

static uint32_t add_function(struct tw_cc_code *c, struct tw_cc_function f)
{
	c->function[c->n_functions] = f;
	return c->n_functions++;
}

static uint32_t function_named(struct tw_cc_code *c, const char *name, uint32_t line)
{
	size_t n = own_length(name);
	for (uint32_t k = c->n_functions; k-- > 1;)
		if (own_length(c->function[k].name) == n && !memcmp(c->function[k].name, name, n))
			return c->function[k].same_as ? c->function[k].same_as : k;
	return add_function(c, (struct tw_cc_function){.name = name, .line = line});
}

/* The function that begins at instruction k already; 0: none does. */
static uint32_t function_beginning(const struct tw_cc_code *c, uint32_t k)
{
	const uint32_t f = c->insn[k].function;
	return !k || c->insn[k - 1].function != f || c->insn[k - 1].section != c->insn[k].section ? f : 0;
}

static int is_function(const struct tw_cc_code *c, const struct tw_cc_symbol *s)
{
	return s->section && s->section < c->object.n_sections && c->object.section[s->section].is_code && s->type == STT_FUNC;
}

static int is_split_off(const struct tw_cc_symbol *s)
{
	return s->name[own_length(s->name)] != 0;
}

static int is_named(const char *name, const char *prefix)
{
	return !strncmp(name, prefix, strlen(prefix));
}

/* Parts that were split off are entered by the rest of their function only. Of a function's other names it is said which it has. */
static void mark_function(struct tw_cc_code *c, const struct tw_cc_symbol *s)
{
	const int32_t k = at_place(c, s->section, s->value);
	if (k < 0)
		return;
	const uint32_t line = c->text.statement[c->insn[k].first].line, other = function_beginning(c, (uint32_t)k);
	if (other && !is_split_off(s)) {
		add_function(c, (struct tw_cc_function){.name = s->name, .line = line, .same_as = other});
		return;
	}
	const uint32_t number = function_named(c, s->name, line);
	if (!is_split_off(s))
		c->insn[k].entry |= TW_CC_ENTRY_FUNCTION;
	if (s->binding != STB_LOCAL)
		c->insn[k].entry |= TW_CC_ENTRY_TAKEN;
	for (uint32_t i = (uint32_t)k; i < c->n_insns && c->insn[i].section == s->section && c->insn[i].at < s->value + s->size; i++)
		c->insn[i].function = number;
}

/* Those that were split off come second: the function may have several names, and is to be there. Second versions lie within functions, and so come last. */
static void mark_named(struct tw_cc_code *c)
{
	for (int turn = 0; turn < 4; turn++)
		for (uint32_t k = 0; k < c->object.n_symbols; k++) {
			const struct tw_cc_symbol *s = &c->object.symbol[k];
			if (is_function(c, s) && is_split_off(s) + 2 * is_named(s->name, TW_CC_SECOND) == turn)
				mark_function(c, s);
		}
}

static void mark_joint(struct tw_cc_code *c, const struct tw_cc_symbol *s)
{
	const int32_t i = at_place(c, s->section, s->value);
	if (i >= 0 && is_named(s->name, TW_CC_JOINT)) {
		c->insn[i].entry |= TW_CC_ENTRY_UNKNOWN;
		c->insn[i].joint = 1;
	}
	if (i >= 0 && is_named(s->name, TW_CC_HEAD))
		c->insn[i].head = (uint32_t)strtoul(s->name + sizeof TW_CC_HEAD - 1, NULL, 10);
}

static int mark_functions(struct tw_cc_code *c)
{
	const struct tw_cc_object *o = &c->object;
	uint32_t n = 1;
	for (uint32_t k = 0; k < o->n_symbols; k++)
		n += is_function(c, &o->symbol[k]);
	c->function = calloc(n + 1, sizeof *c->function);
	if (!c->function)
		return -1;
	c->function[0] = (struct tw_cc_function){.name = "", .why = "it is in no function"};
	c->n_functions = 1;
	mark_named(c);
	for (uint32_t k = 0; k < o->n_symbols; k++) {
		const struct tw_cc_symbol *s = &o->symbol[k];
		if (!is_function(c, s) && s->section && s->binding != STB_LOCAL && s->section < o->n_sections &&
		    o->section[s->section].is_code) {
			int32_t i = at_place(c, s->section, s->value);
			if (i >= 0)
				c->insn[i].entry |= TW_CC_ENTRY_FUNCTION | TW_CC_ENTRY_TAKEN;
		}
		mark_joint(c, s);
		if (s->type == STT_GNU_IFUNC) {
			int32_t i = at_place(c, s->section, s->value);
			if (i >= 0)
				tw_cc_code_leave(c, &c->insn[i], "it chooses a function while the program is being linked");
		}
	}
	return 0;
}

/* ---- where control leads ---- */

/* The instruction that a relocation for a place `behind` bytes before the end of its instruction refers to. */
static int32_t referred(const struct tw_cc_code *c, const struct tw_cc_reloc *r, int64_t behind)
{
	const struct tw_cc_symbol *s = &c->object.symbol[r->symbol];
	return s->section ? led_to(c, s->section, s->value + (uint64_t)(r->addend + behind)) : -1;
}

/* Calls by rules of their own. */
static int keeps_registers(const char *name)
{
	return is_named(name, "__x86_") || is_named(name, "__fentry__") || !strcmp(name, "mcount") || !strcmp(name, "_mcount") ||
	       is_named(name, "__llvm_retpoline") || is_named(name, "__asan_check") || is_named(name, "__hwasan");
}

/* Of complex numbers, where something is not a number: of libgcc and compiler-rt, called behind a branch that is next to never taken, within loops. */
static int computes_only(const char *name)
{
	static const char *const names[] = {"__mulsc3", "__muldc3", "__mulxc3", "__divsc3", "__divdc3", "__divxc3"};
	for (size_t k = 0; k < sizeof names / sizeof *names; k++)
		if (!strcmp(name, names[k]))
			return 1;
	return 0;
}

/* Where the code of the function ends. clang leads there, at -O0, what never goes on. */
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
	const struct tw_cc_reloc *r = reloc_in(c, i, 0, i->d.len);
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
	i->branch = led_to(c, i->section, to);
	if (i->branch < 0 && to != end_of_function(c, i))
		tw_cc_code_leave(c, i, "a branch leads into the middle of something");
}

/* A branch to a place that has no label was written as a distance, which inserted instructions would change. */
static void check_target(struct tw_cc_code *c, const struct tw_cc_insn *i)
{
	if (i->branch >= 0 && !c->insn[i->branch].labelled)
		tw_cc_code_leave(c, i, "a branch leads to a place without a label");
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
		    strncmp(s->name, LABEL, sizeof LABEL - 1))
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
	int32_t i = led_to(c, s->section, s->value);
	if (i >= 0)
		c->insn[i].entry |= c->insn[i].entry & TW_CC_ENTRY_FUNCTION ? TW_CC_ENTRY_TAKEN : entry;
}

/* Directives whose operands are data. */
static int gives_data(const struct tw_cc_text *t, const struct tw_cc_statement *s)
{
	static const char *const words[] = {".long",  ".quad", ".uleb128", ".sleb128", ".byte",  ".value",
	                                    ".short", ".word", ".int",     ".4byte",   ".8byte", ".2byte"};
	if (s->kind != TW_CC_DIRECTIVE || s->where == TW_CC_DEBUG)
		return 0;
	for (size_t w = 0; w < sizeof words / sizeof *words; w++)
		if (tw_cc_is_word(t, s, words[w]))
			return 1;
	return 0;
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
		if (!gives_data(t, s))
			continue;
		for (size_t length; (length = tw_cc_next_name(t, s, &at, &name));)
			mark_data(c, all, n, name, length, s->where == TW_CC_EXCEPTIONS ? TW_CC_ENTRY_LANDING : TW_CC_ENTRY_DATA);
	}
	free(all);
	return 0;
}

/* Labels that are numbers may be referred to by data that cannot be told from other data. */
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

/* Instruction k makes the argument of __tls_get_addr: linkers take the call apart together with it, and with what computes the address in the large code model. */
static void glue(struct tw_cc_code *c, uint32_t k)
{
	const struct tw_cc_reloc *r = k + 3 < c->n_insns ? reloc_in(c, &c->insn[k + 1], 0, c->insn[k + 1].d.len) : NULL;
	const uint32_t n = r && r->type == R_X86_64_PLTOFF64 ? 3 : 1;
	for (uint32_t m = 1; m <= n && k + m < c->n_insns; m++)
		c->insn[k + m].glued = 1;
}

/* What operands refer to, and calls of __tls_get_addr. */
static void note_operands(struct tw_cc_code *c, uint32_t k)
{
	struct tw_cc_insn *i = &c->insn[k];
	for (unsigned from = 0; from < i->d.len;) {
		const struct tw_cc_reloc *r = reloc_in(c, i, from, i->d.len);
		if (!r)
			break;
		if (i->d.kind == INSN_PLAIN || i->d.kind == INSN_IJUMP || i->d.kind == INSN_ICALL)
			note_operand_reloc(c, i, r);
		if (r->type == R_X86_64_TLSGD || r->type == R_X86_64_TLSLD)
			glue(c, k);
		from = (unsigned)(r->at - i->at) + 1;
	}
	if (i->disp_patch == TW_CC_RELATIVE && !reloc_in(c, i, i->disp_at, i->disp_at + 4u))
		mark_address(c, at_place(c, i->section,
		                         i->at + i->d.len + (uint64_t)(int64_t) * (const int32_t *)(const void *)(i->d.raw + i->disp_at)));
}

/* ---- what cannot be instrumented ---- */

/* The return address, below the stack. */
static int reads_return_address(const struct tw_cc_code *c, const struct tw_cc_insn *i)
{
	for (uint32_t m = i->op; m < i->op + i->d.n_ops; m++) {
		const struct tw_op *op = &c->op[m].op;
		if (op->kind == TW_OP_REF && op->base == TW_RSP && op->disp == -8 && op->type & TW_READ)
			return 1;
	}
	return 0;
}

/* Is the address that a call came back to compared with the label at k, behind it (-mspeculative-load-hardening)? What is inserted there would come in between. */
static int compares_return(const struct tw_cc_code *c, uint32_t k)
{
	enum { SOON = 8 };
	if (!k || !(c->insn[k].entry & TW_CC_ENTRY_DATA) || (c->insn[k - 1].d.kind != INSN_CALL && c->insn[k - 1].d.kind != INSN_ICALL))
		return 0;
	for (uint32_t m = k; m < c->n_insns && m < k + SOON && c->insn[m].function == c->insn[k].function; m++)
		if (reads_return_address(c, &c->insn[m]))
			return 1;
	return 0;
}

static void look_for_trouble(struct tw_cc_code *c)
{
	for (uint32_t k = 0; k < c->n_insns; k++) {
		struct tw_cc_insn *i = &c->insn[k];
		const struct tw_cc_insn *next = i + 1;
		if (!i->d.len)
			tw_cc_code_leave(c, i, "it is not known what this is");
		if (i->d.kind == INSN_LOOP)
			tw_cc_code_leave(c, i, "its branch cannot be lengthened");
		if (!i->falls && k + 1 < c->n_insns && next->section == i->section && next->function == i->function)
			tw_cc_code_leave(c, i, "there is something else than instructions behind it");
		check_target(c, i);
		if (compares_return(c, k))
			tw_cc_code_leave(c, i, "it compares where a call came back to with a label");
		if (i->branch >= 0 && i->d.kind != INSN_CALL && !c->insn[i->branch].entry && c->insn[i->branch].function != i->function)
			tw_cc_code_leave(c, i, "it leads into the middle of another function");
		for (uint32_t m = 0; m < i->d.n_ops; m++)
			if (c->op[i->op + m].xcomp)
				tw_cc_code_leave(c, i, "its size is known only when it runs");
	}
}

int tw_cc_code_match(struct tw_cc_code *c)
{
	if (find_labels(c) || decode_all(c) || mark_functions(c))
		return -1;
	mark_labelled(c);
	for (uint32_t k = 0; k < c->n_insns; k++) {
		lead(c, &c->insn[k]);
		note_operands(c, k);
	}
	if (mark_all_data(c))
		return -1;
	mark_numbered(c);
	look_for_trouble(c);
	return 0;
}

void tw_cc_code_free(struct tw_cc_code *c)
{
	tw_cc_text_free(&c->text);
	tw_cc_object_free(&c->object);
	free(c->insn);
	free(c->op);
	free(c->function);
}
