#include "html/regions.h"
#include "analyzers/process.h"
#include "base/array.h"

#include <stdlib.h>
#include <string.h>

struct region {
	size_t first, n; /* of the cells */
	uint32_t program;
	uint64_t start, end;
	uint64_t refs;
	char name[200];
};

/* Memory from mmap() outside of modules: an allocator's blocks, files mapped for reading. */
static const char mapped[] = "mapped (mmap)";

struct regions {
	struct tw_story *story;
	const struct tw_context *context;
	struct tw_names *names;
	const struct tw_heat_cell *cells;
	struct region *items;
	size_t n, room;
	uint64_t left_out;
};

/* ---- which there are ---- */

static uint32_t program_of(void *context, uint32_t thread)
{
	return tw_process_program(context, thread);
}

/* Whether brk() gave memory in [start, end) to the cell's program. */
static int is_heap(const struct regions *r, const struct tw_heat_cell *c, uint64_t start, uint64_t end)
{
	for (size_t i = 0; i < r->story->n_heaps; i++) {
		const struct tw_story_heap *h = &r->story->heaps[i];
		if (end > h->low && start < h->high && tw_process_program(r->context, h->thread) == c->program)
			return 1;
	}
	return 0;
}

static uint64_t start_of(const struct regions *r, const struct tw_heat_cell *c)
{
	return c->page << r->story->heat.shift;
}

static void name_region(const struct regions *r, const struct tw_heat_cell *c, char *to, size_t size)
{
	uint64_t page = 1ull << r->story->heat.shift, start = start_of(r, c);
	struct tw_data_name name = {.module = ""};
	for (uint64_t at = start; !name.module[0] && at < start + page; at += 4096)
		tw_names_data(r->names, tw_names_image(r->names, c->thread), at, &name);
	if (name.module[0] && name.known != 2)
		snprintf(to, size, "%s", name.module);
	else if (is_heap(r, c, start, start + page))
		snprintf(to, size, "heap (brk)");
	else
		snprintf(to, size, "%s", mapped);
}

static int find_regions(struct regions *r)
{
	enum { FAR = 1 << 20 };
	uint64_t page = 1ull << r->story->heat.shift;
	for (size_t i = 0; i < r->story->heat.n; i++) {
		const struct tw_heat_cell *c = &r->cells[i];
		struct region *last = r->n ? &r->items[r->n - 1] : NULL;
		char name[200];
		int other = !last || c->program != r->cells[i - 1].program;
		if (other || start_of(r, c) >= last->end)
			name_region(r, c, name, sizeof name);
		if (other || start_of(r, c) > last->end + FAR || (start_of(r, c) >= last->end && strcmp(name, last->name))) {
			struct region *items = tw_array_zeros(r->items, r->n, &r->room, sizeof *items);
			if (!items)
				return TW_ERR_MEMORY;
			r->items = items;
			last = &items[r->n++];
			last->first = i;
			last->start = start_of(r, c);
			last->program = c->program;
			memcpy(last->name, name, sizeof name);
		}
		last->n++;
		last->end = start_of(r, c) + page;
		last->refs += c->reads + c->writes;
	}
	for (size_t i = 0; i < r->n; i++)
		if (!strcmp(r->items[i].name, mapped) && tw_story_is_stack(r->story, r->items[i].start, r->items[i].end))
			snprintf(r->items[i].name, sizeof r->items[i].name, "stack");
	return 0;
}

static int most_first(const void *a, const void *b)
{
	const struct region *x = a, *y = b;
	return (x->refs < y->refs) - (x->refs > y->refs);
}

static int by_start(const void *a, const void *b)
{
	const struct region *x = a, *y = b;
	if (x->program != y->program)
		return x->program < y->program ? -1 : 1;
	return (x->start > y->start) - (x->start < y->start);
}

static void choose(struct regions *r)
{
	if (!r->n)
		return;
	qsort(r->items, r->n, sizeof *r->items, most_first);
	for (; r->n > TW_REGIONS_MOST; r->n--)
		r->left_out += r->items[r->n - 1].refs;
	qsort(r->items, r->n, sizeof *r->items, by_start);
}

/* ---- cells ---- */

/* If one half of a stretch took much longer than the other, the thread waited in it: it ran during the other half. */
static void leave_out_wait(uint64_t *begin, uint64_t middle, uint64_t *end)
{
	enum { MUCH = 8 };
	if (*end - middle > MUCH * (middle - *begin))
		*end = middle;
	else if (middle - *begin > MUCH * (*end - middle))
		*begin = middle;
}

/* The columns covered by a stretch of a thread: from *first to *last, inclusive. */
static void columns_of(const struct regions *r, const struct tw_heat_cell *c, uint32_t *first, uint32_t *last)
{
	const struct tw_recording *rec = r->story->recording;
	uint32_t n = tw_story_stretches(rec, c->thread);
	double insns = (double)tw_recording_thread(rec, tw_recording_find_thread(rec, c->thread))->totals.insns;
	double a = (double)c->stretch / n, b = (double)(c->stretch + 1) / n;
	const uint64_t from = r->story->first, to = r->story->last;
	if (to > from) {
		uint64_t begin = tw_story_time(r->story, c->thread, (uint64_t)(a * insns));
		uint64_t end = tw_story_time(r->story, c->thread, (uint64_t)(b * insns));
		leave_out_wait(&begin, tw_story_time(r->story, c->thread, (uint64_t)((a + b) / 2 * insns)), &end);
		a = (double)(begin - from) / (double)(to - from);
		b = (double)(end - from) / (double)(to - from);
	}
	*first = (uint32_t)(a * TW_REGIONS_COLUMNS);
	*first = *first < TW_REGIONS_COLUMNS ? *first : TW_REGIONS_COLUMNS - 1;
	*last = (uint32_t)(b * TW_REGIONS_COLUMNS);
	*last = *last > *first ? *last - 1 : *first;
	*last = *last < TW_REGIONS_COLUMNS ? *last : TW_REGIONS_COLUMNS - 1;
}

struct counts {
	uint64_t reads, writes;
};

/* What a cell counts, divided among the columns it covers. */
static void spread(const struct regions *r, const struct tw_heat_cell *c, struct counts *row)
{
	uint32_t first, last;
	columns_of(r, c, &first, &last);
	uint64_t n = last - first + 1;
	for (uint32_t k = first; k <= last; k++) {
		row[k].reads += c->reads / n + (k - first < c->reads % n);
		row[k].writes += c->writes / n + (k - first < c->writes % n);
	}
}

static void put_cells(const struct regions *r, const struct region *x, uint64_t row_bytes, uint64_t rows, struct tw_compact *c)
{
	struct counts *counts = calloc(rows * TW_REGIONS_COLUMNS, sizeof *counts);
	for (size_t i = x->first; counts && i < x->first + x->n; i++)
		spread(r, &r->cells[i], counts + (start_of(r, &r->cells[i]) - x->start) / row_bytes * TW_REGIONS_COLUMNS);
	tw_compact_open(c, "cells", '[');
	for (uint64_t i = 0; counts && i < rows * TW_REGIONS_COLUMNS; i++) {
		if (!counts[i].reads && !counts[i].writes)
			continue;
		tw_compact_number(c, NULL, i / TW_REGIONS_COLUMNS);
		tw_compact_number(c, NULL, i % TW_REGIONS_COLUMNS);
		tw_compact_number(c, NULL, counts[i].reads);
		tw_compact_number(c, NULL, counts[i].writes);
	}
	tw_compact_close(c, ']');
	free(counts);
}

static void put_region(const struct regions *r, const struct region *x, uint64_t all, struct tw_compact *c)
{
	uint64_t bytes = x->end - x->start, row_bytes = 1ull << r->story->heat.shift;
	uint64_t rows = TW_REGIONS_ROWS * bytes / (all + 1) + 1;
	while (bytes > rows * row_bytes)
		row_bytes *= 2;
	rows = (bytes + row_bytes - 1) / row_bytes;
	tw_compact_open(c, NULL, '{');
	tw_compact_text(c, "name", x->name);
	tw_compact_number(c, "thread", x->program);
	tw_compact_address(c, "start", x->start);
	tw_compact_number(c, "bytes", bytes);
	tw_compact_number(c, "row_bytes", row_bytes);
	tw_compact_number(c, "rows", rows);
	put_cells(r, x, row_bytes, rows, c);
	tw_compact_close(c, '}');
}

void tw_regions_json(struct tw_story *s, const struct tw_context *context, struct tw_names *names, struct tw_compact *c)
{
	const struct tw_heat_cell *cells = tw_heat_sorted(&s->heat, program_of, (void *)context);
	struct regions r = {.story = s, .context = context, .names = names, .cells = cells};
	uint64_t all = 0;
	if (!find_regions(&r))
		choose(&r);
	for (size_t i = 0; i < r.n; i++)
		all += r.items[i].end - r.items[i].start;
	tw_compact_open(c, "heat", '{');
	tw_compact_number(c, "columns", TW_REGIONS_COLUMNS);
	tw_compact_number(c, "page", 1ull << s->heat.shift);
	tw_compact_number(c, "left_out", r.left_out);
	tw_compact_open(c, "regions", '[');
	for (size_t i = 0; i < r.n; i++)
		put_region(&r, &r.items[i], all, c);
	tw_compact_close(c, ']');
	tw_compact_close(c, '}');
	free(r.items);
}
