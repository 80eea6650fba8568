#include "top/rows.h"
#include "base/array.h"
#include "names/places.h"
#include "report/printable.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

void tw_top_rows_free(struct tw_top_rows *rows)
{
	for (size_t i = 0; i < rows->n; i++)
		free(rows->items[i].text);
	free(rows->items);
	*rows = (struct tw_top_rows){.head = ""};
}

/* Adds a row if its text contains `filter`. NULL: it does not, or no memory. */
static struct tw_top_row *add(struct tw_top_rows *rows, const char *filter, const char *format, ...) __attribute__((format(printf, 3, 4)));

static struct tw_top_row *add(struct tw_top_rows *rows, const char *filter, const char *format, ...)
{
	struct tw_top_row *items = tw_array_room(rows->items, rows->n, &rows->room, sizeof *items);
	char *text = NULL;
	va_list args;
	if (!items)
		return NULL;
	rows->items = items;
	va_start(args, format);
	int n = vasprintf(&text, format, args);
	va_end(args);
	if (n < 0)
		return NULL;
	if (!strcasestr(text, filter)) {
		free(text);
		return NULL;
	}
	items[rows->n] = (struct tw_top_row){.text = text, .function = UINT32_MAX};
	return &items[rows->n++];
}

static double percent(uint64_t n, uint64_t all)
{
	return all ? 100.0 * (double)n / (double)all : 0;
}

static void set_keys(struct tw_top_row *row, uint32_t function, int name, uint64_t insns, uint64_t reads, uint64_t writes)
{
	if (row)
		*row = (struct tw_top_row){.text = row->text, .function = function, .name = name, .keys = {insns, reads, writes}};
}

/* ---- lists ---- */

/* "  12.34%  12.3M  12.3M  12.3M  ": what all lists begin with. */
enum { NAME_AT = 34 };

static void add_functions(struct tw_snapshot *s, const char *filter, struct tw_top_rows *out)
{
	char n[3][16];
	out->head = "    self   insns   reads  writes  function                                 module";
	for (size_t i = 0; i < s->listing.n_functions; i++) {
		const struct tw_listing_function *f = &s->listing.functions[i];
		set_keys(add(out, filter, "%7.2f%% %7s %7s %7s  %-40s %s", percent(f->insns, s->insns), tw_scaled(f->insns, n[0]),
		             tw_scaled(f->reads, n[1]), tw_scaled(f->writes, n[2]), f->name, f->module),
		         (uint32_t)i, NAME_AT, f->insns, f->reads, f->writes);
	}
}

static void add_blocks(struct tw_snapshot *s, const char *filter, struct tw_top_rows *out)
{
	char n[2][16];
	const struct tw_profile_blocks *all = &s->listing.profile.fixed;
	out->head = "     all   insns executed  length  place";
	for (uint32_t i = 0; i < all->n_blocks; i++) {
		const struct tw_profile_block *b = &all->blocks[s->blocks[i].block];
		struct tw_code_name name;
		struct tw_owned owned;
		uint64_t insns = s->blocks[i].insns;
		tw_names_code(s->names, b->image, b->pc, &name);
		int known = !tw_owners_find(&s->listing.owners, b->image, b->pc, 0, &owned);
		set_keys(add(out, filter, "%7.2f%% %7s %8s %7u  %s+0x%" PRIx64 " %s:%u, ends %s", percent(insns, s->insns),
		             tw_scaled(insns, n[0]), tw_scaled(b->executions, n[1]), b->n_insns, name.function, name.offset,
		             name.file ? tw_base_name(name.file) : name.module, name.line, tw_ending_name((enum tw_ending)b->ending)),
		         known ? s->function_of[owned.owner] : UINT32_MAX, NAME_AT + 1, insns, 0, 0);
	}
}

static void add_lines(struct tw_snapshot *s, const char *filter, struct tw_top_rows *out)
{
	char n[3][16], place[400];
	out->head = "     all   insns   reads  writes  line";
	for (size_t i = 0; i < s->n_lines; i++) {
		const struct tw_snapshot_line *l = &s->lines[i];
		const char *function = l->function == UINT32_MAX ? "?" : s->listing.functions[l->function].name;
		const char *text = l->file ? tw_source_line(&s->listing.sources, l->file, l->line) : NULL;
		if (l->file)
			snprintf(place, sizeof place, "%s:%u", tw_base_name(l->file), l->line);
		else
			snprintf(place, sizeof place, "%.300s, without lines", function);
		set_keys(add(out, filter, "%7.2f%% %7s %7s %7s  %-24s %s", percent(l->insns, s->insns), tw_scaled(l->insns, n[0]),
		             tw_scaled(l->reads, n[1]), tw_scaled(l->writes, n[2]), place, text ? text + strspn(text, " \t") : ""),
		         l->function, NAME_AT, l->insns, l->reads, l->writes);
	}
}

static int by_insns(const void *a, const void *b)
{
	const struct tw_top_row *x = a, *y = b;
	return (x->keys[0] < y->keys[0]) - (x->keys[0] > y->keys[0]);
}

static int by_reads(const void *a, const void *b)
{
	const struct tw_top_row *x = a, *y = b;
	return (x->keys[1] < y->keys[1]) - (x->keys[1] > y->keys[1]);
}

static int by_writes(const void *a, const void *b)
{
	const struct tw_top_row *x = a, *y = b;
	return (x->keys[2] < y->keys[2]) - (x->keys[2] > y->keys[2]);
}

static int by_name(const void *a, const void *b)
{
	const struct tw_top_row *x = a, *y = b;
	return strcmp(x->text + x->name, y->text + y->name);
}

void tw_top_list(struct tw_snapshot *s, enum tw_top_list list, unsigned sort, const char *filter, struct tw_top_rows *out)
{
	static int (*const orders[TW_TOP_SORTS])(const void *, const void *) = {by_insns, by_reads, by_writes, by_name};
	static void (*const lists[])(struct tw_snapshot *, const char *, struct tw_top_rows *) = {add_functions, add_blocks, add_lines};
	lists[list](s, filter, out);
	if (out->n)
		qsort(out->items, out->n, sizeof *out->items, orders[sort]);
}

/* ---- one function ---- */

static const struct tw_listing_function *find(const struct tw_snapshot *s, const char *name, const char *module)
{
	for (size_t i = 0; i < s->listing.n_functions; i++) {
		const struct tw_listing_function *f = &s->listing.functions[i];
		if (!strcmp(f->name, name) && !strcmp(f->module, module))
			return f;
	}
	return NULL;
}

/* The source line, if it differs from the previous instruction's. */
static void add_source(struct tw_snapshot *s, const struct tw_code_name *name, struct tw_top_rows *out)
{
	const char *text = name->file && name->line ? tw_source_line(&s->listing.sources, name->file, name->line) : NULL;
	struct tw_top_row *row =
	    add(out, "", "%29s  %s:%u  %s", "", name->file ? tw_base_name(name->file) : name->module, name->line, text ? text : "");
	if (row)
		row->source = 1;
}

static void add_insn(struct tw_snapshot *s, const struct tw_profile_insn *p, uint64_t all, struct tw_top_rows *out)
{
	char text[256], n[3][16];
	tw_listing_disassemble(&s->listing, p, text, sizeof text);
	add(out, "", "%7.2f%% %6s %6s %6s  %12" PRIx64 "  %s", percent(p->executions, all), tw_scaled(p->executions, n[0]),
	    p->reads ? tw_scaled(p->reads, n[1]) : "", p->writes ? tw_scaled(p->writes, n[2]) : "", p->pc, text);
}

void tw_top_function(struct tw_snapshot *s, const char *name, const char *module, struct tw_top_rows *out)
{
	const struct tw_listing_function *f = find(s, name, module);
	const char *file = NULL;
	uint32_t line = 0;
	uint64_t most = 0;
	out->head = "    self  times  reads writes       address  instruction";
	for (size_t i = 0; f && i < f->n; i++) {
		const struct tw_profile_insn *p = &s->listing.profile.insns[s->listing.order[f->first + i].insn];
		struct tw_code_name place;
		tw_names_code(s->names, p->image, p->pc, &place);
		if (place.line && (place.line != line || !file || strcmp(file, place.file)))
			add_source(s, &place, out);
		file = place.file;
		line = place.line;
		if (p->executions > most) {
			most = p->executions;
			out->hottest = out->n;
		}
		add_insn(s, p, f->most, out);
	}
}
