/*
 * touch: every access to a piece of memory, and who makes it; who wrote it last before a time. The window (--range)
 * selects what it sees, as for all analyzers: each reference that arrives is one of those. What the kernel reads and
 * fills for system calls counts as accesses of the calling instruction.
 */
#include "analyze/packed.h"
#include "analyze/syscall_buffers.h"
#include "analyzers/by_place.h"
#include "analyzers/touch_parts.h"
#include "analyzers/touch_paths.h"
#include "base/array.h"
#include "channel/where.h"
#include "plugin/context.h"
#include "plugin/range.h"
#include "recording/recording.h"

#include <stdlib.h>
#include <string.h>
#include <trackway/context.h>

enum { PLACE = TW_CALLPATH_TEXT };

struct access {
	uint64_t ns, insn; /* of the last event before it that has a time; instructions of the thread before its block */
	uint64_t order;    /* among those that the state has seen: distinguishes those of one block */
	uint64_t addr, pc;
	uint32_t thread, size;
	uint8_t type;
};

/* The accesses of one instruction. */
struct site {
	uint64_t pc;
	uint32_t image, thread;
	uint64_t reads, writes;
};

struct state {
	const struct tw_context *context;
	uint64_t most, before; /* before: nanoseconds; only writes before that are looked for */
	struct access *accesses;
	size_t n, room, n_thread; /* n_thread: of the newest thread */
	struct site *sites;
	size_t n_sites, sites_room;
	struct access last; /* write before `before`; size 0: none */
	uint32_t thread, image;
	uint64_t tsc, seen;
	struct tw_ranges ranges; /* what is looked at */
	struct tw_touch_parts parts;
};

static void free_state(struct state *s)
{
	free(s->accesses);
	free(s->sites);
	tw_ranges_free(&s->ranges);
	tw_touch_parts_free(&s->parts);
	free(s);
}

/* Was --last-before given, and what does it say? -1: not valid. */
static int take_before(struct state *s)
{
	const char *when = tw_context_text(s->context, "last-before");
	struct tw_where where;
	if (!when)
		return 0;
	if (!tw_where_parse(when, &where) || where.kind != TW_WHERE_TIME)
		return tw_context_wrong(s->context, "--last-before wants a time since the start, such as 2.5s or 300ms, not '%s'", when);
	s->before = where.value;
	return 0;
}

/* -1: there is no memory. */
static int find_ranges(struct state *s)
{
	struct tw_names *names = tw_context_names(s->context);
	return names && !tw_ranges_parse(&s->ranges, tw_context_request(s->context)->view.range) && !tw_ranges_find(&s->ranges, names) ? 0
	                                                                                                                               : -1;
}

static void *begin(void *arg)
{
	struct state *s = calloc(1, sizeof *s);
	if (!s)
		return NULL;
	s->context = arg;
	s->most = tw_context_number(arg, "most");
	s->thread = UINT32_MAX;
	if (!take_before(s) && !find_ranges(s))
		return s;
	free_state(s);
	return NULL;
}

/* ---- accesses ---- */

/* In the order of time, and of threads where that is the same. */
static int by_time(const void *a, const void *b)
{
	const struct access *x = a, *y = b;
	if (x->ns != y->ns)
		return x->ns > y->ns ? 1 : -1;
	if (x->thread != y->thread)
		return x->thread > y->thread ? 1 : -1;
	if (x->insn != y->insn)
		return x->insn > y->insn ? 1 : -1;
	return (x->order > y->order) - (x->order < y->order);
}

static int keep_access(struct state *s, const struct access *a)
{
	if ((a->type & TW_WRITE) && a->ns < s->before && (!s->last.size || by_time(a, &s->last) > 0))
		s->last = *a;
	if (s->n_thread >= s->most)
		return 0;
	struct access *accesses = tw_array_room(s->accesses, s->n, &s->room, sizeof *accesses);
	if (!accesses)
		return TW_ERR_MEMORY;
	s->accesses = accesses;
	accesses[s->n++] = *a;
	s->n_thread++;
	return 0;
}

static int by_site(const void *a, const void *b)
{
	const struct site *x = a, *y = b;
	if (x->image != y->image)
		return x->image < y->image ? -1 : 1;
	return (x->pc > y->pc) - (x->pc < y->pc);
}

/* Sites are sorted: there are few of them. */
static struct site *site_of(struct state *s, uint64_t pc, uint32_t image, uint32_t thread)
{
	const struct site wanted = {.pc = pc, .image = image, .thread = thread};
	size_t at = tw_array_before(&wanted, s->sites, s->n_sites, sizeof wanted, by_site);
	if (at < s->n_sites && !by_site(&s->sites[at], &wanted))
		return &s->sites[at];
	struct site *sites = tw_array_room(s->sites, s->n_sites, &s->sites_room, sizeof *sites);
	if (!sites)
		return NULL;
	s->sites = sites;
	memmove(sites + at + 1, sites + at, (s->n_sites++ - at) * sizeof *sites);
	sites[at] = wanted;
	return &sites[at];
}

/* Where an access begins to be of what is looked at. */
static uint64_t begin_in_range(const struct state *s, const struct access *a)
{
	for (size_t i = 0; i < s->ranges.n; i++) {
		const struct tw_range *r = &s->ranges.items[i];
		if (a->addr < r->start && r->start - a->addr < a->size && (r->image == s->image || r->image == UINT32_MAX))
			return r->start;
	}
	return a->addr;
}

static int take_access(struct state *s, const struct access *a)
{
	struct site *site = site_of(s, a->pc, s->image, s->thread);
	if (!site)
		return TW_ERR_MEMORY;
	site->reads += (a->type & TW_READ) != 0;
	site->writes += (a->type & TW_WRITE) != 0;
	const int error = tw_touch_parts_add(&s->parts, s->image, begin_in_range(s, a), a->type);
	return error ? error : keep_access(s, a);
}

static int take_refs(struct state *s, const struct tw_ref *refs, size_t n, uint64_t insn)
{
	int error = 0;
	for (size_t i = 0; i < n && !error; i++) {
		const struct access a = {
		    tw_context_ns(s->context, s->tsc), insn, s->seen++, refs[i].addr, refs[i].pc, s->thread, refs[i].size, refs[i].type};
		error = take_access(s, &a);
	}
	return error;
}

/* What the kernel has read or filled of the memory for a system call, of one of its buffers. */
static int take_buffer(struct state *s, const struct tw_syscall *call, const struct tw_syscall_buffer *p, uint64_t insn)
{
	int error = 0;
	for (size_t i = 0; i < s->ranges.n && !error; i++) {
		const struct tw_range *r = &s->ranges.items[i];
		const uint64_t from = p->addr > r->start ? p->addr : r->start,
		               to = p->addr + p->bytes < r->end ? p->addr + p->bytes : r->end;
		if (from >= to || (r->image != s->image && r->image != UINT32_MAX))
			continue;
		const struct access a = {
		    tw_context_ns(s->context, s->tsc), insn, s->seen++, from, call->pc, s->thread, (uint32_t)(to - from), (uint8_t)p->type};
		error = take_access(s, &a);
	}
	return error;
}

static int take_syscall(struct state *s, const struct tw_syscall *call, uint32_t bytes, uint64_t insn)
{
	struct tw_syscall_buffers k;
	int error = 0;
	tw_syscall_buffers(call, bytes, &k);
	for (size_t i = 0; i < k.n && !error; i++)
		error = take_buffer(s, call, &k.buffer[i], insn);
	return error;
}

static int begin_thread(struct state *s, uint32_t thread)
{
	struct tw_names *names = tw_context_names(s->context);
	s->thread = thread;
	s->image = names ? tw_names_image(names, thread) : 0;
	s->tsc = 0;
	s->n_thread = 0;
	return names ? 0 : TW_ERR_MEMORY;
}

static int take_events(struct state *s, const struct tw_batch *b, size_t *next, size_t block, uint64_t insn)
{
	int error = 0;
	for (; *next < b->n_events && b->events[*next].block <= block && !error; ++*next) {
		const struct tw_event *e = &b->events[*next];
		uint64_t tsc = tw_event_time(e->type, e->payload);
		s->tsc = tsc ? tsc : s->tsc;
		tw_ranges_event(&s->ranges, e);
		error = e->type == TW_EVENT_SYSCALL ? take_syscall(s, e->payload, e->bytes, insn) : 0;
	}
	return error;
}

static int batch(void *state, const struct tw_batch *b)
{
	struct state *s = state;
	size_t event = 0;
	uint64_t insn = b->first_insn;
	int error = s->thread != b->thread ? begin_thread(s, b->thread) : 0;
	s->tsc = b->tsc ? b->tsc : s->tsc;
	if (!b->n_refs && !b->n_events)
		return error;
	const struct tw_block_run *run = tw_batch_blocks(b);
	const struct tw_ref *refs = tw_batch_refs(b);
	for (size_t i = 0; i < b->n_blocks && !error; insn += run[i++].n_insns) {
		size_t end = i + 1 < b->n_blocks ? run[i + 1].first_ref : b->n_refs;
		error = take_events(s, b, &event, i, insn);
		if (!error)
			error = take_refs(s, refs + run[i].first_ref, end - run[i].first_ref, insn);
	}
	return error ? error : take_events(s, b, &event, b->n_blocks, insn);
}

/* ---- merging ---- */

static int merge_all(struct state *s, const struct state *from)
{
	for (size_t i = 0; i < from->n_sites; i++) {
		struct site *site = site_of(s, from->sites[i].pc, from->sites[i].image, from->sites[i].thread);
		if (!site)
			return TW_ERR_MEMORY;
		site->reads += from->sites[i].reads;
		site->writes += from->sites[i].writes;
	}
	for (size_t i = 0; i < from->n; i++) {
		struct access *accesses = tw_array_room(s->accesses, s->n, &s->room, sizeof *accesses);
		if (!accesses)
			return TW_ERR_MEMORY;
		s->accesses = accesses;
		accesses[s->n++] = from->accesses[i];
	}
	if (from->last.size && (!s->last.size || by_time(&from->last, &s->last) > 0))
		s->last = from->last;
	return tw_touch_parts_merge(&s->parts, &from->parts);
}

static int merge(void *state, void *later)
{
	int error = merge_all(state, later);
	free_state(later);
	return error;
}

/* ---- as bytes ---- */

static int pack(const void *state, FILE *to)
{
	const struct state *s = state;
	int error = tw_pack_array(to, s->accesses, s->n, sizeof *s->accesses);
	if (!error)
		error = tw_pack_array(to, s->sites, s->n_sites, sizeof *s->sites);
	if (!error)
		error = tw_touch_parts_pack(&s->parts, to);
	return error ? error : tw_pack_bytes(to, &s->last, sizeof s->last);
}

static int unpack(void *state, FILE *from)
{
	struct state *s = state;
	int error = tw_unpack_array(from, (void **)&s->accesses, &s->n, &s->room, sizeof *s->accesses);
	if (!error)
		error = tw_unpack_array(from, (void **)&s->sites, &s->n_sites, &s->sites_room, sizeof *s->sites);
	if (!error)
		error = tw_touch_parts_unpack(&s->parts, from);
	return error ? error : tw_unpack_bytes(from, &s->last, sizeof s->last);
}

/* ---- the answer ---- */

/* What the answer is made of, besides the state. */
struct naming {
	struct tw_names *names;
	struct tw_callpaths paths; /* with --paths */
	struct tw_touch_moment *moments;
	size_t n;
	unsigned depth;
};

/* "function file:line", and with --paths " < " and the calls that led there, the innermost first. */
static void name_access(const struct naming *n, const struct access *a, char *to, size_t size)
{
	tw_place_of_code(n->names, tw_names_image(n->names, a->thread), a->pc, to, size);
	uint32_t path = n->n ? tw_touch_path_of(n->moments, n->n, a->thread, a->insn) : 0;
	size_t at = strlen(to);
	if (!path || at + 4 > size)
		return;
	at += (size_t)snprintf(to + at, size - at, TW_ANSWER_CALLED_BY);
	tw_callpath_text(&n->paths, path, n->names, n->depth, to + at, size - at);
}

static int find_paths(const struct state *s, struct naming *n)
{
	size_t listed = s->n < s->most ? s->n : (size_t)s->most;
	if (!tw_context_flag(s->context, "paths"))
		return 0;
	n->depth = (unsigned)tw_context_number(s->context, "depth");
	n->moments = calloc(listed + 1, sizeof *n->moments);
	if (!n->moments)
		return TW_ERR_MEMORY;
	for (size_t i = 0; i < listed; i++)
		n->moments[n->n++] = (struct tw_touch_moment){.thread = s->accesses[i].thread, .insn = s->accesses[i].insn};
	if (s->last.size)
		n->moments[n->n++] = (struct tw_touch_moment){.thread = s->last.thread, .insn = s->last.insn};
	return tw_touch_paths(s->context, n->moments, n->n, &n->paths);
}

static int most_first(const void *a, const void *b)
{
	const struct site *x = a, *y = b;
	if (x->reads + x->writes != y->reads + y->writes)
		return x->reads + x->writes > y->reads + y->writes ? -1 : 1;
	return by_site(a, b);
}

static void print_last(struct tw_answer *a, const struct state *s, const struct naming *n)
{
	char place[PLACE];
	if (!tw_context_given(s->context, "last-before"))
		return;
	if (!s->last.size) {
		tw_answer_fact_text(a, "last_write", "none before that");
		return;
	}
	name_access(n, &s->last, place, sizeof place);
	tw_answer_fact_text(a, "last_write", place);
	tw_answer_fact(a, "last_write_ns", s->last.ns);
	tw_answer_fact(a, "last_write_thread", s->last.thread);
	tw_answer_fact(a, "last_write_instruction", s->last.insn);
}

static void print_sites(struct tw_answer *a, const struct state *s, struct tw_names *names)
{
	static const struct tw_column columns[] = {
	    {"reads", TW_COLUMN_COUNT}, {"writes", TW_COLUMN_COUNT}, {"address", TW_COLUMN_ADDRESS}, {"place", TW_COLUMN_TEXT}, {NULL, 0}};
	char place[400];
	tw_answer_table(a, "places", "Instructions that touch it", columns);
	for (size_t i = 0; i < s->n_sites; i++) {
		tw_place_of_code(names, s->sites[i].image, s->sites[i].pc, place, sizeof place);
		tw_answer_row(a,
		              (struct tw_cell[]){
		                  {.count = s->sites[i].reads}, {.count = s->sites[i].writes}, {.count = s->sites[i].pc}, {.text = place}});
	}
}

static void print_accesses(struct tw_answer *a, const struct state *s, const struct naming *n)
{
	static const struct tw_column columns[] = {{"ns", TW_COLUMN_COUNT},   {"thread", TW_COLUMN_COUNT}, {"instruction", TW_COLUMN_COUNT},
	                                           {"kind", TW_COLUMN_TEXT},  {"at", TW_COLUMN_ADDRESS},   {"bytes", TW_COLUMN_COUNT},
	                                           {"pc", TW_COLUMN_ADDRESS}, {"place", TW_COLUMN_TEXT},   {NULL, 0}};
	static const char *const kinds[] = {[TW_READ] = "R", [TW_WRITE] = "W", [TW_MODIFY] = "M"};
	char place[PLACE];
	tw_answer_table(a, "accesses", "Accesses, in the order of time", columns);
	for (size_t i = 0; i < s->n && i < s->most; i++) {
		const struct access *x = &s->accesses[i];
		name_access(n, x, place, sizeof place);
		tw_answer_row(a, (struct tw_cell[]){{.count = x->ns},
		                                    {.count = x->thread},
		                                    {.count = x->insn},
		                                    {.text = kinds[x->type & TW_MODIFY]},
		                                    {.count = x->addr},
		                                    {.count = x->size},
		                                    {.count = x->pc},
		                                    {.text = place}});
	}
}

static int print_all(struct state *s)
{
	struct naming n = {.names = tw_context_names(s->context)};
	struct tw_answer *a = tw_context_answer(s->context);
	uint64_t reads = 0, writes = 0;
	if (!n.names)
		return TW_ERR_MEMORY;
	for (size_t i = 0; i < s->n_sites; i++) {
		reads += s->sites[i].reads;
		writes += s->sites[i].writes;
	}
	if (s->n)
		qsort(s->accesses, s->n, sizeof *s->accesses, by_time);
	if (s->n_sites)
		qsort(s->sites, s->n_sites, sizeof *s->sites, most_first);
	int error = find_paths(s, &n);
	if (!error) {
		tw_answer_fact(a, "reads", reads);
		tw_answer_fact(a, "writes", writes);
		print_last(a, s, &n);
		error = tw_touch_parts_print(&s->parts, n.names, a);
		print_sites(a, s, n.names);
		print_accesses(a, s, &n);
	}
	free(n.moments);
	tw_callpaths_free(&n.paths);
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
    {"most", TW_OPTION_NUMBER, "N", "100000", "list at most N accesses, the earliest"},
    {"last-before", TW_OPTION_TEXT, "WHEN", NULL, "show the last write before this time since the start (2.5s, 300ms)"},
    {"paths", TW_OPTION_FLAG, NULL, NULL, "show the call path of each listed access; needs another replay"},
    {"depth", TW_OPTION_NUMBER, "N", "8", "with --paths: number of calls shown of each path, innermost first"},
    {NULL, 0, NULL, NULL, NULL},
};

const struct tw_analyzer tw_analyzer_touch = {
    .name = "touch",
    .begin = begin,
    .batch = batch,
    .merge = merge,
    .end = end,
    .what = "every access to a variable or address, and who wrote it last",
    .help = "WHAT is 0xADDRESS, a variable, or a part of one (stats.hits, table[3].next),\n"
            "optionally with +BYTES (as for --range). Parts come from the debug information\n"
            "that the file has now; an access counts for the part it begins in. The time of\n"
            "an access is that of the last timed event of its thread before it: a system\n"
            "call, the start of a buffer, or a time stamp of record --order. The instruction\n"
            "count is that at the start of the block. What read(2), write(2) and the like\n"
            "fill and read are accesses by the calling instruction.\n",
    .options = options,
    .argument = "range",
    .needs = TW_NEEDS_REFS | TW_NEEDS_NAMES | TW_NEEDS_NO_CODE,
    .pack_version = 3,
    .pack = pack,
    .unpack = unpack,
};
