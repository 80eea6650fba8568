/*
 * cache: what a machine's caches would miss: by level, function, line and data object; and how far apart the accesses
 * to a line are.
 *
 * Each thread is a core, or shares one with others (--cores). All batches come in time order, so cores take lines
 * from each other as the program's threads did, as far as times tell. Misses are counted for each instruction of each
 * fragment; functions and lines follow at the end.
 */
#include "analyzers/cache_state.h"
#include "analyzers/process.h"

#include <stdlib.h>
#include <string.h>
#include <trackway/context.h>

static void free_state(struct tw_cache_state *s)
{
	tw_caches_free(&s->caches);
	tw_by_fragment_free(&s->fragments, free);
	tw_kept_stretches_free(&s->kept);
	tw_objects_free(&s->objects);
	tw_reuse_free(&s->reuse);
	free(s);
}

static int take_options(struct tw_cache_state *s)
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
	struct tw_cache_state *s = calloc(1, sizeof *s);
	if (!s)
		return NULL;
	s->context = arg;
	s->thread = UINT32_MAX;
	if (take_options(s) || tw_objects_init(&s->objects, arg)) {
		tw_objects_free(&s->objects);
		free(s);
		return NULL;
	}
	s->caches.options = s->setup.caches;
	tw_caches_init(&s->caches);
	return s;
}

/* ---- accesses ---- */

enum { ADDRESS_BITS = 48, PROGRAM_BITS = 17 };
_Static_assert(ADDRESS_BITS + PROGRAM_BITS - 3 + TW_LINE_SHIFT <= 64, "numbers of lines of 8 bytes have room");

/* Lines are numbered by program (tw_process_program): the caches know no other addresses. */
static inline uint64_t line_number(uint64_t addr, unsigned line_bits, uint64_t above)
{
	return (addr << (64 - ADDRESS_BITS) >> (64 - ADDRESS_BITS) >> line_bits) | above;
}

static inline uint64_t line_of(const struct tw_cache_state *s, uint64_t addr)
{
	return line_number(addr, s->setup.line_bits, s->above);
}

/* Each line by itself: a reference misses a level if one of its lines does. */
static struct tw_found find_each(struct tw_cache_state *s, uint64_t line, uint64_t n, enum tw_cache_access access)
{
	struct tw_found found = {0};
	for (; n--; line++) {
		struct tw_found f = tw_caches_access(&s->caches, s->core, line, access);
		found.level = f.level > found.level ? f.level : found.level;
		found.taken |= f.taken;
	}
	return found;
}

/* As in Cachegrind: if a level misses one line, the next level is asked for all. */
static struct tw_found find_all(struct tw_cache_state *s, uint64_t line, uint64_t n, enum tw_cache_access access)
{
	struct tw_found found = {0};
	for (int hit = 0; found.level < s->caches.n_levels && !hit; found.level += !hit) {
		hit = 1;
		for (uint64_t i = 0; i < n; i++)
			hit &= tw_caches_level(&s->caches, s->core, found.level, line + i, access);
	}
	return found;
}

static struct tw_found find(struct tw_cache_state *s, uint64_t addr, uint32_t bytes, enum tw_cache_access access)
{
	/* From the byte count: at the end of the address space the last line has a lower number. */
	uint64_t within = (1ull << s->setup.line_bits) - 1, line = line_of(s, addr),
	         n = ((addr & within) + bytes + within) >> s->setup.line_bits;
	return s->as_cachegrind ? find_all(s, line, n, access) : find_each(s, line, n, access);
}

/* The lines of n references. This is independent of the caches, and may be done before or after. */
static int reuse_all(struct tw_cache_state *s, const struct tw_ref_shape *r, const uint64_t *addr, size_t n)
{
	int error = 0;
	for (size_t i = 0; i < n; i++)
		for (uint64_t line = line_of(s, addr[i]), last = line_of(s, addr[i] + r[i].size - 1); line <= last && !error; line++)
			error = tw_reuse_access(&s->reuse, line);
	return error;
}

/* ---- what is counted ---- */

static int count_miss(struct tw_cache_state *s, uint64_t *count, uint64_t addr, int read, struct tw_found found)
{
	uint64_t *totals = read ? s->totals.read_misses : s->totals.write_misses;
	for (unsigned i = 0; i < found.level; i++) {
		count[TW_CACHE_MISS + i]++;
		totals[i]++;
	}
	count[TW_CACHE_TAKEN] += found.taken;
	s->totals.taken += found.taken;
	uint64_t *object = s->out ? NULL : tw_objects_at(&s->objects, s->program, addr);
	for (unsigned i = 0; object && i < found.level; i++)
		object[TW_CACHE_MISS + i]++;
	if (object)
		object[TW_CACHE_TAKEN] += found.taken;
	return object || s->out ? 0 : TW_ERR_MEMORY;
}

/* A reference as Cachegrind sees it: a modify as a read, a large one cut to what fits into a line. */
static struct tw_ref_shape as_cachegrind(const struct tw_cache_state *s, const struct tw_ref_shape *r)
{
	struct tw_ref_shape is = *r;
	is.type = r->type & TW_READ ? TW_READ : TW_WRITE;
	is.size = r->size >> s->setup.line_bits ? 1u << s->setup.line_bits : r->size;
	return is;
}

/* A reference that is not where tw_cache_is_newest() finds it. */
static int take_other(struct tw_cache_state *s, uint64_t *count, const struct tw_ref_shape *r, uint64_t addr)
{
	struct tw_ref_shape is = s->as_cachegrind ? as_cachegrind(s, r) : *r;
	struct tw_found found = find(s, addr, is.size, is.type & TW_WRITE ? TW_CACHE_WRITE : TW_CACHE_READ);
	return found.level ? count_miss(s, count, addr, is.type & TW_READ, found) : 0;
}

static void count_refs(struct tw_cache_fragment *f, const struct tw_ref_shape *r, size_t n, uint64_t times)
{
	for (size_t i = 0; i < n; i++)
		f->count[r[i].insn][TW_CACHE_REFS] += times;
}

/* Most find their line in a state that they do not change; the data to detect that is at hand. */
static int take_plain(struct tw_cache_state *s, struct tw_cache_fragment *f, const struct tw_ref_shape *r, const uint64_t *addr, size_t n)
{
	const struct tw_cache first = s->core->own[0];
	const unsigned line_bits = s->setup.line_bits;
	const uint64_t bytes = 1ull << line_bits, above = s->above;
	int error = 0;
	for (size_t i = 0; i < n && !error; i++)
		if ((addr[i] & (bytes - 1)) + r[i].size > bytes ||
		    !tw_cache_is_newest(&first, line_number(addr[i], line_bits, above),
		                        r[i].type & TW_WRITE ? TW_CACHE_WRITE : TW_CACHE_READ))
			error = take_other(s, f->count[r[i].insn], &r[i], addr[i]);
	return error;
}

/* n references of one fragment. */
static int take_refs(struct tw_cache_state *s, struct tw_cache_fragment *f, const struct tw_ref_shape *r, const uint64_t *addr, size_t n)
{
	int error = s->reuse.sample ? reuse_all(s, r, addr, n) : 0;
	if (!error && !s->core->own[0].trees && !s->as_cachegrind)
		return take_plain(s, f, r, addr, n);
	for (size_t i = 0; i < n && !error; i++)
		error = take_other(s, f->count[r[i].insn], &r[i], addr[i]);
	return error;
}

/* Fetching the most recently fetched line again changes nothing. */
static void fetch(struct tw_cache_state *s, uint64_t *count, uint64_t pc, unsigned bytes)
{
	count[TW_CACHE_FETCH]++;
	s->totals.fetches++;
	uint64_t last = line_of(s, pc + bytes - 1);
	if (s->fetched == last + 1 && line_of(s, pc) == last)
		return;
	s->fetched = last + 1;
	struct tw_found found = find(s, pc, bytes, TW_CACHE_CODE);
	for (unsigned i = 0; i < found.level; i++)
		s->totals.fetch_misses[i]++;
	count[TW_CACHE_FETCH_MISS] += found.level > 0;
	count[TW_CACHE_FETCH_MISS_LAST] += found.level == s->caches.n_levels;
}

/* ---- blocks ---- */

static struct tw_cache_fragment *new_fragment(struct tw_cache_state *s, const struct tw_descriptor *d)
{
	struct tw_cache_fragment *f = calloc(1, sizeof *f + d->n_insns * sizeof f->count[0]);
	if (!f || !tw_by_fragment_set(&s->fragments, d->number, f)) {
		free(f);
		return NULL;
	}
	f->descriptor = d;
	f->thread = s->thread;
	return f;
}

/* A block instruction by instruction: each is fetched before it makes its references. */
static int take_code(struct tw_cache_state *s, struct tw_cache_fragment *f, const struct tw_block_run *b, const struct tw_ref_shape *r,
                     const uint64_t *addr, size_t n)
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

static int take_block(struct tw_cache_state *s, const struct tw_block_run *b, const struct tw_ref_shape *r, const uint64_t *addr, size_t n)
{
	struct tw_cache_fragment *f = tw_by_fragment_get(&s->fragments, b->descriptor->number);
	f = f ? f : new_fragment(s, b->descriptor);
	if (!f)
		return TW_ERR_MEMORY;
	count_refs(f, r, n, 1);
	return s->code ? take_code(s, f, b, r, addr, n) : take_refs(s, f, r, addr, n);
}

/* References of a stretch before its first block belong to the previous block. */
static int take_stretch(struct tw_cache_state *s, const struct tw_stretch *stretch, const struct tw_block_run **last, const uint64_t *addr)
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

/* A permanent one: all of it belongs to one fragment, and how often it ran is determined at the end. */
static int take_kept(struct tw_cache_state *s, const struct tw_stretch *stretch, const struct tw_block_run **last, const uint64_t *addr)
{
	struct tw_kept_stretch *kept = tw_kept_stretch(&s->kept, stretch);
	if (!kept)
		return TW_ERR_MEMORY;
	if (!kept->stretch) {
		const struct tw_descriptor *d = (stretch->n_blocks ? stretch->blocks : *last)->descriptor;
		struct tw_cache_fragment *f = tw_by_fragment_get(&s->fragments, d->number);
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

static void count_kept(struct tw_cache_state *s)
{
	for (size_t i = 0; i < s->kept.room; i++) {
		struct tw_kept_stretch *kept = &s->kept.items[i];
		if (kept->n)
			count_refs(kept->own, kept->stretch->refs, kept->stretch->n_refs, kept->n);
		kept->n = 0;
	}
}

/* ---- batches ---- */

static uint32_t core_of(const struct tw_cache_state *s, uint32_t thread)
{
	return s->cores ? (uint32_t)(thread % s->cores) : thread;
}

static int begin_thread(struct tw_cache_state *s, uint32_t thread)
{
	s->thread = thread;
	s->program = tw_process_program(s->context, thread);
	s->above = (uint64_t)s->program % (1u << PROGRAM_BITS) << (ADDRESS_BITS - s->setup.line_bits);
	s->core = tw_caches_core(&s->caches, core_of(s, thread));
	s->fetched = 0;
	return s->core ? 0 : TW_ERR_MEMORY;
}

static int take_event(struct tw_cache_state *s, const struct tw_event *e)
{
	const uint32_t thread = s->thread;
	if (e->type == TW_EVENT_THREAD_END && !s->cores) {
		tw_caches_remove_core(&s->caches, core_of(s, s->thread));
		s->thread = UINT32_MAX;
	}
	return tw_objects_event(&s->objects, thread, s->program, e);
}

static int batch(void *state, const struct tw_batch *b)
{
	enum { AHEAD = 8 };
	struct tw_cache_state *s = state;
	const uint64_t *addr = b->addr;
	const struct tw_block_run *last = NULL;
	int error = s->thread == b->thread ? 0 : begin_thread(s, b->thread);
	s->totals.reads += b->n_reads;
	s->totals.writes += b->n_writes;
	if (s->as_cachegrind) /* a modify is a read only */
		s->totals.writes -= b->n_reads + b->n_writes - b->n_refs;
	for (size_t i = 0; i < b->n_stretches && !error; i++) {
		const struct tw_stretch *stretch = b->stretches[i];
		if (i + 2 * AHEAD < b->n_stretches) {
			__builtin_prefetch(b->stretches[i + 2 * AHEAD]);
			__builtin_prefetch(tw_kept_stretch_known(&s->kept, b->stretches[i + AHEAD]), 1);
			__builtin_prefetch(b->stretches[i + AHEAD]->refs);
		}
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

static int end(void *state, int error)
{
	struct tw_cache_state *s = state;
	if (!error) {
		count_kept(s);
		error = s->out ? tw_cache_list(s) : tw_cache_print(s);
	}
	free_state(s);
	return error;
}

static const struct tw_option options[] = {
    {"l1", TW_OPTION_TEXT, "BYTES:WAYS", "32k:8", "each core's first level"},
    {"l2", TW_OPTION_TEXT, "BYTES:WAYS", "8M:16", "the second level; none: there is only one level"},
    {"l3", TW_OPTION_TEXT, "BYTES:WAYS", "none", "the third level; the last level is shared by all cores"},
    {"l1i", TW_OPTION_TEXT, "BYTES:WAYS", "32k:8", "each core's first level for code, with --code"},
    {"line", TW_OPTION_BYTES, "BYTES", "64", "the line size"},
    {"like", TW_OPTION_WORD, "this", NULL, "use the cache levels of this machine"},
    {"policy", TW_OPTION_WORD, "lru|plru", "lru", "replacement policy: least recently used, or tree-based pseudo-LRU"},
    {"inclusive", TW_OPTION_FLAG, NULL, NULL, "a line evicted from the last level is evicted from all others"},
    {"cores", TW_OPTION_NUMBER, "N", "0", "number of cores: thread T runs on core T mod N; 0: one core per thread"},
    {"code", TW_OPTION_FLAG, NULL, NULL, "simulate instruction fetches, too"},
    {"cachegrind", TW_OPTION_FLAG, NULL, NULL,
     "count like Valgrind's Cachegrind: --code, one core, a modify is a read, and if a level misses one line of a reference, all of its "
     "lines are requested from the next"},
    {"reuse", TW_OPTION_WORD, "exact|sampled", NULL, "print a histogram of reuse distances"},
    {"sample", TW_OPTION_NUMBER, "N", "100", "with --reuse sampled: examine one line in N"},
    {NULL, 0, NULL, NULL, NULL},
};

const struct tw_analyzer tw_analyzer_cache = {
    .name = "cache",
    .begin = begin,
    .batch = batch,
    .merge = merge,
    .end = end,
    .what = "cache misses by function, line and object; reuse distances",
    .help = "All levels but the last are private to a core and kept coherent as in MESI: a\n"
            "write removes the line from other cores (invalidations), which then miss it on\n"
            "their next access (coherence misses). A reference to several lines misses if any\n"
            "of them misses. A modify is a read and a write, of which only the read can miss.\n"
            "Processes share no memory; write-backs and prefetching are not modelled.\n",
    .options = options,
    .needs = TW_NEEDS_REFS | TW_NEEDS_NAMES,
    .scope = TW_SCOPE_ALL,
};

/* ---- the misses alone ---- */

struct asked {
	const struct tw_context *context;
	struct tw_cache_misses *out;
};

static void *begin_asked(void *arg)
{
	const struct asked *asked = arg;
	struct tw_cache_state *s = begin((void *)asked->context);
	if (s)
		s->out = asked->out;
	return s;
}

int tw_cache_run(const struct tw_context *context, const struct tw_replay_options *replay, struct tw_names *names, tw_hot_replay *run,
                 void *run_context, struct tw_cache_misses *out)
{
	struct tw_analyzer analyzer = tw_analyzer_cache;
	struct asked asked = {context, out};
	analyzer.begin = begin_asked;
	*out = (struct tw_cache_misses){.names = names};
	return run ? run(run_context, tw_context_recording(context), replay, &analyzer, &asked)
	           : tw_replay(tw_context_recording(context), replay, &analyzer, &asked);
}
