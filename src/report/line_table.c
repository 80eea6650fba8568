#include "report/line_table.h"
#include "base/array.h"
#include "recording/recording.h"
#include "report/dwarf_entry.h"

#include <dwarf.h>
#include <elfutils/libdwfl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

struct build {
	struct tw_line_table *out;
	struct tw_texts *sources;
	size_t rows_room, functions_room;
	Dwfl_Module *module;
	Dwarf_Addr bias;       /* from an address in the debug information to libdwfl's */
	int64_t shift;         /* ... to the file's own */
	const char *directory; /* where the unit was compiled */
	uint64_t empty;        /* the address of the last row without code */
	int error;
};

static void *grown(struct build *b, void *items, size_t n, size_t *room, size_t bytes)
{
	void *bigger = tw_array_room(items, n, room, bytes);
	b->error = bigger ? b->error : TW_ERR_MEMORY;
	return bigger ? bigger : items;
}

static uint32_t number_source(struct build *b, const char *path)
{
	char whole[PATH_MAX];
	int absolute = path[0] == '/' || !b->directory;
	snprintf(whole, sizeof whole, "%s%s%s", absolute ? "" : b->directory, absolute ? "" : "/", path);
	uint32_t number = tw_texts_number(b->sources, whole);
	if (number == TW_NO_TEXT)
		b->error = TW_ERR_MEMORY;
	return number;
}

/* ---- rows ---- */

static void add_row(struct build *b, Dwarf_Line *line, uint64_t end)
{
	struct tw_line_table *t = b->out;
	struct tw_line_row row = {0};
	Dwarf_Addr start;
	int number = 0;
	unsigned discriminator = 0;
	const char *path = dwarf_linesrc(line, NULL, NULL);
	if (dwarf_lineaddr(line, &start) || dwarf_lineno(line, &number) || !path)
		return;
	row.shared = b->empty == start;
	if (start >= end) {
		b->empty = start;
		return;
	}
	dwarf_linediscriminator(line, &discriminator);
	row.start = start + (uint64_t)b->shift;
	row.end = end + (uint64_t)b->shift;
	row.line = (uint32_t)number;
	row.discriminator = discriminator;
	row.source = number_source(b, path);
	t->rows = grown(b, t->rows, t->n_rows, &b->rows_room, sizeof row);
	if (!b->error)
		t->rows[t->n_rows++] = row;
}

static void add_rows(struct build *b, Dwarf_Die *unit)
{
	Dwarf_Lines *lines;
	size_t n;
	if (dwarf_getsrclines(unit, &lines, &n))
		return;
	for (size_t i = 0; i + 1 < n && !b->error; i++) {
		Dwarf_Line *line = dwarf_onesrcline(lines, i);
		Dwarf_Addr next;
		bool end;
		if (!dwarf_lineendsequence(line, &end) && !end && !dwarf_lineaddr(dwarf_onesrcline(lines, i + 1), &next))
			add_row(b, line, next);
	}
}

static int by_start(const void *a, const void *b)
{
	const struct tw_line_row *x = a, *y = b;
	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return (x->end > y->end) - (x->end < y->end);
}

/* Code dropped by the linker may still have rows, at addresses of other code. */
static void sort_rows(struct tw_line_table *t)
{
	size_t n = 0;
	if (t->n_rows)
		qsort(t->rows, t->n_rows, sizeof *t->rows, by_start);
	for (size_t i = 0; i < t->n_rows; i++)
		if (!n || t->rows[i].start >= t->rows[n - 1].end)
			t->rows[n++] = t->rows[i];
	t->n_rows = n;
}

/* ---- functions ---- */

/*
 * The linker's symbol of the function with this plain name. Debug information does not give mangled C++ names of
 * functions local to the file. NULL: none.
 */
static const char *mangled_name(const struct build *b, Dwarf_Addr entry, const char *plain)
{
	GElf_Sym symbol;
	GElf_Off offset;
	const char *name = dwfl_module_addrinfo(b->module, entry + b->bias, &offset, &symbol, NULL, NULL, NULL);
	return name && !offset && name[0] == '_' && name[1] == 'Z' && !strchr(name, '.') && strstr(name, plain) ? name : NULL;
}

static const char *linkage_name(const struct build *b, Dwarf_Die *die, Dwarf_Addr entry)
{
	Dwarf_Attribute attribute;
	const char *name = dwarf_formstring(dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute));
	const char *plain = name ? NULL : dwarf_diename(die), *mangled = plain ? mangled_name(b, entry, plain) : NULL;
	return name ? name : mangled ? mangled : plain;
}

static int add_function(Dwarf_Die *die, void *arg)
{
	struct build *b = arg;
	struct tw_line_table *t = b->out;
	Dwarf_Addr entry, base, start, end;
	int line;
	const char *path = dwarf_decl_file(die);
	if (!path || dwarf_decl_line(die, &line) || tw_dwarf_entry(die, &entry))
		return DWARF_CB_OK;
	const char *name = linkage_name(b, die, entry);
	if (!name)
		return DWARF_CB_OK;
	struct tw_line_function f = {.entry = entry + (uint64_t)b->shift, .end = entry + (uint64_t)b->shift + 1, .name = name};
	for (ptrdiff_t at = 0; (at = dwarf_ranges(die, at, &base, &start, &end)) > 0;)
		if (entry >= start && entry < end)
			f.end = end + (uint64_t)b->shift;
	f.source = number_source(b, path);
	f.line = (uint32_t)line;
	t->functions = grown(b, t->functions, t->n_functions, &b->functions_room, sizeof f);
	if (b->error)
		return DWARF_CB_ABORT;
	t->functions[t->n_functions++] = f;
	return DWARF_CB_OK;
}

static void add_unit(struct build *b, Dwarf_Die *unit)
{
	Dwarf_Attribute attribute;
	b->empty = UINT64_MAX;
	b->directory = dwarf_formstring(dwarf_attr(unit, DW_AT_comp_dir, &attribute));
	add_rows(b, unit);
	if (!b->error)
		dwarf_getfuncs(unit, add_function, b, 0);
}

int tw_line_table(const struct tw_symbols *symbols, const char *path, struct tw_texts *sources, struct tw_line_table *out)
{
	struct build b = {.out = out, .sources = sources};
	uint64_t file_bias;
	b.module = tw_symbols_dwfl(symbols, path, &file_bias);
	memset(out, 0, sizeof *out);
	if (!b.module || !dwfl_module_getdwarf(b.module, &b.bias))
		return 0;
	for (Dwarf_Die *unit = NULL; (unit = dwfl_module_nextcu(b.module, unit, &b.bias)) && !b.error;) {
		b.shift = (int64_t)(b.bias - file_bias);
		add_unit(&b, unit);
	}
	sort_rows(out);
	if (b.error)
		tw_line_table_free(out);
	return b.error ? tw_fail(TW_ERR_MEMORY, "lines of %s", path) : 0;
}

void tw_line_table_free(struct tw_line_table *t)
{
	free(t->rows);
	free(t->functions);
	memset(t, 0, sizeof *t);
}

/* The first row that begins behind an address. */
static size_t row_after(const struct tw_line_table *t, uint64_t vaddr)
{
	return tw_array_until(&vaddr, t->rows, t->n_rows, sizeof *t->rows, tw_by_number);
}

void tw_line_table_move_openings(struct tw_line_table *t)
{
	for (size_t i = 0; i < t->n_functions; i++) {
		const struct tw_line_function *f = &t->functions[i];
		size_t at = row_after(t, f->entry);
		struct tw_line_row *row = at ? &t->rows[at - 1] : NULL;
		if (row && row->start == f->entry && !row->shared && row->source == f->source && row->line > f->line)
			row->line = f->line;
	}
}

const struct tw_line_row *tw_line_table_find(const struct tw_line_table *t, uint64_t vaddr)
{
	size_t at = row_after(t, vaddr);
	return at && vaddr < t->rows[at - 1].end ? &t->rows[at - 1] : NULL;
}
