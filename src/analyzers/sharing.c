/*
 * sharing: lines that several threads use and at least one of them writes, and whether they use the same bytes of it
 * (true sharing) or not (false sharing).
 *
 * A thread that accesses such a line gets it from the last writer: a *transfer*. It keeps the line until another
 * thread writes it. The transfer is true if the thread, before it loses the line again, touches a byte that others
 * have written since it had the line last; otherwise it is false, and would be unnecessary if the bytes were in
 * different lines (Dubois and others, The detection and elimination of useless misses in multiprocessors, 1993). All
 * threads come in time order, as far as times tell.
 */
#include "analyzers/by_place.h"
#include "analyzers/objects.h"
#include "analyzers/process.h"
#include "base/array.h"

#include <stdlib.h>
#include <string.h>
#include <trackway/context.h>

enum { LINE_BITS = TW_LINE_BITS, LINE = 1 << LINE_BITS, RECENT = 4096, NONE = UINT32_MAX };

/* What is counted of places and of objects. THREAD: of places, one that ran it. */
enum { TRUE, FALSE, THREAD, COUNTS };

/* A thread's part in a line that others use too. */
struct sharer {
	uint32_t thread, next;  /* next: of the line, NONE behind the last one */
	uint64_t read, written; /* bytes */
	uint64_t stale;         /* bytes that others have written since it lost the line, or before it first had it */
	uint64_t fetched_stale; /* those of them when it got the line; 0 once it has touched one */
	uint32_t site;          /* where it got the line: a row of `sites` */
	uint8_t has;            /* no other thread has written the line since */
	uint8_t fetched_at;     /* the first byte that it touched then */
};

/* A line. Of one thread: its bytes, and no sharers. */
struct line {
	uint64_t address;
	uint32_t program, thread;
	uint64_t read, written;
	uint32_t sharers; /* the first of them; NONE */
	uint64_t count[2];
};

struct recent {
	uint64_t address; /* and 1 */
	uint32_t program, line;
};

struct state {
	const struct tw_context *context;
	struct tw_rows by_address; /* lines have the numbers of its rows */
	struct line *lines;
	struct sharer *sharers;
	size_t n_lines, lines_room, n_sharers, sharers_room;
	struct tw_rows sites; /* by pc and program */
	struct tw_objects objects;
	uint32_t thread, program;
	struct recent recent[RECENT];
};

static void free_state(struct state *s)
{
	tw_rows_free(&s->by_address);
	tw_rows_free(&s->sites);
	tw_objects_free(&s->objects);
	free(s->lines);
	free(s->sharers);
	free(s);
}

static void *begin(void *arg)
{
	struct state *s = calloc(1, sizeof *s);
	if (!s)
		return NULL;
	s->context = arg;
	s->sites.width = COUNTS;
	s->thread = NONE;
	if (!tw_objects_init(&s->objects, arg))
		return s;
	free_state(s);
	return NULL;
}

/* ---- lines ---- */

/* NULL: no memory. */
static struct line *line_at(struct state *s, uint64_t address)
{
	struct recent *recent = &s->recent[address / LINE % RECENT];
	if (recent->address == address + 1 && recent->program == s->program)
		return &s->lines[recent->line];
	uint32_t number = tw_rows_number(&s->by_address, address, s->program);
	struct line *lines = number == TW_ROWS_NONE ? NULL : tw_array_room(s->lines, number, &s->lines_room, sizeof *lines);
	if (!lines)
		return NULL;
	s->lines = lines;
	if (number == s->n_lines)
		lines[s->n_lines++] = (struct line){.address = address, .program = s->program, .thread = s->thread, .sharers = NONE};
	*recent = (struct recent){address + 1, s->program, number};
	return &lines[number];
}

/* Makes the thread a sharer of the line. NULL: no memory. */
static struct sharer *add_sharer(struct state *s, struct line *l, const struct sharer *sharer)
{
	struct sharer *sharers = s->n_sharers < NONE ? tw_array_room(s->sharers, s->n_sharers, &s->sharers_room, sizeof *sharers) : NULL;
	if (!sharers)
		return NULL;
	s->sharers = sharers;
	sharers[s->n_sharers] = *sharer;
	sharers[s->n_sharers].next = l->sharers;
	l->sharers = (uint32_t)s->n_sharers;
	return &sharers[s->n_sharers++];
}

/* All that others have written. */
static uint64_t written_by_others(const struct state *s, const struct line *l)
{
	uint64_t bytes = 0;
	for (uint32_t i = l->sharers; i != NONE; i = s->sharers[i].next)
		bytes |= s->sharers[i].thread != s->thread ? s->sharers[i].written : 0;
	return bytes;
}

static struct sharer *sharer_of(struct state *s, struct line *l)
{
	const struct sharer first = {.thread = l->thread, .read = l->read, .written = l->written, .has = 1};
	if (l->sharers == NONE && !add_sharer(s, l, &first))
		return NULL;
	for (uint32_t i = l->sharers; i != NONE; i = s->sharers[i].next)
		if (s->sharers[i].thread == s->thread)
			return &s->sharers[i];
	const struct sharer more = {.thread = s->thread, .stale = written_by_others(s, l)};
	return add_sharer(s, l, &more);
}

/* ---- transfers ---- */

static unsigned first_of(uint64_t bytes)
{
	return (unsigned)__builtin_ctzll(bytes);
}

/* `byte`: of the line. */
static int count(struct state *s, struct line *l, const struct sharer *t, unsigned byte, int kind, uint64_t n)
{
	uint64_t *object = tw_objects_at(&s->objects, s->program, l->address + byte);
	if (!object)
		return TW_ERR_MEMORY;
	object[kind] += n;
	l->count[kind] += n;
	tw_rows_counts(&s->sites, t->site)[kind] += n;
	return 0;
}

/* The thread gets the line. */
static int fetch(struct state *s, struct line *l, struct sharer *t, const struct tw_ref *r, uint64_t bytes)
{
	t->has = 1;
	t->fetched_stale = t->stale;
	t->stale = 0;
	if (!t->fetched_stale)
		return 0;
	t->site = tw_rows_number(&s->sites, r->pc, s->program);
	if (t->site == TW_ROWS_NONE)
		return TW_ERR_MEMORY;
	tw_rows_counts(&s->sites, t->site)[THREAD] = s->thread;
	int is_true = (t->fetched_stale & bytes) != 0;
	t->fetched_stale = is_true ? 0 : t->fetched_stale;
	t->fetched_at = (uint8_t)first_of(bytes);
	return count(s, l, t, t->fetched_at, is_true ? TRUE : FALSE, 1);
}

/* It touches what others have written after all, perhaps of another object than the one for which it got the line. */
static int make_true(struct state *s, struct line *l, struct sharer *t, uint64_t bytes)
{
	t->fetched_stale = 0;
	int error = count(s, l, t, t->fetched_at, FALSE, UINT64_MAX);
	return error ? error : count(s, l, t, first_of(bytes), TRUE, 1);
}

static void take_from_others(struct state *s, const struct line *l, uint64_t bytes)
{
	for (uint32_t i = l->sharers; i != NONE; i = s->sharers[i].next) {
		struct sharer *other = &s->sharers[i];
		if (other->thread == s->thread)
			continue;
		other->has = 0;
		other->stale |= bytes;
	}
}

static int share(struct state *s, struct line *l, const struct tw_ref *r, uint64_t bytes)
{
	struct sharer *t = sharer_of(s, l);
	int error = 0;
	if (!t)
		return TW_ERR_MEMORY;
	if (!t->has)
		error = fetch(s, l, t, r, bytes);
	else if (t->fetched_stale & bytes)
		error = make_true(s, l, t, bytes);
	t->read |= r->type & TW_READ ? bytes : 0;
	t->written |= r->type & TW_WRITE ? bytes : 0;
	if (r->type & TW_WRITE)
		take_from_others(s, l, bytes);
	return error;
}

/* ---- references ---- */

/* What a reference touches of one line. */
static int touch(struct state *s, uint64_t address, const struct tw_ref *r, uint64_t bytes)
{
	struct line *l = line_at(s, address);
	if (!l)
		return TW_ERR_MEMORY;
	if (l->sharers != NONE || l->thread != s->thread)
		return share(s, l, r, bytes);
	l->read |= r->type & TW_READ ? bytes : 0;
	l->written |= r->type & TW_WRITE ? bytes : 0;
	return 0;
}

/* The bytes from `from` to `to` of a line, one bit each. */
static uint64_t bytes_of(uint64_t from, uint64_t to)
{
	uint64_t up_to = to == LINE ? UINT64_MAX : (1ull << to) - 1;
	return up_to & ~((1ull << from) - 1);
}

static int take_ref(struct state *s, const struct tw_ref *r)
{
	uint64_t at = r->addr, left = r->size;
	int error = 0;
	while (left && !error) {
		uint64_t within = at % LINE, n = left < LINE - within ? left : LINE - within;
		error = touch(s, at - within, r, bytes_of(within, within + n));
		at += n;
		left -= n;
	}
	return error;
}

static int batch(void *state, const struct tw_batch *b)
{
	struct state *s = state;
	int error = 0;
	if (s->thread != b->thread) {
		s->thread = b->thread;
		s->program = tw_process_program(s->context, b->thread);
	}
	for (size_t i = 0; i < b->n_events && !error; i++)
		error = tw_objects_event(&s->objects, s->thread, s->program, &b->events[i]);
	const struct tw_ref *refs = b->n_refs ? tw_batch_refs(b) : NULL;
	for (size_t i = 0; i < b->n_refs && !error; i++)
		error = take_ref(s, &refs[i]);
	return error;
}

/* There is one state only. */
static int merge(void *state, void *later)
{
	(void)state;
	free_state(later);
	return TW_ERR_RANGE;
}

/* ---- the answer ---- */

/* How threads use a line. */
struct use {
	unsigned threads;          /* 0: none of them writes it */
	uint64_t written, overlap; /* bytes that one writes; that one writes and another touches */
};

static struct use look_at(const struct state *s, const struct line *l)
{
	struct use use = {0};
	uint64_t touched = 0;
	for (uint32_t i = l->sharers; i != NONE; i = s->sharers[i].next, use.threads++) {
		const struct sharer *t = &s->sharers[i];
		use.overlap |= (t->written & touched) | (use.written & (t->read | t->written));
		touched |= t->read | t->written;
		use.written |= t->written;
	}
	use.threads = use.written ? use.threads : 0;
	return use;
}

static int most_first(const void *a, const void *b)
{
	const struct line *x = a, *y = b;
	uint64_t n = x->count[TRUE] + x->count[FALSE], m = y->count[TRUE] + y->count[FALSE];
	if (n != m)
		return n > m ? -1 : 1;
	if (x->address != y->address)
		return x->address > y->address ? 1 : -1;
	return (x->program > y->program) - (x->program < y->program);
}

/* The lines that are shared, before the others; how many there are. */
static size_t keep_shared(struct state *s)
{
	size_t n = 0;
	for (size_t i = 0; i < s->n_lines; i++)
		if (s->lines[i].sharers != NONE && look_at(s, &s->lines[i]).threads)
			s->lines[n++] = s->lines[i];
	if (n)
		qsort(s->lines, n, sizeof *s->lines, most_first);
	return n;
}

/*
 * The name of what is at an address: a variable's part, or a place in a block, by where it was allocated. Returns how
 * many bytes it has from there on; 0: it has no name.
 */
static uint64_t name_at(struct state *s, uint32_t program, uint64_t address, char *to, size_t size)
{
	struct tw_names *names = tw_context_names(s->context);
	const uint64_t bytes = tw_names_variable(names, tw_names_image(names, program), address, to, size);
	const struct tw_heap_block *block = bytes ? NULL : tw_allocations_at(&s->objects.allocations, program, address);
	if (!block)
		return bytes;
	const uint64_t offset = address > block->addr ? address - block->addr : 0;
	tw_allocations_place(&s->objects.allocations, block->site, to, size);
	if (offset)
		snprintf(to + strlen(to), size - strlen(to), "+%llu", (unsigned long long)offset);
	return block->bytes > offset ? block->bytes - offset : 1;
}

/*
 * The variables of a line, or their parts, that have `written` bytes, in their order: "hits[0], hits[1]"; of allocated memory the blocks;
 * else the file, if it is a file's.
 */
static void name_line(struct state *s, const struct line *l, uint64_t written, char *to, size_t size)
{
	struct tw_names *names = tw_context_names(s->context);
	struct tw_data_name file = {.object = ""};
	uint64_t bytes;
	char name[300];
	size_t n = 0;
	to[0] = 0;
	for (unsigned at = 0; at < LINE; at += bytes) {
		bytes = 1;
		if (!(written >> at & 1))
			continue;
		const uint64_t of_part = name_at(s, l->program, l->address + at, name, sizeof name);
		if (!of_part) {
			tw_names_data(names, tw_names_image(names, l->program), l->address + at, &file);
			continue;
		}
		bytes = of_part < LINE ? of_part : LINE;
		const int fits = n + strlen(name) + sizeof ", , ..." <= size;
		n += (size_t)snprintf(to + n, size - n, "%s%s", n ? ", " : "", fits ? name : "...");
		if (!fits)
			return;
	}
	if (!n)
		snprintf(to, size, "%s", *file.object ? file.object : "-");
}

static void print_lines(struct tw_answer *a, struct state *s, size_t n)
{
	static const struct tw_column columns[] = {
	    {"true", TW_COLUMN_COUNT},    {"false", TW_COLUMN_COUNT},     {"threads", TW_COLUMN_COUNT}, {"sharing", TW_COLUMN_TEXT},
	    {"overlap", TW_COLUMN_COUNT}, {"address", TW_COLUMN_ADDRESS}, {"object", TW_COLUMN_TEXT},   {NULL, 0}};
	char object[400];
	tw_answer_table(a, "lines", "Shared lines, by transfers", columns);
	for (size_t i = 0; i < n; i++) {
		const struct line *l = &s->lines[i];
		const struct use use = look_at(s, l);
		name_line(s, l, use.written, object, sizeof object);
		tw_answer_row(a, (struct tw_cell[]){{.count = l->count[TRUE]},
		                                    {.count = l->count[FALSE]},
		                                    {.count = use.threads},
		                                    {.text = use.overlap ? "true" : "false"},
		                                    {.count = (unsigned)__builtin_popcountll(use.overlap)},
		                                    {.count = l->address},
		                                    {.text = object}});
	}
}

static void print_facts(struct tw_answer *a, const struct state *s, size_t n)
{
	uint64_t falsely = 0, transfers[2] = {0};
	for (size_t i = 0; i < n; i++) {
		falsely += !look_at(s, &s->lines[i]).overlap;
		transfers[TRUE] += s->lines[i].count[TRUE];
		transfers[FALSE] += s->lines[i].count[FALSE];
	}
	tw_answer_fact(a, "lines_touched", s->n_lines);
	tw_answer_fact(a, "lines_shared", n);
	tw_answer_fact(a, "lines_shared_falsely", falsely);
	tw_answer_fact(a, "true_transfers", transfers[TRUE]);
	tw_answer_fact(a, "false_transfers", transfers[FALSE]);
}

static int print_objects(struct tw_answer *a, struct state *s)
{
	static const struct tw_column columns[] = {
	    {"true", TW_COLUMN_COUNT}, {"false", TW_COLUMN_COUNT}, {"object", TW_COLUMN_TEXT}, {"module", TW_COLUMN_TEXT}, {NULL, 0}};
	struct tw_object *list = NULL;
	size_t n = 0;
	int error = tw_objects_list(&s->objects, FALSE, &list, &n);
	tw_answer_table(a, "objects", "Transferred data", columns);
	for (size_t i = 0; i < n && !error; i++)
		tw_answer_row(a, (struct tw_cell[]){{.count = list[i].count[TRUE]},
		                                    {.count = list[i].count[FALSE]},
		                                    {.text = *list[i].name ? list[i].name : "(no symbol)"},
		                                    {.text = list[i].module}});
	free(list);
	return error;
}

static int print_places(struct tw_answer *a, struct state *s)
{
	static const struct tw_column columns[] = {
	    {"true", TW_COLUMN_COUNT}, {"false", TW_COLUMN_COUNT}, {"place", TW_COLUMN_TEXT}, {NULL, 0}};
	struct tw_by_place places = {.context = s->context};
	char text[400];
	int error = 0;
	for (size_t i = 0; i < s->sites.n && !error; i++) {
		const uint64_t *site = tw_rows_counts(&s->sites, i);
		const uint64_t counts[TW_PLACE_COUNTS] = {site[TRUE], site[FALSE]};
		error = tw_by_place_add(&places, (uint32_t)site[THREAD], tw_rows_key(&s->sites, i)[0], counts);
	}
	tw_by_place_lines(&places, FALSE);
	tw_answer_table(a, "places", "Code that causes transfers", columns);
	for (size_t i = 0; i < places.n && !error; i++) {
		tw_place_text(&places.items[i], text, sizeof text);
		tw_answer_row(
		    a, (struct tw_cell[]){{.count = places.items[i].count[TRUE]}, {.count = places.items[i].count[FALSE]}, {.text = text}});
	}
	tw_by_place_free(&places);
	return error;
}

static int end(void *state, int error)
{
	struct state *s = state;
	struct tw_answer *a = tw_context_answer(s->context);
	if (!error) {
		size_t n = keep_shared(s);
		print_facts(a, s, n);
		print_lines(a, s, n);
		error = print_objects(a, s);
	}
	if (!error)
		error = print_places(a, s);
	free_state(s);
	return error;
}

const struct tw_analyzer tw_analyzer_sharing = {
    .name = "sharing",
    .begin = begin,
    .batch = batch,
    .merge = merge,
    .end = end,
    .what = "true and false sharing of cache lines, by object and source line",
    .help = "When a thread accesses a line that another has written, the line is transferred\n"
            "to it. The transfer is false if the thread touches no byte that others have\n"
            "written before it loses the line again. A line is falsely shared if no thread\n"
            "touches a byte that another writes. A line has 64 bytes. Threads are interleaved\n"
            "by the times of events; record --order provides more of them. Processes share no\n"
            "memory here.\n",
    .needs = TW_NEEDS_REFS | TW_NEEDS_NAMES,
    .scope = TW_SCOPE_ALL,
};
