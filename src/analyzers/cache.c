/*
 * cache: what a machine's caches would miss: by level, function, line and data object; how far apart the accesses to a line are.
 *
 * Each thread is a core, or shares one with others (--cores). All batches come in the order of time, so that cores take lines from each other as the program's threads
 * did, as far as times tell. Misses are counted for each instruction of each fragment; functions and lines follow at the end.
 */
#include "analyze/by_fragment.h"
#include "analyzers/by_place.h"
#include "analyzers/cache_setup.h"
#include "analyzers/kept.h"
#include "analyzers/objects.h"
#include "analyzers/process.h"
#include "analyzers/reuse.h"

#include <stdlib.h>
#include <string.h>
#include <trackway/context.h>

/* What is counted of each instruction; of objects up to TAKEN. */
enum { MISS, TAKEN = MISS + TW_CACHE_LEVELS, REFS, FETCH, FETCH_MISS, FETCH_MISS_LAST, COUNTS };
_Static_assert((int)COUNTS <= (int)TW_PLACE_COUNTS && (int)TAKEN < (int)TW_OBJECT_COUNTS, "there is room for all counts");

struct fragment {
	const struct tw_descriptor *descriptor;
	uint32_t thread; /* one that ran it */
	uint64_t count[][COUNTS];
};

struct totals {
	uint64_t reads, writes, fetches;
	uint64_t read_misses[TW_CACHE_LEVELS], write_misses[TW_CACHE_LEVELS], fetch_misses[TW_CACHE_LEVELS];
	uint64_t taken;
};

struct state {
	const struct tw_context *context;
	struct tw_cache_setup setup;
	struct tw_caches caches;
	uint64_t cores;          /* threads with this number have core 0 again; 0: each has its own */
	int as_cachegrind, code; /* code: what is executed is looked at */
	struct tw_by_fragment fragments;
	struct tw_kept_stretches kept; /* own: the fragment */
	struct tw_objects objects;
	struct tw_reuse reuse; /* sample 0: nobody asks */
	struct totals totals;
	uint32_t thread, process;
	uint64_t above;       /* of the process: what its lines' numbers begin with */
	struct tw_core *core; /* the thread's */
	uint64_t fetched;     /* line fetched last, by this core, and 1 */
};

static void free_state(struct state *s)
{
	tw_caches_free(&s->caches);
	tw_by_fragment_free(&s->fragments, free);
	tw_kept_stretches_free(&s->kept);
	tw_objects_free(&s->objects);
	tw_reuse_free(&s->reuse);
	free(s);
}

static int take_options(struct state *s)
{
	const struct tw_context *c = s->context;
	const char *reuse = tw_context_text(c, "reuse");
	uint64_t sample = tw_context_number(c, "sample");
	if (tw_cache_setup(c, &s->setup))
		return 1;
	if (!sample || sample > 1000000)
		return tw_context_wrong(c, "--sample: one line in 1 to 1000000 can be looked at");
	s->as_cachegrind = tw_context_flag(c, "cachegrind");
	s->cores = s->as_cachegrind ? 1 : tw_context_number(c, "cores");
	s->code = s->setup.caches.code.sets != 0;
	s->reuse = (struct tw_reuse){.lines = {.width = 1}};
	if (reuse)
		s->reuse.sample = !strcmp(reuse, "exact") ? 1 : (uint32_t)sample;
	return 0;
}

static void *begin(void *arg)
{
	struct state *s = calloc(1, sizeof *s);
	if (!s)
		return NULL;
	s->context = s->objects.context = arg;
	s->thread = UINT32_MAX;
	if (take_options(s)) {
		free(s);
		return NULL;
	}
	s->caches.options = s->setup.caches;
	tw_caches_init(&s->caches);
	return s;
}

/* ---- accesses ---- */

enum { ADDRESS_BITS = 48, PROCESS_BITS = 17 };
_Static_assert(ADDRESS_BITS + PROCESS_BITS - 3 + TW_LINE_SHIFT <= 64, "numbers of lines of 8 bytes have room");

/* Lines are numbered by process: the caches know no other addresses. */
static inline uint64_t line_of(const struct state *s, uint64_t addr)
{
	return (addr << (64 - ADDRESS_BITS) >> (64 - ADDRESS_BITS) >> s->setup.line_bits) | s->above;
}

/* Each line by itself: a reference misses a level if one of its lines does. */
static struct tw_found find_each(struct state *s, uint64_t line, uint64_t n, enum tw_cache_access access)
{
	struct tw_found found = {0};
	for (; n--; line++) {
		struct tw_found f = tw_caches_access(&s->caches, s->core, line, access);
		found.level = f.level > found.level ? f.level : found.level;
		found.taken |= f.taken;
	}
	return found;
}

/* As Cachegrind: where a level misses one line, the next is asked for all. */
static struct tw_found find_all(struct state *s, uint64_t line, uint64_t n, enum tw_cache_access access)
{
	struct tw_found found = {0};
	for (int hit = 0; found.level < s->caches.n_levels && !hit; found.level += !hit) {
		hit = 1;
		for (uint64_t i = 0; i < n; i++)
			hit &= tw_caches_level(&s->caches, s->core, found.level, line + i, access);
	}
	return found;
}

static struct tw_found find(struct state *s, uint64_t addr, uint32_t bytes, enum tw_cache_access access)
{
	/* Counted from the bytes: at the end of all addresses the last line has a lower number. */
	uint64_t within = (1ull << s->setup.line_bits) - 1, line = line_of(s, addr),
	         n = ((addr & within) + bytes + within) >> s->setup.line_bits;
	return s->as_cachegrind ? find_all(s, line, n, access) : find_each(s, line, n, access);
}

static int reuse_all(struct state *s, uint64_t addr, uint32_t bytes)
{
	int error = 0;
	for (uint64_t line = line_of(s, addr), last = line_of(s, addr + bytes - 1); line <= last && !error; line++)
		error = tw_reuse_access(&s->reuse, line);
	return error;
}

/* ---- what is counted ---- */

static int count_miss(struct state *s, uint64_t *count, uint64_t addr, int read, struct tw_found found)
{
	uint64_t *totals = read ? s->totals.read_misses : s->totals.write_misses;
	uint64_t *object = tw_objects_at(&s->objects, s->process, addr);
	if (!object)
		return TW_ERR_MEMORY;
	for (unsigned i = 0; i < found.level; i++) {
		count[MISS + i]++;
		object[MISS + i]++;
		totals[i]++;
	}
	count[TAKEN] += found.taken;
	object[TAKEN] += found.taken;
	s->totals.taken += found.taken;
	return 0;
}

/* What Cachegrind makes of a reference: of a modify a read, of a large one what fits into a line. */
static struct tw_ref_shape as_cachegrind(const struct state *s, const struct tw_ref_shape *r)
{
	struct tw_ref_shape is = *r;
	is.type = r->type & TW_READ ? TW_READ : TW_WRITE;
	is.size = r->size >> s->setup.line_bits ? 1u << s->setup.line_bits : r->size;
	return is;
}

/* A reference that is not where tw_cache_is_newest() finds it. */
static int take_other(struct state *s, uint64_t *count, const struct tw_ref_shape *r, uint64_t addr)
{
	struct tw_ref_shape is = s->as_cachegrind ? as_cachegrind(s, r) : *r;
	struct tw_found found = find(s, addr, is.size, is.type & TW_WRITE ? TW_CACHE_WRITE : TW_CACHE_READ);
	return found.level ? count_miss(s, count, addr, is.type & TW_READ, found) : 0;
}

static void count_refs(struct fragment *f, const struct tw_ref_shape *r, size_t n, uint64_t times)
{
	for (size_t i = 0; i < n; i++)
		f->count[r[i].insn][REFS] += times;
}

/* n references of one fragment. */
static int take_refs(struct state *s, struct fragment *f, const struct tw_ref_shape *r, const uint64_t *addr, size_t n)
{
	const struct tw_cache *first = &s->core->own[0];
	const uint64_t within = (1ull << s->setup.line_bits) - 1;
	const int plain = !first->trees && !s->as_cachegrind;
	int error = 0;
	for (size_t i = 0; i < n && !error; i++) {
		if (s->reuse.sample)
			error = reuse_all(s, addr[i], r[i].size);
		if (plain && (addr[i] & within) + r[i].size <= within + 1 &&
		    tw_cache_is_newest(first, line_of(s, addr[i]), r[i].type & TW_WRITE ? TW_CACHE_WRITE : TW_CACHE_READ))
			continue;
		error = error ? error : take_other(s, f->count[r[i].insn], &r[i], addr[i]);
	}
	return error;
}

/* What fetching the line that was fetched last again would change is nothing. */
static void fetch(struct state *s, uint64_t *count, uint64_t pc, unsigned bytes)
{
	count[FETCH]++;
	s->totals.fetches++;
	uint64_t last = line_of(s, pc + bytes - 1);
	if (s->fetched == last + 1 && line_of(s, pc) == last)
		return;
	s->fetched = last + 1;
	struct tw_found found = find(s, pc, bytes, TW_CACHE_CODE);
	for (unsigned i = 0; i < found.level; i++)
		s->totals.fetch_misses[i]++;
	count[FETCH_MISS] += found.level > 0;
	count[FETCH_MISS_LAST] += found.level == s->caches.n_levels;
}

/* ---- blocks ---- */

static struct fragment *new_fragment(struct state *s, const struct tw_descriptor *d)
{
	struct fragment *f = calloc(1, sizeof *f + d->n_insns * sizeof f->count[0]);
	if (!f || !tw_by_fragment_set(&s->fragments, d->number, f)) {
		free(f);
		return NULL;
	}
	f->descriptor = d;
	f->thread = s->thread;
	return f;
}

/* A block instruction by instruction: each is fetched before it makes its references. */
static int take_code(struct state *s, struct fragment *f, const struct tw_block_run *b, const struct tw_ref_shape *r, const uint64_t *addr,
                     size_t n)
{
	const struct tw_block *block = &tw_descriptor_blocks(f->descriptor)[b->block];
	const uint8_t *bytes = tw_descriptor_insn_bytes(f->descriptor);
	uint64_t pc = b->pc;
	size_t done = 0;
	int error = 0;
	for (unsigned i = block->first_insn; i < (unsigned)block->first_insn + b->n_insns && !error; pc += bytes[i++]) {
		size_t end = done;
		fetch(s, f->count[i], pc, bytes[i]);
		while (end < n && r[end].insn <= i)
			end++;
		error = take_refs(s, f, r + done, addr + done, end - done);
		done = end;
	}
	return error ? error : take_refs(s, f, r + done, addr + done, n - done);
}

static int take_block(struct state *s, const struct tw_block_run *b, const struct tw_ref_shape *r, const uint64_t *addr, size_t n)
{
	struct fragment *f = tw_by_fragment_get(&s->fragments, b->descriptor->number);
	f = f ? f : new_fragment(s, b->descriptor);
	if (!f)
		return TW_ERR_MEMORY;
	count_refs(f, r, n, 1);
	return s->code ? take_code(s, f, b, r, addr, n) : take_refs(s, f, r, addr, n);
}

/* References of a stretch before its first block are those of the block before it. */
static int take_stretch(struct state *s, const struct tw_stretch *stretch, const struct tw_block_run **last, const uint64_t *addr)
{
	uint32_t at = stretch->n_blocks ? stretch->blocks[0].first_ref : stretch->n_refs;
	const struct tw_block_run more = {.descriptor = *last ? (*last)->descriptor : NULL, .block = *last ? (*last)->block : 0};
	int error = at && more.descriptor ? take_block(s, &more, stretch->refs, addr, at) : 0;
	for (uint32_t i = 0; i < stretch->n_blocks && !error; i++) {
		const struct tw_block_run *b = &stretch->blocks[i];
		uint32_t end = i + 1 < stretch->n_blocks ? b[1].first_ref : stretch->n_refs;
		error = take_block(s, b, stretch->refs + b->first_ref, addr + b->first_ref, end - b->first_ref);
		*last = b;
	}
	return error;
}

/* One that stays: all of it is of one fragment, and how often it was there is told at the end. */
static int take_kept(struct state *s, const struct tw_stretch *stretch, const struct tw_block_run **last, const uint64_t *addr)
{
	struct tw_kept_stretch *kept = tw_kept_stretch(&s->kept, stretch);
	if (!kept)
		return TW_ERR_MEMORY;
	if (!kept->stretch) {
		const struct tw_descriptor *d = (stretch->n_blocks ? stretch->blocks : *last)->descriptor;
		struct fragment *f = tw_by_fragment_get(&s->fragments, d->number);
		kept->own = f ? f : new_fragment(s, d);
		if (!kept->own)
			return TW_ERR_MEMORY;
		kept->stretch = stretch;
	}
	kept->n++;
	if (stretch->n_blocks)
		*last = &stretch->blocks[stretch->n_blocks - 1];
	return take_refs(s, kept->own, stretch->refs, addr, stretch->n_refs);
}

static void count_kept(struct state *s)
{
	for (size_t i = 0; i < s->kept.room; i++) {
		struct tw_kept_stretch *kept = &s->kept.items[i];
		if (kept->n)
			count_refs(kept->own, kept->stretch->refs, kept->stretch->n_refs, kept->n);
		kept->n = 0;
	}
}

/* ---- batches ---- */

static uint32_t core_of(const struct state *s, uint32_t thread)
{
	return s->cores ? (uint32_t)(thread % s->cores) : thread;
}

/* Of its process, in the order in which they were made. */
static uint64_t number_of(const struct state *s, uint32_t thread)
{
	const struct tw_recording *r = tw_context_recording(s->context);
	size_t i = tw_recording_find_thread(r, thread);
	return i < tw_recording_n_threads(r) ? tw_recording_process_of(r, i) : 0;
}

static int begin_thread(struct state *s, uint32_t thread)
{
	s->thread = thread;
	s->process = tw_process_of(s->context, thread);
	s->above = number_of(s, thread) % (1u << PROCESS_BITS) << (ADDRESS_BITS - s->setup.line_bits);
	s->core = tw_caches_core(&s->caches, core_of(s, thread));
	s->fetched = 0;
	return s->core ? 0 : TW_ERR_MEMORY;
}

static int take_event(struct state *s, const struct tw_event *e)
{
	if (e->type == TW_EVENT_THREAD_END && !s->cores) {
		tw_caches_remove_core(&s->caches, core_of(s, s->thread));
		s->thread = UINT32_MAX;
	}
	return tw_kinds_event(&s->objects.kinds, s->process, e);
}

static int batch(void *state, const struct tw_batch *b)
{
	struct state *s = state;
	const uint64_t *addr = b->addr;
	const struct tw_block_run *last = NULL;
	int error = s->thread == b->thread ? 0 : begin_thread(s, b->thread);
	s->totals.reads += b->n_reads;
	s->totals.writes += b->n_writes;
	if (s->as_cachegrind) /* a modify is a read only */
		s->totals.writes -= b->n_reads + b->n_writes - b->n_refs;
	for (size_t i = 0; i < b->n_stretches && !error; i++) {
		const struct tw_stretch *stretch = b->stretches[i];
		int stays = stretch->number && !s->code && (last || stretch->n_blocks);
		error = stays ? take_kept(s, stretch, &last, addr) : take_stretch(s, stretch, &last, addr);
		addr += b->stretches[i]->n_refs;
	}
	for (size_t i = 0; i < b->n_events && !error; i++)
		error = take_event(s, &b->events[i]);
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

static double share(uint64_t part, uint64_t all)
{
	return all ? (double)part / (double)all : 0;
}

static void print_levels(struct tw_answer *a, const struct state *s)
{
	static const struct tw_column columns[] = {{"level", TW_COLUMN_COUNT},        {"bytes", TW_COLUMN_COUNT},
	                                           {"ways", TW_COLUMN_COUNT},         {"read_misses", TW_COLUMN_COUNT},
	                                           {"write_misses", TW_COLUMN_COUNT}, {"of_reads", TW_COLUMN_SHARE},
	                                           {"of_writes", TW_COLUMN_SHARE},    {NULL, 0}};
	const struct totals *t = &s->totals;
	tw_answer_table(a, "levels", "Misses", columns);
	for (unsigned i = 0; i < s->caches.n_levels; i++) {
		const struct tw_cache_shape *shape = &s->setup.caches.level[i];
		tw_answer_row(a, (struct tw_cell[]){{.count = i + 1},
		                                    {.count = (uint64_t)shape->sets * shape->ways << s->setup.line_bits},
		                                    {.count = shape->ways},
		                                    {.count = t->read_misses[i]},
		                                    {.count = t->write_misses[i]},
		                                    {.real = share(t->read_misses[i], t->reads)},
		                                    {.real = share(t->write_misses[i], t->writes)}});
	}
}

static void print_code(struct tw_answer *a, const struct state *s)
{
	static const struct tw_column columns[] = {
	    {"level", TW_COLUMN_COUNT}, {"fetch_misses", TW_COLUMN_COUNT}, {"of_fetches", TW_COLUMN_SHARE}, {NULL, 0}};
	if (!s->code)
		return;
	tw_answer_fact(a, "fetches", s->totals.fetches);
	tw_answer_table(a, "code", "Misses of code", columns);
	for (unsigned i = 0; i < s->caches.n_levels; i++)
		tw_answer_row(a, (struct tw_cell[]){{.count = i + 1},
		                                    {.count = s->totals.fetch_misses[i]},
		                                    {.real = share(s->totals.fetch_misses[i], s->totals.fetches)}});
}

static void print_facts(struct tw_answer *a, const struct state *s)
{
	tw_answer_fact(a, "reads", s->totals.reads);
	tw_answer_fact(a, "writes", s->totals.writes);
	tw_answer_fact(a, "line_bytes", 1u << s->setup.line_bits);
	tw_answer_fact(a, "invalidations", s->caches.invalidations);
	tw_answer_fact(a, "coherence_misses", s->totals.taken);
}

/* The last level's misses, which are the first one's where there is but one. */
static unsigned last_miss(const struct state *s)
{
	return MISS + s->caches.n_levels - 1;
}

static void print_lines(struct tw_answer *a, const struct state *s, const struct tw_by_place *p)
{
	static const struct tw_column columns[] = {{"references", TW_COLUMN_COUNT},  {"l1_misses", TW_COLUMN_COUNT},
	                                           {"last_misses", TW_COLUMN_COUNT}, {"coherence", TW_COLUMN_COUNT},
	                                           {"line", TW_COLUMN_TEXT},         {NULL, 0}};
	char line[400];
	tw_answer_table(a, "lines", "Lines that miss most", columns);
	for (size_t i = 0; i < p->n; i++) {
		const uint64_t *count = p->items[i].count;
		tw_place_text(&p->items[i], line, sizeof line);
		tw_answer_row(a, (struct tw_cell[]){{.count = count[REFS]},
		                                    {.count = count[MISS]},
		                                    {.count = count[last_miss(s)]},
		                                    {.count = count[TAKEN]},
		                                    {.text = line}});
	}
}

static void print_functions(struct tw_answer *a, const struct state *s, const struct tw_by_place *p)
{
	static const struct tw_column columns[] = {{"references", TW_COLUMN_COUNT},
	                                           {"l1_misses", TW_COLUMN_COUNT},
	                                           {"last_misses", TW_COLUMN_COUNT},
	                                           {"coherence", TW_COLUMN_COUNT},
	                                           {"function", TW_COLUMN_TEXT},
	                                           {"module", TW_COLUMN_TEXT},
	                                           {NULL, 0}};
	tw_answer_table(a, "functions", "Functions that miss most", columns);
	for (size_t i = 0; i < p->n; i++) {
		const uint64_t *count = p->items[i].count;
		tw_answer_row(a, (struct tw_cell[]){{.count = count[REFS]},
		                                    {.count = count[MISS]},
		                                    {.count = count[last_miss(s)]},
		                                    {.count = count[TAKEN]},
		                                    {.text = p->items[i].function},
		                                    {.text = p->items[i].module}});
	}
}

static void print_code_functions(struct tw_answer *a, struct tw_by_place *p)
{
	static const struct tw_column columns[] = {{"fetches", TW_COLUMN_COUNT},     {"l1_misses", TW_COLUMN_COUNT},
	                                           {"last_misses", TW_COLUMN_COUNT}, {"function", TW_COLUMN_TEXT},
	                                           {"module", TW_COLUMN_TEXT},       {NULL, 0}};
	tw_by_place_functions(p, FETCH_MISS);
	tw_answer_table(a, "code_functions", "Functions whose code misses most", columns);
	for (size_t i = 0; i < p->n; i++) {
		const uint64_t *count = p->items[i].count;
		tw_answer_row(a, (struct tw_cell[]){{.count = count[FETCH]},
		                                    {.count = count[FETCH_MISS]},
		                                    {.count = count[FETCH_MISS_LAST]},
		                                    {.text = p->items[i].function},
		                                    {.text = p->items[i].module}});
	}
}

static int add_fragment(void *context, void *item)
{
	static const uint64_t nothing[COUNTS];
	const struct fragment *f = item;
	const struct tw_descriptor *d = f->descriptor;
	const uint8_t *bytes = tw_descriptor_insn_bytes(d);
	int error = 0;
	for (unsigned k = 0; k < d->n_blocks; k++) {
		const struct tw_block *b = &tw_descriptor_blocks(d)[k];
		uint64_t pc = b->pc;
		for (unsigned i = b->first_insn; i < (unsigned)b->first_insn + b->n_insns && !error; pc += bytes[i++]) {
			uint64_t count[TW_PLACE_COUNTS] = {0};
			memcpy(count, f->count[i], sizeof f->count[i]);
			if (memcmp(f->count[i], nothing, sizeof nothing))
				error = tw_by_place_add(context, f->thread, pc, count);
		}
	}
	return error;
}

static int print_code_places(struct tw_answer *a, struct state *s)
{
	struct tw_by_place places = {.context = s->context};
	int error = tw_by_fragment_each(&s->fragments, add_fragment, &places);
	if (!error) {
		tw_by_place_lines(&places, MISS);
		print_lines(a, s, &places);
		tw_by_place_functions(&places, MISS);
		print_functions(a, s, &places);
		if (s->code)
			print_code_functions(a, &places);
	}
	tw_by_place_free(&places);
	return error;
}

static int print_objects(struct tw_answer *a, struct state *s)
{
	static const struct tw_column columns[] = {{"l1_misses", TW_COLUMN_COUNT}, {"last_misses", TW_COLUMN_COUNT},
	                                           {"coherence", TW_COLUMN_COUNT}, {"object", TW_COLUMN_TEXT},
	                                           {"module", TW_COLUMN_TEXT},     {NULL, 0}};
	struct tw_object *list = NULL;
	size_t n = 0;
	int error = tw_objects_list(&s->objects, MISS, &list, &n);
	tw_answer_table(a, "objects", "Data that is missed most", columns);
	for (size_t i = 0; i < n && !error; i++)
		tw_answer_row(a, (struct tw_cell[]){{.count = list[i].count[MISS]},
		                                    {.count = list[i].count[last_miss(s)]},
		                                    {.count = list[i].count[TAKEN]},
		                                    {.text = *list[i].name ? list[i].name : "(no symbol)"},
		                                    {.text = list[i].module}});
	free(list);
	return error;
}

static void print_reuse(struct tw_answer *a, const struct state *s)
{
	static const struct tw_column columns[] = {{"accesses", TW_COLUMN_COUNT},
	                                           {"up_to_here", TW_COLUMN_SHARE},
	                                           {"error", TW_COLUMN_SHARE},
	                                           {"distance", TW_COLUMN_TEXT},
	                                           {NULL, 0}};
	char text[64];
	if (!s->reuse.sample)
		return;
	tw_answer_table(a, "reuse", "Reuse distances, in lines", columns);
	for (unsigned b = 0; b < TW_REUSE_BUCKETS; b++) {
		double error, up_to_here = tw_reuse_share(&s->reuse, b, &error);
		uint64_t n = tw_reuse_count(&s->reuse, b);
		if (b == TW_REUSE_FIRST)
			snprintf(text, sizeof text, "first access");
		else
			snprintf(text, sizeof text, "%llu", b ? 1ull << (b - 1) : 0ull);
		if (n)
			tw_answer_row(a, (struct tw_cell[]){{.count = n}, {.real = up_to_here}, {.real = error}, {.text = text}});
	}
}

static int end(void *state, int error)
{
	struct state *s = state;
	struct tw_answer *a = tw_context_answer(s->context);
	if (!error) {
		count_kept(s);
		print_facts(a, s);
		print_levels(a, s);
		print_code(a, s);
		print_reuse(a, s);
		error = print_code_places(a, s);
	}
	if (!error)
		error = print_objects(a, s);
	free_state(s);
	return error;
}

static const struct tw_option options[] = {
    {"l1", TW_OPTION_TEXT, "BYTES:WAYS", "32k:8", "each core's first level"},
    {"l2", TW_OPTION_TEXT, "BYTES:WAYS", "8M:16", "the second level; none: there is but one"},
    {"l3", TW_OPTION_TEXT, "BYTES:WAYS", "none", "the third level; the last one is shared by all cores"},
    {"l1i", TW_OPTION_TEXT, "BYTES:WAYS", "32k:8", "each core's first level for code, with --code"},
    {"line", TW_OPTION_BYTES, "BYTES", "64", "the size of a line"},
    {"like", TW_OPTION_WORD, "this", NULL, "the levels of this machine"},
    {"policy", TW_OPTION_WORD, "lru|plru", "lru", "which line has to go: the least recently used one, exactly or by a tree of bits"},
    {"inclusive", TW_OPTION_FLAG, NULL, NULL, "what leaves the last level leaves the others"},
    {"cores", TW_OPTION_NUMBER, "N", "0", "so many cores: threads share them, by number; 0: each thread has one"},
    {"code", TW_OPTION_FLAG, NULL, NULL, "look at what is executed, too"},
    {"cachegrind", TW_OPTION_FLAG, NULL, NULL,
     "count as Valgrind's Cachegrind does: --code, one core, a modify is a read, and a level that misses one line of a reference asks the "
     "next for all of them"},
    {"reuse", TW_OPTION_WORD, "exact|sampled", NULL, "a histogram of reuse distances"},
    {"sample", TW_OPTION_NUMBER, "N", "100", "with --reuse sampled: look at one line in N"},
    {NULL, 0, NULL, NULL, NULL},
};

const struct tw_analyzer tw_analyzer_cache = {
    .name = "cache",
    .begin = begin,
    .batch = batch,
    .merge = merge,
    .end = end,
    .what = "what caches would miss, by function, line, object; reuse distances",
    .help = "Levels before the last are a core's own and kept coherent as in MESI: a write\n"
            "takes the line from other cores (invalidations), which miss it the next time\n"
            "(coherence). A reference of several lines misses if one of them does. A modify\n"
            "is a read and a write, of which the read may miss. Processes share no memory\n"
            "here. What leaves a cache is not written anywhere, and nothing is prefetched.\n",
    .options = options,
    .needs = TW_NEEDS_REFS | TW_NEEDS_NAMES,
    .scope = TW_SCOPE_ALL,
};
