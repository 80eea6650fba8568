#include "analyzers/objects.h"
#include "base/array.h"
#include "names/names.h"

#include <stdlib.h>
#include <string.h>

/*
 * In a row's key, above the program: the counts are of a whole page, or of what a caller of malloc has allocated, whose
 * row stands in place of the address.
 */
#define OF_PAGE (1ull << 32)
#define OF_CALL (1ull << 33)

/* What a page or a line of it is. */
enum { UNKNOWN, ONE, SEVERAL };

/* Rows of counts: of the whole page, or of each line that is of one object. */
struct tw_object_page {
	uint8_t is;
	uint8_t line_is[TW_PAGE_LINES];
	uint32_t row, line_row[TW_PAGE_LINES];
};

/* ---- what is where ---- */

static void name_at(const struct tw_objects *o, uint32_t program, uint64_t address, struct tw_data_name *name)
{
	struct tw_names *names = tw_context_names(o->context);
	*name = (struct tw_data_name){.module = "", .object = ""};
	if (names)
		tw_names_data(names, tw_names_image(names, program), address, name);
}

/* Does the result for one address of `bytes` hold for all of them, checked in steps: one variable, or none? */
static int is_one(const struct tw_objects *o, uint32_t program, uint64_t address, uint64_t bytes, uint64_t step)
{
	struct tw_data_name first, next;
	name_at(o, program, address, &first);
	if (first.known)
		return first.start + first.bytes >= address + bytes;
	for (uint64_t at = step; at < bytes; at += step) {
		name_at(o, program, address + at, &next);
		if (next.known || strcmp(first.module, next.module))
			return 0;
	}
	return 1;
}

/* The row of everything with one name: for a variable by its start, for memory of no file by its page. */
static uint32_t row_of(struct tw_objects *o, uint32_t program, uint64_t address)
{
	const uint64_t page = address >> TW_PAGE_BITS << TW_PAGE_BITS;
	struct tw_data_name name;
	name_at(o, program, address, &name);
	if (!*name.module)
		return tw_rows_number(&o->rows, page, program | OF_PAGE);
	return tw_rows_number(&o->rows, name.known ? name.start : address, program);
}

/* Does all of a page belong to no file, nor to thread-local variables? */
static int is_nothing(const struct tw_objects *o, uint32_t program, uint64_t start, uint64_t bytes, uint64_t address)
{
	struct tw_names *names = tw_context_names(o->context);
	struct tw_data_name name;
	name_at(o, program, address, &name);
	return !*name.module && !(names && tw_names_has_own(names, tw_names_image(names, program), start, bytes));
}

/* A page that is met first. NULL: no memory. */
static struct tw_object_page *new_page(struct tw_objects *o, uint32_t program, uint64_t address)
{
	const uint64_t start = address >> TW_PAGE_BITS << TW_PAGE_BITS, bytes = 1 << TW_PAGE_BITS;
	struct tw_object_page *page = calloc(1, sizeof *page);
	if (!page)
		return NULL;
	const int nothing = is_nothing(o, program, start, bytes, address);
	page->is = nothing || is_one(o, program, start, bytes, 1 << TW_LINE_BITS) ? ONE : SEVERAL;
	if (page->is == ONE)
		page->row = row_of(o, program, nothing ? address : start);
	if (page->row != TW_ROWS_NONE)
		return page;
	free(page);
	return NULL;
}

static struct tw_object_page *page_of(struct tw_objects *o, uint64_t key, uint32_t program, uint64_t address)
{
	uint32_t number = tw_rows_number(&o->pages, key, 0);
	if (number == TW_ROWS_NONE)
		return NULL;
	struct tw_object_page **pages = tw_array_zeros(o->page, o->n_pages, &o->pages_room, sizeof(struct tw_object_page *));
	if (!pages)
		return NULL;
	o->page = pages;
	o->n_pages = o->pages.n;
	if (!pages[number])
		pages[number] = new_page(o, program, address);
	return pages[number];
}

static uint32_t row_in_line(struct tw_objects *o, struct tw_object_page *page, uint32_t program, uint64_t address)
{
	enum { STEP = 4 };
	const uint64_t line = address >> TW_LINE_BITS, start = line << TW_LINE_BITS;
	uint8_t *is = &page->line_is[line % TW_PAGE_LINES];
	uint32_t *row = &page->line_row[line % TW_PAGE_LINES];
	if (!*is) {
		*is = is_one(o, program, start, 1 << TW_LINE_BITS, STEP) ? ONE : SEVERAL;
		*row = *is == ONE ? row_of(o, program, start) : 0;
	}
	return *is == ONE ? *row : row_of(o, program, address);
}

int tw_objects_init(struct tw_objects *o, const struct tw_context *context)
{
	*o = (struct tw_objects){.context = context, .rows = {.width = TW_OBJECT_COUNTS}};
	return tw_allocations_init(&o->allocations, context);
}

int tw_objects_event(struct tw_objects *o, uint32_t thread, uint32_t program, const struct tw_event *e)
{
	const int error = tw_allocations_event(&o->allocations, thread, program, e);
	return error ? error : tw_kinds_event(&o->kinds, program, e);
}

/* The row of the block that an address is in, if the page is no file's; else that of the page. */
static uint32_t row_in_page(struct tw_objects *o, const struct tw_object_page *page, uint32_t program, uint64_t address)
{
	const int is_of_page = (tw_rows_key(&o->rows, page->row)[1] & OF_PAGE) != 0;
	const struct tw_heap_block *block = is_of_page ? tw_allocations_at(&o->allocations, program, address) : NULL;
	return block ? tw_rows_number(&o->rows, block->site, program | OF_CALL) : page->row;
}

uint64_t *tw_objects_at(struct tw_objects *o, uint32_t program, uint64_t address)
{
	uint64_t key = tw_page_key(program, address);
	if (o->newest_key != key + 1) {
		o->newest = page_of(o, key, program, address);
		o->newest_key = o->newest ? key + 1 : 0;
	}
	if (!o->newest)
		return NULL;
	uint32_t row = o->newest->is == ONE ? row_in_page(o, o->newest, program, address) : row_in_line(o, o->newest, program, address);
	return row == TW_ROWS_NONE ? NULL : tw_rows_counts(&o->rows, row);
}

/* ---- names ---- */

/* The kinds of all pages that are no file's, in the order of their keys, which are left in `keys`. */
static size_t find_kinds(struct tw_objects *o, uint64_t *keys, uint8_t *kinds)
{
	size_t n = 0;
	for (size_t i = 0; i < o->rows.n; i++) {
		const uint64_t *key = tw_rows_key(&o->rows, i);
		if (key[1] & OF_PAGE)
			keys[n++] = tw_page_key((uint32_t)key[1], key[0]);
	}
	qsort(keys, n, sizeof *keys, tw_by_number);
	tw_kinds_find(&o->kinds, keys, n, kinds);
	return n;
}

static void free_texts(struct tw_objects *o)
{
	for (size_t i = 0; i < o->n_texts; i++)
		free(o->texts[i]);
	free(o->texts);
	o->texts = NULL;
	o->n_texts = 0;
}

/* The place of the call by which a row's blocks were allocated. */
static const char *name_call(struct tw_objects *o, size_t row)
{
	char text[400];
	tw_allocations_place(&o->allocations, (uint32_t)tw_rows_key(&o->rows, row)[0], text, sizeof text);
	o->texts[row] = strdup(text);
	return o->texts[row] ? o->texts[row] : "";
}

static void fill(struct tw_objects *o, struct tw_object *list, uint64_t *keys, uint8_t *kinds)
{
	size_t n = find_kinds(o, keys, kinds);
	struct tw_data_name name;
	for (size_t i = 0; i < o->rows.n; i++) {
		const uint64_t *row = tw_rows_key(&o->rows, i);
		memcpy(list[i].count, row + 2, sizeof list[i].count);
		if (row[1] & OF_CALL) {
			list[i].name = name_call(o, i);
			list[i].module = "[heap]";
			continue;
		}
		if (!(row[1] & OF_PAGE)) {
			name_at(o, (uint32_t)row[1], row[0], &name);
			list[i].name = name.object;
			list[i].module = name.module;
			continue;
		}
		uint64_t page = tw_page_key((uint32_t)row[1], row[0]);
		list[i].name = tw_kind_name(kinds[tw_array_before(&page, keys, n, sizeof page, tw_by_number)]);
		list[i].module = "";
	}
}

static int by_name(const void *a, const void *b)
{
	const struct tw_object *x = a, *y = b;
	int order = strcmp(x->module, y->module);
	return order ? order : strcmp(x->name, y->name);
}

static int by_count(const void *a, const void *b, void *number)
{
	const struct tw_object *x = a, *y = b;
	unsigned k = *(unsigned *)number;
	if (x->count[k] != y->count[k])
		return x->count[k] > y->count[k] ? -1 : 1;
	return by_name(a, b);
}

/* Makes one of all that have the same name. */
static size_t join(struct tw_object *list, size_t n)
{
	size_t to = 0;
	qsort(list, n, sizeof *list, by_name);
	for (size_t i = 0; i < n; i++) {
		if (to && !by_name(&list[to - 1], &list[i]))
			for (unsigned k = 0; k < TW_OBJECT_COUNTS; k++)
				list[to - 1].count[k] += list[i].count[k];
		else
			list[to++] = list[i];
	}
	return to;
}

/* Leaves out those of which nothing was counted: pages that hold only blocks. */
static size_t leave_out_empty(struct tw_object *list, size_t n)
{
	size_t to = 0;
	for (size_t i = 0; i < n; i++) {
		uint64_t any = 0;
		for (unsigned k = 0; k < TW_OBJECT_COUNTS; k++)
			any |= list[i].count[k];
		if (any)
			list[to++] = list[i];
	}
	return to;
}

int tw_objects_list(struct tw_objects *o, unsigned by, struct tw_object **out, size_t *n)
{
	uint64_t *keys = malloc((o->rows.n + 1) * sizeof *keys);
	uint8_t *kinds = malloc(o->rows.n + 1);
	*out = malloc((o->rows.n + 1) * sizeof **out);
	free_texts(o);
	o->texts = calloc(o->rows.n + 1, sizeof *o->texts);
	o->n_texts = o->texts ? o->rows.n : 0;
	int all = keys && kinds && *out && o->texts;
	if (all) {
		fill(o, *out, keys, kinds);
		*n = leave_out_empty(*out, join(*out, o->rows.n));
		qsort_r(*out, *n, sizeof **out, by_count, &by);
	}
	free(keys);
	free(kinds);
	return all ? 0 : TW_ERR_MEMORY;
}

void tw_objects_free(struct tw_objects *o)
{
	tw_kinds_free(&o->kinds);
	tw_allocations_free(&o->allocations);
	free_texts(o);
	tw_rows_free(&o->rows);
	tw_rows_free(&o->pages);
	for (size_t i = 0; i < o->n_pages; i++)
		free(o->page[i]);
	free(o->page);
}
