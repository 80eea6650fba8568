#include "cc/functions.h"
#include "cc/insns.h"
#include "cc/twice.h"

#include <stdlib.h>
#include <string.h>

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

/* Split-off parts are entered only from the rest of their function. A further name of a function is an alias of the first. */
static void mark_function(struct tw_cc_code *c, const struct tw_cc_symbol *s)
{
	const int32_t k = tw_cc_at_place(c, s->section, s->value);
	if (k < 0)
		return;
	const uint32_t line = c->text.statement[c->insn[k].first].line, other = function_beginning(c, (uint32_t)k);
	if (s->binding != STB_LOCAL)
		c->insn[k].entry |= TW_CC_ENTRY_TAKEN;
	if (other && !is_split_off(s)) {
		add_function(c, (struct tw_cc_function){.name = s->name, .line = line, .same_as = other});
		return;
	}
	const uint32_t number = function_named(c, s->name, line);
	if (!is_split_off(s))
		c->insn[k].entry |= TW_CC_ENTRY_FUNCTION;
	for (uint32_t i = (uint32_t)k; i < c->n_insns && c->insn[i].section == s->section && c->insn[i].at < s->value + s->size; i++)
		c->insn[i].function = number;
}

/*
 * Split-off parts come after their functions: a function may have several names, and must exist by then. Second
 * versions lie within functions, and come last.
 */
static void mark_named(struct tw_cc_code *c)
{
	for (int turn = 0; turn < 4; turn++)
		for (uint32_t k = 0; k < c->object.n_symbols; k++) {
			const struct tw_cc_symbol *s = &c->object.symbol[k];
			if (is_function(c, s) && is_split_off(s) + 2 * tw_cc_is_named(s->name, TW_CC_SECOND) == turn)
				mark_function(c, s);
		}
}

static void mark_joint(struct tw_cc_code *c, const struct tw_cc_symbol *s)
{
	const int32_t i = tw_cc_at_place(c, s->section, s->value);
	if (i >= 0 && tw_cc_is_named(s->name, TW_CC_JOINT)) {
		c->insn[i].entry |= TW_CC_ENTRY_UNKNOWN;
		c->insn[i].joint = 1;
	}
	if (i >= 0 && tw_cc_is_named(s->name, TW_CC_HEAD))
		c->insn[i].head = (uint32_t)strtoul(s->name + sizeof TW_CC_HEAD - 1, NULL, 10);
}

int tw_cc_functions_find(struct tw_cc_code *c)
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
			int32_t i = tw_cc_at_place(c, s->section, s->value);
			if (i >= 0)
				c->insn[i].entry |= TW_CC_ENTRY_FUNCTION | TW_CC_ENTRY_TAKEN;
		}
		mark_joint(c, s);
	}
	return 0;
}

/* ---- what runs while the program is being linked, before there is thread-local memory ---- */

/* The instruction that i calls or jumps to, possibly by way of the global offset table; -1: it is not in this file. */
static int32_t called_by(const struct tw_cc_code *c, const struct tw_cc_insn *i)
{
	const struct tw_cc_symbol *s = &c->object.symbol[i->symbol];
	if (i->branch >= 0 || !i->symbol || (i->d.kind != INSN_ICALL && i->d.kind != INSN_IJUMP))
		return i->branch;
	return s->section ? tw_cc_at_place(c, s->section, s->value) : -1;
}

/* Excludes the functions that early functions call. Returns whether there was any. */
static int spread(struct tw_cc_code *c, uint8_t *early)
{
	int found = 0;
	for (uint32_t k = 0; k < c->n_insns; k++) {
		const int32_t to = early[c->insn[k].function] ? called_by(c, &c->insn[k]) : -1;
		if (to < 0 || early[c->insn[to].function] || !c->insn[to].function)
			continue;
		tw_cc_code_leave(c, &c->insn[to], "it may be called while the program is being linked");
		found = early[c->insn[to].function] = 1;
	}
	return found;
}

int tw_cc_functions_leave_early(struct tw_cc_code *c)
{
	uint8_t *early = calloc(c->n_functions + 1, 1);
	int any = 0;
	if (!early)
		return -1;
	for (uint32_t k = 0; k < c->object.n_symbols; k++) {
		const struct tw_cc_symbol *s = &c->object.symbol[k];
		const int32_t i = s->type == STT_GNU_IFUNC ? tw_cc_at_place(c, s->section, s->value) : -1;
		if (i < 0)
			continue;
		tw_cc_code_leave(c, &c->insn[i], "it chooses a function while the program is being linked");
		any |= early[c->insn[i].function] = c->insn[i].function != 0;
	}
	while (any)
		any = spread(c, early);
	free(early);
	return 0;
}
