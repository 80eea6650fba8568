#include "report/inline_tree.h"
#include "base/array.h"
#include "recording/recording.h"
#include "report/dwarf_entry.h"

#include <dwarf.h>
#include <elfutils/libdwfl.h>
#include <stdlib.h>
#include <string.h>

/* DW_AT_GNU_discriminator: of the call that was inlined. */
enum { AT_DISCRIMINATOR = 0x2136 };

struct build {
	struct tw_inline_tree *t;
	int64_t shift;   /* from an address in the debug information to the file's own */
	uint8_t encoded; /* the unit was compiled by clang */
};

/* ---- discriminators (llvm/IR/DebugInfoMetadata.h) ---- */

/* The first number of a discriminator: none, or 5 bits, or 12. */
static uint32_t first_component(uint32_t d)
{
	if (d & 1)
		return 0;
	d >>= 1;
	return d & 0x20 ? ((d >> 1) & 0xfe0) | (d & 0x1f) : d & 0x1f;
}

static uint32_t next_component(uint32_t d)
{
	return d & 1 ? d >> 1 : d >> (d & 0x40 ? 14 : 7);
}

uint32_t tw_base_discriminator(uint32_t d)
{
	return first_component(d);
}

uint32_t tw_duplication_factor(uint32_t d)
{
	uint32_t factor = first_component(next_component(d));
	return factor ? factor : 1;
}

/* ---- nodes ---- */

static uint32_t number_of(Dwarf_Die *die, unsigned name)
{
	Dwarf_Attribute attribute;
	Dwarf_Word value;
	return dwarf_formudata(dwarf_attr_integrate(die, name, &attribute), &value) ? 0 : (uint32_t)value;
}

static const char *name_of(Dwarf_Die *die)
{
	Dwarf_Attribute attribute;
	const char *name = dwarf_formstring(dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute));
	return name ? name : dwarf_diename(die);
}

static int same_place(const struct tw_inline_node *a, const struct tw_inline_node *b)
{
	return a->parent == b->parent && a->call == b->call && a->call_discriminator == b->call_discriminator && !strcmp(a->name, b->name);
}

/* The number of a node, added unless there is one of that name at the same place below `first`. TW_NO_NODE: no memory. */
static uint32_t add_node(struct tw_inline_tree *t, uint32_t first, const struct tw_inline_node *node)
{
	for (uint32_t i = first; node->parent != TW_NO_NODE && i < t->n_nodes; i++)
		if (same_place(&t->nodes[i], node))
			return i;
	struct tw_inline_node *nodes = tw_array_room(t->nodes, t->n_nodes, &t->nodes_room, sizeof *nodes);
	if (!nodes)
		return TW_NO_NODE;
	t->nodes = nodes;
	t->nodes[t->n_nodes] = *node;
	return t->n_nodes++;
}

static int add_range(struct tw_inline_tree *t, struct tw_inline_range range)
{
	struct tw_inline_range *ranges = tw_array_room(t->ranges, t->n_ranges, &t->ranges_room, sizeof *ranges);
	if (!ranges)
		return 0;
	t->ranges = ranges;
	t->ranges[t->n_ranges++] = range;
	return 1;
}

static int add_ranges(struct build *b, Dwarf_Die *die, uint32_t node)
{
	Dwarf_Addr base, start, end;
	uint64_t shift = (uint64_t)b->shift;
	for (ptrdiff_t at = 0; (at = dwarf_ranges(die, at, &base, &start, &end)) > 0;)
		if (!add_range(b->t, (struct tw_inline_range){start + shift, end + shift, node}))
			return 0;
	return 1;
}

/* ---- the tree ---- */

static int add_inlined(struct build *b, Dwarf_Die *die, uint32_t parent, uint32_t *node)
{
	struct tw_inline_node inlined = {.name = name_of(die), .parent = parent, .encoded = b->encoded};
	if (!inlined.name)
		return 1;
	uint32_t discriminator = number_of(die, AT_DISCRIMINATOR);
	inlined.line = number_of(die, DW_AT_decl_line);
	inlined.call = (number_of(die, DW_AT_call_line) - b->t->nodes[parent].line) & 0xffff;
	inlined.call_discriminator = b->encoded ? tw_base_discriminator(discriminator) : discriminator;
	*node = add_node(b->t, parent, &inlined);
	return *node != TW_NO_NODE && add_ranges(b, die, *node);
}

/* What is below `die`, which is part of `node`. */
static int add_below(struct build *b, Dwarf_Die *die, uint32_t node)
{
	Dwarf_Die child;
	int ok = 1;
	for (int more = dwarf_child(die, &child); ok && !more; more = dwarf_siblingof(&child, &child)) {
		uint32_t inner = node;
		int tag = dwarf_tag(&child);
		if (tag == DW_TAG_inlined_subroutine)
			ok = add_inlined(b, &child, node, &inner);
		if (ok && (tag == DW_TAG_inlined_subroutine || tag == DW_TAG_lexical_block))
			ok = add_below(b, &child, inner);
	}
	return ok;
}

static int add_function(Dwarf_Die *die, void *arg)
{
	struct build *b = arg;
	Dwarf_Addr entry;
	struct tw_inline_node function = {.name = name_of(die), .parent = TW_NO_NODE, .encoded = b->encoded};
	if (!function.name || tw_dwarf_entry(die, &entry))
		return DWARF_CB_OK;
	function.line = number_of(die, DW_AT_decl_line);
	function.entry = entry + (uint64_t)b->shift;
	uint32_t node = add_node(b->t, 0, &function);
	return node != TW_NO_NODE && add_ranges(b, die, node) && add_below(b, die, node) ? DWARF_CB_OK : DWARF_CB_ABORT;
}

int tw_inline_tree(const struct tw_symbols *symbols, const char *path, struct tw_inline_tree *out)
{
	struct build b = {.t = out};
	uint64_t file_bias;
	Dwarf_Addr bias;
	Dwfl_Module *module = tw_symbols_dwfl(symbols, path, &file_bias);
	int ok = 1;
	memset(out, 0, sizeof *out);
	if (!module || !dwfl_module_getdwarf(module, &bias))
		return 0;
	for (Dwarf_Die *unit = NULL; ok && (unit = dwfl_module_nextcu(module, unit, &bias));) {
		Dwarf_Attribute attribute;
		const char *producer = dwarf_formstring(dwarf_attr(unit, DW_AT_producer, &attribute));
		b.encoded = producer && strstr(producer, "clang");
		b.shift = (int64_t)(bias - file_bias);
		ok = dwarf_getfuncs(unit, add_function, &b, 0) == 0;
	}
	if (!ok)
		tw_inline_tree_free(out);
	return ok ? 0 : tw_fail(TW_ERR_MEMORY, "functions of %s", path);
}

void tw_inline_tree_free(struct tw_inline_tree *t)
{
	free(t->nodes);
	free(t->ranges);
	memset(t, 0, sizeof *t);
}
