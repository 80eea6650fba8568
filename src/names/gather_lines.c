/* Lines and inlined functions of the units in which code ran, from DWARF. */
#include "names/gather_lines.h"
#include "base/array.h"

#include <dwarf.h>
#include <elfutils/libdwfl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Code of an inlined function, with what is inlined into it. */
struct nested {
	uint64_t start, end;
	uint32_t node; /* what is inlined into a function has a larger number */
};

struct build {
	struct tw_name_table *t;
	struct tw_ran_list unit; /* what code it has, joined */
	int64_t shift;           /* from an address in the debug information to the file's own */
	Dwarf_Files *files;      /* of the unit */
	const char *directory;
	struct nested *nested;
	size_t n_nested, nested_room;
	int ok;
};

/* ---- texts ---- */

/* The number of a source file; its path is absolute if the compiler recorded its working directory. */
static uint32_t number_source(struct build *b, const char *path)
{
	char whole[PATH_MAX];
	int absolute = path[0] == '/' || !b->directory;
	snprintf(whole, sizeof whole, "%s%s%s", absolute ? "" : b->directory, absolute ? "" : "/", path);
	uint32_t number = tw_name_table_text(b->t, whole);
	b->ok &= number != TW_NO_TEXT;
	return number;
}

/* ---- lines ---- */

static void add_line(struct build *b, Dwarf_Line *line, Dwarf_Line *next)
{
	Dwarf_Addr start, end;
	int number = 0;
	bool sequence_ends;
	const char *path = dwarf_linesrc(line, NULL, NULL);
	if (!path || dwarf_lineendsequence(line, &sequence_ends) || sequence_ends || dwarf_lineaddr(line, &start) ||
	    dwarf_lineaddr(next, &end) || dwarf_lineno(line, &number) || start >= end)
		return;
	struct tw_name_line item = {start + (uint64_t)b->shift, end + (uint64_t)b->shift, 0, (uint32_t)number};
	if (!tw_ran_any(&b->unit, item.start, item.end))
		return;
	item.source = number_source(b, path);
	b->ok &= tw_name_table_add(b->t, TW_NAME_LINES, &item);
}

static void add_lines(struct build *b, Dwarf_Die *unit)
{
	Dwarf_Lines *lines;
	size_t n;
	if (dwarf_getsrclines(unit, &lines, &n))
		return;
	for (size_t i = 0; i + 1 < n && b->ok; i++)
		add_line(b, dwarf_onesrcline(lines, i), dwarf_onesrcline(lines, i + 1));
}

/* ---- inlined functions ---- */

static const char *name_of(Dwarf_Die *die)
{
	Dwarf_Attribute attribute;
	const char *name = dwarf_formstring(dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute));
	return name ? name : dwarf_diename(die);
}

static uint32_t number_of(Dwarf_Die *die, unsigned name)
{
	Dwarf_Attribute attribute;
	Dwarf_Word value;
	return dwarf_formudata(dwarf_attr(die, name, &attribute), &value) ? 0 : (uint32_t)value;
}

/* Whether a (joined) list contains some code of `die`. */
static int is_in(const struct build *b, Dwarf_Die *die, const struct tw_ran_list *list)
{
	Dwarf_Addr base, start, end;
	for (ptrdiff_t at = 0; (at = dwarf_ranges(die, at, &base, &start, &end)) > 0;)
		if (tw_ran_any(list, start + (uint64_t)b->shift, end + (uint64_t)b->shift))
			return 1;
	return 0;
}

static void add_nested(struct build *b, Dwarf_Die *die, uint32_t node)
{
	Dwarf_Addr base, start, end;
	for (ptrdiff_t at = 0; b->ok && (at = dwarf_ranges(die, at, &base, &start, &end)) > 0;) {
		struct nested *items = tw_array_room(b->nested, b->n_nested, &b->nested_room, sizeof *items);
		b->ok &= items != NULL;
		if (!items)
			break;
		b->nested = items;
		b->nested[b->n_nested++] = (struct nested){start + (uint64_t)b->shift, end + (uint64_t)b->shift, node};
	}
}

/* Adds a function inlined into node `parent` at a call. Returns its node. */
static uint32_t add_node(struct build *b, Dwarf_Die *die, uint32_t parent)
{
	const char *name = name_of(die), *path = b->files ? dwarf_filesrc(b->files, number_of(die, DW_AT_call_file), NULL, NULL) : NULL;
	struct tw_name_node node = {.parent = parent, .source = TW_NAME_NONE, .line = number_of(die, DW_AT_call_line)};
	node.name = tw_name_table_text(b->t, name ? name : "(inlined)");
	if (path)
		node.source = number_source(b, path);
	b->ok &= node.name != TW_NO_TEXT && tw_name_table_add(b->t, TW_NAME_NODES, &node);
	return b->ok ? (uint32_t)b->t->items[TW_NAME_NODES].n - 1 : parent;
}

/* What is below `die`, which is part of node `parent`. */
static void add_below(struct build *b, Dwarf_Die *die, uint32_t parent)
{
	Dwarf_Die child;
	for (int more = dwarf_child(die, &child); b->ok && !more; more = dwarf_siblingof(&child, &child)) {
		int tag = dwarf_tag(&child);
		if (tag == DW_TAG_lexical_block)
			add_below(b, &child, parent);
		if (tag != DW_TAG_inlined_subroutine || !is_in(b, &child, &b->unit))
			continue;
		uint32_t node = add_node(b, &child, parent);
		add_nested(b, &child, node);
		add_below(b, &child, node);
	}
}

static int add_function(Dwarf_Die *die, void *context)
{
	struct build *b = context;
	if (is_in(b, die, &b->unit))
		add_below(b, die, TW_NAME_NONE);
	return b->ok ? DWARF_CB_OK : DWARF_CB_ABORT;
}

/* ---- one inlined function at each address ---- */

static int by_nesting(const void *a, const void *b)
{
	const struct nested *x = a, *y = b;
	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	if (x->end != y->end)
		return x->end > y->end ? -1 : 1;
	return (x->node > y->node) - (x->node < y->node);
}

/* From *at up to `end` code belongs to the node. */
static void add_piece(struct build *b, uint64_t *at, uint64_t end, uint32_t node)
{
	struct tw_name_inlined item = {.start = *at, .end = end, .node = node};
	if (*at < end && tw_ran_any(&b->unit, *at, end))
		b->ok &= tw_name_table_add(b->t, TW_NAME_INLINED, &item);
	*at = end > *at ? end : *at;
}

/* Splits nested ranges so that each piece belongs to the innermost one. `open`: room for all of them. */
static void flatten(struct build *b, struct nested *open)
{
	size_t depth = 0;
	uint64_t at = 0;
	for (size_t i = 0; i < b->n_nested && b->ok; i++) {
		struct nested item = b->nested[i];
		while (depth && open[depth - 1].end <= item.start) {
			depth--;
			add_piece(b, &at, open[depth].end, open[depth].node);
		}
		if (depth) {
			add_piece(b, &at, item.start, open[depth - 1].node);
			item.end = item.end < open[depth - 1].end ? item.end : open[depth - 1].end;
		}
		at = item.start;
		open[depth++] = item;
	}
	while (depth-- > 0 && b->ok)
		add_piece(b, &at, open[depth].end, open[depth].node);
}

static void add_inlined(struct build *b)
{
	struct nested *open = calloc(b->n_nested + 1, sizeof *open);
	b->ok &= open != NULL;
	if (b->n_nested)
		qsort(b->nested, b->n_nested, sizeof *b->nested, by_nesting);
	if (open)
		flatten(b, open);
	free(open);
}

/* ---- units ---- */

/* Lists the unit's code. Functions that the linker has dropped have addresses from 0 on. */
static void list_code(struct build *b, Dwarf_Die *unit)
{
	Dwarf_Addr base, start, end;
	b->unit.n = 0;
	for (ptrdiff_t at = 0; b->ok && (at = dwarf_ranges(unit, at, &base, &start, &end)) > 0;)
		if (start && start < end)
			b->ok = tw_ran_add(&b->unit, start + (uint64_t)b->shift, end + (uint64_t)b->shift);
	tw_ran_sort(&b->unit);
}

static void add_unit(struct build *b, Dwarf_Die *unit, struct tw_ran_list *known)
{
	Dwarf_Attribute attribute;
	size_t n;
	list_code(b, unit);
	b->n_nested = 0;
	b->directory = dwarf_formstring(dwarf_attr(unit, DW_AT_comp_dir, &attribute));
	if (dwarf_getsrcfiles(unit, &b->files, &n))
		b->files = NULL;
	add_lines(b, unit);
	if (b->ok)
		dwarf_getfuncs(unit, add_function, b, 0);
	if (b->ok)
		add_inlined(b);
	for (size_t i = 0; b->ok && i < b->unit.n; i++)
		b->ok = tw_ran_add(known, b->unit.pieces[i].start, b->unit.pieces[i].end);
}

int tw_gather_lines(const struct tw_symbols *symbols, size_t file, const struct tw_ran_list *missing, struct tw_name_table *out,
                    struct tw_ran_list *known)
{
	struct build b = {.t = out, .ok = 1};
	uint64_t file_bias;
	Dwarf_Addr bias;
	Dwfl_Module *module = tw_symbols_dwfl(symbols, tw_symbols_file(symbols, file), &file_bias);
	if (!module || !dwfl_module_getdwarf(module, &bias))
		return 1;
	for (Dwarf_Die *unit = NULL; b.ok && (unit = dwfl_module_nextcu(module, unit, &bias));) {
		b.shift = (int64_t)(bias - file_bias);
		if (is_in(&b, unit, missing))
			add_unit(&b, unit, known);
	}
	free(b.nested);
	free(b.unit.pieces);
	return b.ok;
}
