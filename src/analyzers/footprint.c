/*
 * footprint: the distinct lines and pages that were touched, over time and by mapping; the working set of each time
 * window, and what is new in it.
 *
 * A window is a number of instructions of one thread. If a chunk ends within a window, the next chunk's state starts
 * with the rest of it: so each state keeps what its first window touched, for the merge.
 */
#include "analyze/packed.h"
#include "analyzers/kept.h"
#include "analyzers/kinds.h"
#include "analyzers/pages.h"
#include "analyzers/process.h"
#include "analyzers/spans.h"
#include "base/array.h"

#include <stdlib.h>
#include <string.h>
#include <trackway/context.h>

/* Recently touched lines, by their low bits: most references are to one of them. */
enum { RECENT = 8192 };

struct window {
	uint32_t thread;
	uint64_t index; /* of the thread's windows */
	uint64_t pages, lines;
	uint64_t new_pages, new_lines; /* at the end only */
};

/* A page of the first window. */
struct touched {
	uint64_t key, lines;
};

struct state {
	const struct tw_context *context;
	uint64_t window_insns;
	struct tw_pages pages;
	struct window *windows; /* by number */
	size_t n_windows, windows_room;
	struct touched *first; /* what window 0 touched, once it has ended */
	size_t n_first, first_room;
	struct tw_kinds kinds;
	struct tw_kept_stretches kept; /* own: its spans */
	struct tw_spans spans;
	uint32_t memory;         /* tw_process_memory */
	uint64_t recent[RECENT]; /* lines; none where a window begins */
};

static void free_state(struct state *s)
{
	tw_pages_free(&s->pages);
	free(s->windows);
	free(s->first);
	tw_kinds_free(&s->kinds);
	for (size_t i = 0; i < s->kept.room; i++)
		free(s->kept.items[i].own);
	tw_kept_stretches_free(&s->kept);
	tw_spans_free(&s->spans);
	free(s);
}

/* No line has a number of ones only. */
static void forget_recent(struct state *s)
{
	memset(s->recent, 0xff, sizeof s->recent);
}

static void *begin(void *arg)
{
	const struct tw_context *c = arg;
	uint64_t insns = tw_context_number(c, "window");
	struct state *s = insns ? calloc(1, sizeof *s) : NULL;
	if (!insns)
		tw_context_wrong(c, "a window of no instructions is none");
	if (!s)
		return NULL;
	s->context = c;
	s->window_insns = insns;
	forget_recent(s);
	return s;
}

static uint64_t period(const void *arg)
{
	return tw_context_number(arg, "window");
}

/* ---- windows ---- */

static struct window *newest(const struct state *s)
{
	return s->n_windows ? &s->windows[s->n_windows - 1] : NULL;
}

/* Keeps the pages of the only window so far. */
static int keep_first(struct state *s)
{
	for (size_t i = 0; i < s->pages.room; i++) {
		if (!s->pages.items[i].lines)
			continue;
		struct touched *first = tw_array_room(s->first, s->n_first, &s->first_room, sizeof *first);
		if (!first)
			return TW_ERR_MEMORY;
		s->first = first;
		first[s->n_first++] = (struct touched){s->pages.items[i].key, s->pages.items[i].lines};
	}
	return 0;
}

static int append_window(struct state *s, const struct window *w)
{
	struct window *windows =
	    s->n_windows < UINT32_MAX ? tw_array_room(s->windows, s->n_windows, &s->windows_room, sizeof *windows) : NULL;
	if (!windows)
		return TW_ERR_MEMORY;
	s->windows = windows;
	windows[s->n_windows++] = *w;
	return 0;
}

/* Goes on to the window in which instruction `at` of the thread is. */
static int enter_window(struct state *s, uint32_t thread, uint64_t at)
{
	const struct window *w = newest(s), next = {.thread = thread, .index = at / s->window_insns};
	if (w && w->thread == thread && w->index == next.index)
		return 0;
	int error = s->n_windows == 1 ? keep_first(s) : 0;
	if (!w || w->thread != thread)
		s->memory = tw_process_memory(s->context, thread);
	forget_recent(s);
	return error ? error : append_window(s, &next);
}

/* ---- references ---- */

static int touch(struct state *s, uint64_t key, uint64_t lines)
{
	struct tw_pages_added added = {0};
	int error = tw_pages_touch(&s->pages, key, lines, (uint32_t)(s->n_windows - 1), &added);
	newest(s)->pages += added.page;
	newest(s)->lines += added.lines;
	return error;
}

/* The lines from `line` to `last`, of one page or several. */
static int touch_lines(struct state *s, uint64_t line, uint64_t last)
{
	int error = 0;
	for (; line <= last && !error; line++)
		error = touch(s, tw_page_key(s->memory, line << TW_LINE_BITS), 1ull << line % TW_PAGE_LINES);
	return error;
}

enum { AT_ONCE = 8 };

/* Is any of so many not within a line that was touched last? */
static inline int any_other(const struct state *s, const uint64_t *addr, const uint8_t *spans)
{
	uint64_t other = 0;
	for (size_t i = 0; i < AT_ONCE; i++) {
		const uint64_t line = addr[i] >> TW_LINE_BITS, within = addr[i] & ((1 << TW_LINE_BITS) - 1);
		other |= (s->recent[line % RECENT] ^ line) | (within + spans[i]) >> TW_LINE_BITS;
	}
	return other != 0;
}

/* From `addr` to `span` bytes behind it. */
static inline int take_ref(struct state *s, uint64_t addr, uint64_t span)
{
	const uint64_t line = addr >> TW_LINE_BITS, last = (addr + span) >> TW_LINE_BITS;
	if (s->recent[line % RECENT] == line && line == last)
		return 0;
	s->recent[line % RECENT] = line;
	return touch_lines(s, line, last);
}

/* References larger than a line; their spans do not give the size. */
static int take_large(struct state *s, const struct tw_batch *b)
{
	const uint64_t *addr = b->addr;
	int error = 0;
	for (size_t i = 0; i < b->n_stretches; addr += b->stretches[i++]->n_refs)
		for (uint32_t k = 0; k < b->stretches[i]->n_refs && !error; k++)
			if (tw_span_of(b->stretches[i]->refs[k].size) == TW_SPAN_LARGE)
				error = take_ref(s, addr[k], b->stretches[i]->refs[k].size - 1);
	return error;
}

static int take_refs(struct state *s, const struct tw_batch *b, const uint8_t *spans)
{
	int error = 0, some_large = 0;
	for (size_t i = 0, end; i < b->n_refs && !error; i = end) {
		end = i + AT_ONCE < b->n_refs ? i + AT_ONCE : b->n_refs;
		if (end == i + AT_ONCE && !any_other(s, b->addr + i, spans + i))
			continue;
		for (size_t k = i; k < end && !error; k++) {
			some_large |= spans[k] == TW_SPAN_LARGE;
			error = take_ref(s, b->addr[k], spans[k] == TW_SPAN_LARGE ? 0 : spans[k]);
		}
	}
	return error || !some_large ? error : take_large(s, b);
}

/* What replay has seen to be touched. */
static int take_touched(struct state *s, const struct tw_batch *b)
{
	int error = 0;
	for (size_t i = 0; i < b->n_odd && !error; i++)
		error = take_ref(s, b->odd[i].addr, b->odd[i].shape->size - 1);
	for (size_t i = 0; i < b->n_touched && !error; i++)
		error = touch(s, tw_page_key(s->memory, b->touched[i].addr), b->touched[i].lines);
	return error;
}

/* A batch that is all within one window. */
static int take_whole(struct state *s, const struct tw_batch *b)
{
	int error = enter_window(s, b->thread, b->first_insn);
	error = error ? error : tw_spans_begin(&s->spans, b->n_refs);
	uint8_t *to = s->spans.of;
	for (size_t i = 0; i < b->n_stretches && !error; i++) {
		const struct tw_stretch *stretch = b->stretches[i];
		struct tw_kept_stretch *kept = stretch->number ? tw_kept_stretch(&s->kept, stretch) : NULL;
		if (kept && !kept->own)
			kept->own = tw_spans_make(stretch);
		to = kept && kept->own ? tw_spans_put(to, kept->own, stretch->n_refs) : tw_spans_put_new(to, stretch);
	}
	return error ? error : take_refs(s, b, s->spans.of);
}

/* A batch in which a window ends: block by block. A reference belongs to the window in which its block starts. */
static int take_blocks(struct state *s, const struct tw_batch *b)
{
	const struct tw_block_run *run = tw_batch_blocks(b);
	const struct tw_ref *refs = tw_batch_refs(b);
	uint64_t at = b->first_insn;
	int error = 0;
	for (size_t i = 0; i < b->n_blocks && !error; at += run[i++].n_insns) {
		size_t end = i + 1 < b->n_blocks ? run[i + 1].first_ref : b->n_refs;
		error = enter_window(s, b->thread, at);
		for (size_t k = run[i].first_ref; k < end && !error; k++)
			error = touch_lines(s, refs[k].addr >> TW_LINE_BITS, (refs[k].addr + refs[k].size - 1) >> TW_LINE_BITS);
	}
	return error;
}

/* ---- batches ---- */

static int batch(void *state, const struct tw_batch *b)
{
	struct state *s = state;
	int error = enter_window(s, b->thread, b->first_insn);
	for (size_t i = 0; i < b->n_events && !error; i++)
		error = tw_kinds_event(&s->kinds, s->memory, &b->events[i]);
	if (!error)
		error = take_touched(s, b);
	if (error || !b->n_blocks)
		return error;
	uint64_t left = s->window_insns - b->first_insn % s->window_insns;
	return b->n_insns < left ? take_whole(s, b) : take_blocks(s, b);
}

/* ---- merging ---- */

/* What the first window of `from` touched, which is the newest one here. */
static int join_window(struct state *s, const struct state *from)
{
	int error = 0;
	for (size_t i = 0; i < from->n_first && !error; i++)
		error = touch(s, from->first[i].key, from->first[i].lines);
	for (size_t i = 0; from->n_windows == 1 && i < from->pages.room && !error; i++)
		if (from->pages.items[i].lines)
			error = touch(s, from->pages.items[i].key, from->pages.items[i].lines);
	return error;
}

static int merge_all(struct state *s, const struct state *from)
{
	const struct window *last = newest(s);
	int joined = last && last->thread == from->windows[0].thread && last->index == from->windows[0].index;
	int error = joined ? join_window(s, from) : s->n_windows == 1 ? keep_first(s) : 0;
	if (!error && joined && s->n_windows == 1 && from->n_windows > 1)
		error = keep_first(s);
	uint32_t base = (uint32_t)(s->n_windows - (size_t)joined);
	for (size_t i = (size_t)joined; i < from->n_windows && !error; i++)
		error = append_window(s, &from->windows[i]);
	if (!error)
		error = tw_pages_merge(&s->pages, &from->pages, base);
	if (!error)
		error = tw_kinds_merge(&s->kinds, &from->kinds);
	s->memory = from->memory;
	return error;
}

static int merge(void *state, void *later)
{
	struct state *from = later;
	int error = from->n_windows ? merge_all(state, from) : 0;
	free_state(from);
	return error;
}

/* ---- as bytes ---- */

static int pack(const void *state, FILE *to)
{
	const struct state *s = state;
	int error = tw_pack_array(to, s->windows, s->n_windows, sizeof *s->windows);
	if (!error)
		error = tw_pack_array(to, s->first, s->n_first, sizeof *s->first);
	if (!error)
		error = tw_pack_number(to, s->memory);
	if (!error)
		error = tw_kinds_pack(&s->kinds, to);
	return error ? error : tw_pages_pack(&s->pages, to);
}

static int unpack(void *state, FILE *from)
{
	struct state *s = state;
	uint64_t memory = 0;
	int error = tw_unpack_array(from, (void **)&s->windows, &s->n_windows, &s->windows_room, sizeof *s->windows);
	if (!error)
		error = tw_unpack_array(from, (void **)&s->first, &s->n_first, &s->first_room, sizeof *s->first);
	if (!error)
		error = tw_unpack_number(from, &memory);
	s->memory = (uint32_t)memory;
	if (!error)
		error = tw_kinds_unpack(&s->kinds, from);
	return error ? error : tw_pages_unpack(&s->pages, s->n_windows, from);
}

/* ---- mappings ---- */

struct mapping {
	const char *name;
	uint64_t pages, lines;
};

struct mappings {
	struct mapping *items;
	size_t n, room;
};

/* A page belongs to the file that contains the lowest touched address of it. */
static const char *name_of(const struct tw_context *c, const struct tw_page *page, uint8_t kind)
{
	struct tw_names *names = tw_context_names(c);
	struct tw_data_name name = {.module = ""};
	uint64_t at = tw_page_address(page->key) + ((uint64_t)__builtin_ctzll(page->lines) << TW_LINE_BITS);
	if (names)
		tw_names_data(names, tw_process_image(c, names, tw_page_process(page->key)), at, &name);
	return *name.module && name.known != 2 ? name.module : tw_kind_name(kind);
}

static int add_page(struct mappings *m, const char *name, const struct tw_page *page)
{
	size_t i = 0;
	while (i < m->n && strcmp(m->items[i].name, name))
		i++;
	struct mapping *items = i < m->n ? m->items : tw_array_room(m->items, m->n, &m->room, sizeof *items);
	if (!items)
		return TW_ERR_MEMORY;
	m->items = items;
	if (i == m->n)
		items[m->n++] = (struct mapping){.name = name};
	items[i].pages++;
	items[i].lines += (unsigned)__builtin_popcountll(page->lines);
	return 0;
}

static int by_lines(const void *a, const void *b)
{
	const struct mapping *x = a, *y = b;
	if (x->lines != y->lines)
		return x->lines > y->lines ? -1 : 1;
	return strcmp(x->name, y->name);
}

static int add_pages(struct state *s, struct mappings *m, uint64_t *keys, uint8_t *kinds)
{
	size_t n = 0;
	int error = 0;
	for (size_t i = 0; i < s->pages.room; i++)
		if (s->pages.items[i].lines)
			keys[n++] = s->pages.items[i].key;
	qsort(keys, n, sizeof *keys, tw_by_number);
	tw_kinds_find(&s->kinds, keys, n, kinds);
	for (size_t i = 0; i < n && !error; i++) {
		const struct tw_page *page = tw_pages_find(&s->pages, keys[i]);
		error = add_page(m, name_of(s->context, page, kinds[i]), page);
	}
	if (m->n)
		qsort(m->items, m->n, sizeof *m->items, by_lines);
	return error;
}

static int find_mappings(struct state *s, struct mappings *m)
{
	uint64_t *keys = malloc((s->pages.n + 1) * sizeof *keys);
	uint8_t *kinds = malloc(s->pages.n + 1);
	int error = keys && kinds ? add_pages(s, m, keys, kinds) : TW_ERR_MEMORY;
	free(keys);
	free(kinds);
	return error;
}

static void print_mappings(struct tw_answer *a, const struct mappings *m)
{
	static const struct tw_column columns[] = {
	    {"pages", TW_COLUMN_COUNT}, {"lines", TW_COLUMN_COUNT}, {"mapping", TW_COLUMN_TEXT}, {NULL, 0}};
	tw_answer_table(a, "mappings", "What was touched, by mapping", columns);
	for (size_t i = 0; i < m->n; i++)
		tw_answer_row(a,
		              (struct tw_cell[]){{.count = m->items[i].pages}, {.count = m->items[i].lines}, {.text = m->items[i].name}});
}

/* ---- the end ---- */

/* A page is new in the window that touched the first of its lines. */
static void count_new(struct state *s)
{
	for (size_t i = 0; i < s->pages.room; i++) {
		const struct tw_page *page = &s->pages.items[i];
		uint32_t first = UINT32_MAX;
		for (uint64_t lines = page->lines; lines; lines &= lines - 1) {
			uint32_t window = page->first[__builtin_ctzll(lines)];
			s->windows[window].new_lines++;
			first = window < first ? window : first;
		}
		if (page->lines)
			s->windows[first].new_pages++;
	}
}

static void print_windows(struct tw_answer *a, const struct state *s)
{
	static const struct tw_column columns[] = {{"thread", TW_COLUMN_COUNT},
	                                           {"from_instruction", TW_COLUMN_COUNT},
	                                           {"pages", TW_COLUMN_COUNT},
	                                           {"lines", TW_COLUMN_COUNT},
	                                           {"new_pages", TW_COLUMN_COUNT},
	                                           {"new_lines", TW_COLUMN_COUNT},
	                                           {NULL, 0}};
	tw_answer_table(a, "windows", "Working set by window", columns);
	for (size_t i = 0; i < s->n_windows; i++) {
		const struct window *w = &s->windows[i];
		tw_answer_row(a, (struct tw_cell[]){{.count = w->thread},
		                                    {.count = w->index * s->window_insns},
		                                    {.count = w->pages},
		                                    {.count = w->lines},
		                                    {.count = w->new_pages},
		                                    {.count = w->new_lines}});
	}
}

static void print_totals(struct tw_answer *a, const struct state *s)
{
	uint64_t lines = 0, most = 0;
	for (size_t i = 0; i < s->n_windows; i++) {
		lines += s->windows[i].new_lines;
		most = s->windows[i].lines > most ? s->windows[i].lines : most;
	}
	tw_answer_fact(a, "pages", s->pages.n);
	tw_answer_fact(a, "lines", lines);
	tw_answer_fact(a, "line_bytes", lines << TW_LINE_BITS);
	tw_answer_fact(a, "window_instructions", s->window_insns);
	tw_answer_fact(a, "largest_window_lines", most);
}

static int print_all(struct state *s)
{
	struct tw_answer *a = tw_context_answer(s->context);
	struct mappings m = {0};
	int error = find_mappings(s, &m);
	if (!error) {
		count_new(s);
		print_totals(a, s);
		print_mappings(a, &m);
		print_windows(a, s);
	}
	free(m.items);
	return error;
}

static int end(void *state, int error)
{
	if (!error)
		error = print_all(state);
	free_state(state);
	return error;
}

static const struct tw_option options[] = {
    {"window", TW_OPTION_NUMBER, "N", "10000000", "instructions of a thread per window"},
    {NULL, 0, NULL, NULL, NULL},
};

const struct tw_analyzer tw_analyzer_footprint = {
    .name = "footprint",
    .begin = begin,
    .batch = batch,
    .merge = merge,
    .end = end,
    .what = "working set: distinct lines and pages, by window and mapping",
    .help = "A line has 64 bytes, a page 4096. new_lines counts lines that no earlier window\n"
            "in the table had touched. Memory without a file is [stack] near a stack pointer,\n"
            "[heap] below the end set by brk(2), else [anonymous]. Executing code does not\n"
            "count as touching it.\n",
    .options = options,
    .needs = TW_NEEDS_REFS | TW_WANTS_LINES,
    .period = period,
    .pack_version = 1,
    .pack = pack,
    .unpack = unpack,
};
