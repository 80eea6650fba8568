/*
 * deps: for each load the store that last wrote each of its bytes, and the distance; for loops, which carry such a
 * dependence from one iteration to another.
 *
 * Only a store followed by a load counts. A store after a load of the same location (an anti-dependence) could be
 * avoided by storing elsewhere. A store may be another thread's; all come in time order. System calls that fill a
 * buffer store it, too.
 */
#include "analyze/by_fragment.h"
#include "analyze/syscall_buffers.h"
#include "analyzers/by_place.h"
#include "analyzers/loops.h"
#include "analyzers/process.h"
#include "analyzers/shadow.h"
#include "base/array.h"

#include <stdlib.h>
#include <trackway/context.h>

enum { NONE = UINT32_MAX };

/* Of an image: the number of its first loop, and that behind its last. */
enum { FIRST, BEHIND };

/* Counts of a dependence, by store and load; LEAST is one more than the minimum distance. */
enum { TIMES, ACROSS, DISTANCES, LEAST, PAIR_COUNTS };

/* Counts of one that a loop carries, by loop, store and load: distances in iterations. */
enum { CARRIED, NEAREST, FARTHEST, CARRIED_COUNTS };

/* Data of a fragment's code, in one image. Numbers are NONE if not known yet. */
struct code {
	uint32_t image;
	uint32_t *site; /* of each instruction */
	struct {
		uint32_t first; /* in the state's `around`, as in struct tw_loop_block */
		uint16_t n_around, n_begun;
	} block[];
};

/* A thread that is there. */
struct thread {
	struct tw_loops loops;
	uint64_t now;
};

struct state {
	const struct tw_context *context;
	struct tw_by_fragment fragments; /* struct code */
	struct tw_rows images;           /* those whose loops are known, and which these are */
	struct tw_rows headers;          /* by address and image: where the loop ends */
	struct tw_rows sites;            /* by pc and image; one that ran it */
	struct tw_rows pairs, carried;
	struct tw_loop *loops; /* of an image side by side, by header and end: outer ones before those in them */
	size_t n_loops, loops_room;
	uint64_t own_loops[2]; /* of the newest thread's image: FIRST, BEHIND */
	uint32_t *around;      /* numbers of loops, of all blocks */
	size_t n_around, around_room;
	struct tw_shadow shadow;
	struct thread *threads; /* by number */
	size_t n_threads, threads_room;
	uint32_t thread, program, image;
	uint64_t loads, unwritten;
};

/* ---- states ---- */

static void free_code(void *item)
{
	struct code *c = item;
	free(c->site);
	free(c);
}

static void free_state(struct state *s)
{
	tw_by_fragment_free(&s->fragments, free_code);
	tw_rows_free(&s->headers);
	tw_rows_free(&s->images);
	tw_rows_free(&s->sites);
	tw_rows_free(&s->pairs);
	tw_rows_free(&s->carried);
	tw_shadow_free(&s->shadow);
	for (size_t i = 0; i < s->n_threads; i++)
		tw_loops_free(&s->threads[i].loops);
	free(s->threads);
	free(s->loops);
	free(s->around);
	free(s);
}

/* Whether both are of one function, as far as that is known. */
static int same_function(struct tw_names *names, uint32_t image, uint64_t a, uint64_t b)
{
	struct tw_code_name x, y;
	tw_names_code(names, image, a, &x);
	tw_names_code(names, image, b, &y);
	return !x.known || !y.known || x.start == y.start;
}

/* Where backward jumps of a fragment lead to. 0: no memory. */
static int add_headers(struct state *s, const struct tw_descriptor *d)
{
	const struct tw_block *b = tw_descriptor_blocks(d);
	for (unsigned k = 0; k < d->n_blocks; k++) {
		uint64_t end = b[k].pc + b[k].bytes;
		int jumps = b[k].end == TW_END_COND || b[k].end == TW_END_JUMP;
		if (!jumps || b[k].target >= end || !same_function(tw_context_names(s->context), s->image, b[k].target, b[k].pc))
			continue;
		uint64_t *reaches = tw_rows_at(&s->headers, b[k].target, s->image);
		if (!reaches)
			return 0;
		*reaches = end > *reaches ? end : *reaches;
	}
	return 1;
}

static int by_header(const void *a, const void *b)
{
	const struct tw_loop *x = a, *y = b;
	if (x->image != y->image)
		return x->image < y->image ? -1 : 1;
	if (x->header != y->header)
		return x->header < y->header ? -1 : 1;
	return (x->end < y->end) - (x->end > y->end);
}

/* Appends the loops whose headers were found from number `first` on, sorted. */
static int list_loops(struct state *s, size_t first)
{
	size_t before = s->n_loops;
	for (size_t i = first; i < s->headers.n; i++) {
		struct tw_loop *loops = tw_array_room(s->loops, s->n_loops, &s->loops_room, sizeof *loops);
		if (!loops)
			return 0;
		s->loops = loops;
		loops[s->n_loops++] = (struct tw_loop){.header = tw_rows_key(&s->headers, i)[0],
		                                       .end = *tw_rows_counts(&s->headers, i),
		                                       .image = s->image,
		                                       .thread = s->thread};
	}
	if (s->n_loops > before)
		qsort(s->loops + before, s->n_loops - before, sizeof *s->loops, by_header);
	return 1;
}

/* All loops of the newest thread's image, if it is new. 0: no memory. */
static int find_loops(struct state *s)
{
	const struct tw_recording *r = tw_context_recording(s->context);
	size_t n_images = s->images.n, first = s->headers.n, first_loop = s->n_loops;
	uint64_t *image = tw_rows_at(&s->images, s->image, 0);
	int all = image != NULL;
	if (s->images.n > n_images) {
		for (size_t i = 0; i < tw_recording_n_descriptors(r) && all; i++)
			all = add_headers(s, tw_recording_descriptor_at(r, i));
		all = all && list_loops(s, first);
		image[FIRST] = first_loop;
		image[BEHIND] = s->n_loops;
	}
	s->own_loops[FIRST] = all ? image[FIRST] : 0;
	s->own_loops[BEHIND] = all ? image[BEHIND] : 0;
	return all;
}

static void *begin(void *arg)
{
	struct state *s = calloc(1, sizeof *s);
	if (!s)
		return NULL;
	s->context = arg;
	s->headers.width = s->sites.width = 1;
	s->images.width = 2;
	s->pairs.width = PAIR_COUNTS;
	s->carried.width = CARRIED_COUNTS;
	s->thread = NONE;
	return s;
}

/* ---- code ---- */

static struct code *new_code(struct state *s, const struct tw_descriptor *d)
{
	struct code *c = calloc(1, sizeof *c + d->n_blocks * sizeof c->block[0]);
	if (c)
		c->site = malloc((d->n_insns + 1u) * sizeof *c->site);
	if (!c || !c->site || !tw_by_fragment_set(&s->fragments, d->number, c)) {
		if (c)
			free_code(c);
		return NULL;
	}
	return c;
}

static int add_around(struct state *s, uint32_t loop)
{
	uint32_t *around = tw_array_room(s->around, s->n_around, &s->around_room, sizeof *around);
	if (!around)
		return 0;
	s->around = around;
	around[s->n_around++] = loop;
	return 1;
}

/* The number of the first loop of the image that starts at or after an address. */
static size_t loop_from(const struct state *s, uint64_t address)
{
	const struct tw_loop key = {.image = s->image, .header = address, .end = UINT64_MAX};
	size_t first = s->own_loops[FIRST];
	return first + tw_array_before(&key, s->loops + first, s->own_loops[BEHIND] - first, sizeof key, by_header);
}

/* The loops that contain the start of a block, and those that start in it. Loops do not extend beyond functions. 0: no memory. */
static int fill_block(struct state *s, struct code *c, const struct tw_block *b, unsigned k)
{
	enum { FARTHEST_BACK = 1 << 16 };
	size_t i = loop_from(s, b->pc > FARTHEST_BACK ? b->pc - FARTHEST_BACK : 0), end = loop_from(s, b->pc + b->bytes);
	c->block[k].first = (uint32_t)s->n_around;
	c->block[k].n_around = c->block[k].n_begun = 0;
	for (; i < end; i++) {
		int begins = s->loops[i].header > b->pc;
		if (s->loops[i].end <= b->pc)
			continue;
		if (!add_around(s, (uint32_t)i))
			return 0;
		c->block[k].n_around += !begins;
		c->block[k].n_begun += begins;
	}
	return 1;
}

/* 0: no memory. */
static int fill_code(struct state *s, struct code *c, const struct tw_descriptor *d)
{
	c->image = s->image;
	for (unsigned i = 0; i < d->n_insns; i++)
		c->site[i] = NONE;
	for (unsigned k = 0; k < d->n_blocks; k++)
		if (!fill_block(s, c, &tw_descriptor_blocks(d)[k], k))
			return 0;
	return 1;
}

/* NULL: no memory. */
static struct code *code_of(struct state *s, const struct tw_descriptor *d)
{
	struct code *c = tw_by_fragment_get(&s->fragments, d->number);
	if (c && c->image == s->image)
		return c;
	c = c ? c : new_code(s, d);
	return c && fill_code(s, c, d) ? c : NULL;
}

static uint32_t site_at(struct state *s, uint64_t pc)
{
	uint32_t site = tw_rows_number(&s->sites, pc, s->image);
	if (site != TW_ROWS_NONE)
		*tw_rows_counts(&s->sites, site) = s->thread;
	return site;
}

static uint32_t site_of(struct state *s, struct code *c, const struct tw_ref *r)
{
	if (c->site[r->insn] == NONE)
		c->site[r->insn] = site_at(s, r->pc);
	return c->site[r->insn];
}

/* ---- dependences ---- */

static int carry(struct state *s, const struct thread *t, uint64_t before, uint64_t pair)
{
	uint64_t distance;
	int64_t at = tw_loops_carrier(&t->loops, before, &distance);
	if (at < 0)
		return 0;
	uint64_t *n = tw_rows_at(&s->carried, t->loops.active[at].loop, pair);
	if (!n)
		return TW_ERR_MEMORY;
	n[NEAREST] = !n[CARRIED] || distance < n[NEAREST] ? distance : n[NEAREST];
	n[FARTHEST] = distance > n[FARTHEST] ? distance : n[FARTHEST];
	n[CARRIED]++;
	return 0;
}

/* What `w` wrote is loaded at a site. */
static int depend(struct state *s, const struct thread *t, const struct tw_written *w, uint32_t site, uint64_t time)
{
	uint64_t pair = (uint64_t)(w->writer - 1) << 32 | site, distance = time - w->time;
	uint64_t *n = tw_rows_at(&s->pairs, pair, 0);
	if (!n)
		return TW_ERR_MEMORY;
	n[TIMES]++;
	if (w->thread != s->thread) {
		n[ACROSS]++;
		return 0;
	}
	n[DISTANCES] += distance;
	n[LEAST] = !n[LEAST] || distance + 1 < n[LEAST] ? distance + 1 : n[LEAST];
	return carry(s, t, w->time, pair);
}

/* Each store that wrote some of the bytes counts once. */
static int load(struct state *s, const struct thread *t, const struct tw_ref *r, uint32_t site, uint64_t time)
{
	enum { SEEN = 8 };
	uint32_t seen[SEEN], n_seen = 0;
	uint64_t n;
	int error = 0, unwritten = 0;
	for (uint64_t at = r->addr, left = r->size; left && !error; at += n, left -= n) {
		n = left;
		const struct tw_written *w = tw_shadow_read(&s->shadow, s->program, at, &n);
		uint32_t i = 0;
		unwritten |= !w->writer;
		while (i < n_seen && seen[i] != w->writer)
			i++;
		if (!w->writer || i < n_seen)
			continue;
		if (n_seen < SEEN)
			seen[n_seen++] = w->writer;
		error = depend(s, t, w, site, time);
	}
	s->loads++;
	s->unwritten += (unsigned)unwritten;
	return error;
}

static int take_ref(struct state *s, const struct thread *t, struct code *c, const struct tw_ref *r, uint64_t time)
{
	uint32_t site = site_of(s, c, r);
	if (site == NONE)
		return TW_ERR_MEMORY;
	int error = r->type & TW_READ ? load(s, t, r, site, time) : 0;
	if (error || !(r->type & TW_WRITE))
		return error;
	return tw_shadow_write(&s->shadow, s->program, r->addr, r->size, &(struct tw_written){time, site + 1, s->thread});
}

/* ---- blocks ---- */

static int follow_loops(struct state *s, struct thread *t, const struct code *c, const struct tw_block_run *run, const struct tw_block *b)
{
	const struct tw_loop_block block = {
	    .pc = run->pc,
	    .insn_bytes = tw_descriptor_insn_bytes(run->descriptor) + b->first_insn,
	    .n_insns = run->n_insns,
	    .loops = s->around + c->block[run->block].first,
	    .n_around = c->block[run->block].n_around,
	    .n_begun = c->block[run->block].n_begun,
	};
	return tw_loops_block(&t->loops, s->loops, &block, t->now);
}

/* Calls and returns, once the block is done. */
static void end_block(struct thread *t, uint8_t end)
{
	t->loops.depth += end == TW_END_CALL || end == TW_END_ICALL;
	t->loops.depth -= end == TW_END_RETURN;
}

static int take_block(struct state *s, struct thread *t, const struct tw_block_run *run, const struct tw_ref *refs, size_t n)
{
	const struct tw_block *b = &tw_descriptor_blocks(run->descriptor)[run->block];
	struct code *c = code_of(s, run->descriptor);
	if (!c)
		return TW_ERR_MEMORY;
	uint64_t start = run->n_insns ? t->now : t->now - b->n_insns; /* of one that goes on: when it began */
	int error = run->n_insns ? follow_loops(s, t, c, run, b) : 0;
	for (size_t i = 0; i < n && !error; i++)
		error = take_ref(s, t, c, &refs[i], start + refs[i].insn - b->first_insn);
	t->now += run->n_insns;
	if (run->n_insns == b->n_insns)
		end_block(t, b->end);
	return error;
}

/* ---- events ---- */

static int take_syscall(struct state *s, const struct thread *t, const struct tw_syscall *call, uint32_t bytes)
{
	struct tw_syscall_buffers k;
	tw_syscall_buffers(call, bytes, &k);
	uint32_t site = NONE;
	int error = 0;
	for (size_t i = 0; i < k.n && !error; i++) {
		if (k.buffer[i].type != TW_WRITE)
			continue;
		site = site == NONE ? site_at(s, call->pc) : site;
		if (site != NONE)
			error = tw_shadow_write(&s->shadow, s->program, k.buffer[i].addr, k.buffer[i].bytes,
			                        &(struct tw_written){t->now, site + 1, s->thread});
	}
	return error;
}

static int take_event(struct state *s, struct thread *t, const struct tw_event *e)
{
	enum { OF_HANDLER = 2 }; /* the handler, and the code to which it returns, as if the kernel had called it */
	const struct tw_map *map = e->payload;
	const struct tw_unmap *unmap = e->payload;
	switch (e->type) {
	case TW_EVENT_MAP:
		return tw_shadow_forget(&s->shadow, s->program, map->address, map->length);
	case TW_EVENT_UNMAP:
		return tw_shadow_forget(&s->shadow, s->program, unmap->address, unmap->length);
	case TW_EVENT_SYSCALL:
		return take_syscall(s, t, e->payload, e->bytes);
	case TW_EVENT_SIGNAL:
		t->loops.depth += OF_HANDLER;
		return 0;
	case TW_EVENT_SIGRETURN:
		t->loops.depth--;
		return 0;
	case TW_EVENT_THREAD_END:
		tw_loops_finish(&t->loops, s->loops, t->now);
		return 0;
	default:
		return 0;
	}
}

static struct thread *begin_thread(struct state *s, const struct tw_batch *b)
{
	while (s->n_threads <= b->thread) {
		struct thread *threads = tw_array_zeros(s->threads, s->n_threads, &s->threads_room, sizeof *threads);
		if (!threads)
			return NULL;
		s->threads = threads;
		s->n_threads++;
	}
	if (s->thread != b->thread) {
		s->thread = b->thread;
		s->program = tw_process_program(s->context, b->thread);
		s->image = tw_names_image(tw_context_names(s->context), b->thread);
		if (!find_loops(s))
			return NULL;
	}
	s->threads[b->thread].now = b->first_insn;
	return &s->threads[b->thread];
}

static int batch(void *state, const struct tw_batch *b)
{
	struct state *s = state;
	struct thread *t = begin_thread(s, b);
	const struct tw_block_run *run = b->n_blocks ? tw_batch_blocks(b) : NULL;
	const struct tw_ref *refs = b->n_refs ? tw_batch_refs(b) : NULL;
	size_t event = 0;
	int error = t ? 0 : TW_ERR_MEMORY;
	for (size_t i = 0; i < b->n_blocks && !error; i++) {
		size_t end = i + 1 < b->n_blocks ? run[i + 1].first_ref : b->n_refs;
		for (; event < b->n_events && b->events[event].block <= i && !error; event++)
			error = take_event(s, t, &b->events[event]);
		error = error ? error : take_block(s, t, &run[i], refs + run[i].first_ref, end - run[i].first_ref);
	}
	for (; event < b->n_events && !error; event++)
		error = take_event(s, t, &b->events[event]);
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

static void name_site(const struct state *s, uint64_t site, char *to, size_t size)
{
	tw_place_of_code(tw_context_names(s->context), (uint32_t)tw_rows_key(&s->sites, site)[1], tw_rows_key(&s->sites, site)[0], to,
	                 size);
}

static int by_first_count(const void *a, const void *b, void *rows)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	uint64_t n = *tw_rows_counts(rows, x), m = *tw_rows_counts(rows, y);
	return n != m ? (n > m ? -1 : 1) : (x > y) - (x < y);
}

/* The numbers of rows, in descending order of their first count. NULL: no memory. */
static uint32_t *most_first(const struct tw_rows *rows)
{
	uint32_t *numbers = malloc((rows->n + 1) * sizeof *numbers);
	for (uint32_t i = 0; numbers && i < rows->n; i++)
		numbers[i] = i;
	if (numbers)
		qsort_r(numbers, rows->n, sizeof *numbers, by_first_count, (void *)rows);
	return numbers;
}

static int print_pairs(struct tw_answer *a, const struct state *s)
{
	static const struct tw_column columns[] = {{"times", TW_COLUMN_COUNT},
	                                           {"across", TW_COLUMN_COUNT},
	                                           {"least", TW_COLUMN_COUNT},
	                                           {"mean", TW_COLUMN_REAL},
	                                           {"store", TW_COLUMN_TEXT},
	                                           {"load", TW_COLUMN_TEXT},
	                                           {NULL, 0}};
	uint32_t *order = most_first(&s->pairs);
	char store[400], load_at[400];
	if (!order)
		return TW_ERR_MEMORY;
	tw_answer_table(a, "dependences", "Loads and the stores they depend on; distances in instructions", columns);
	for (size_t i = 0; i < s->pairs.n; i++) {
		const uint64_t *n = tw_rows_counts(&s->pairs, order[i]);
		uint64_t pair = tw_rows_key(&s->pairs, order[i])[0], own = n[TIMES] - n[ACROSS];
		name_site(s, pair >> 32, store, sizeof store);
		name_site(s, pair & UINT32_MAX, load_at, sizeof load_at);
		tw_answer_row(a, (struct tw_cell[]){{.count = n[TIMES]},
		                                    {.count = n[ACROSS]},
		                                    {.count = n[LEAST] ? n[LEAST] - 1 : 0},
		                                    {.real = own ? (double)n[DISTANCES] / (double)own : 0},
		                                    {.text = store},
		                                    {.text = load_at}});
	}
	free(order);
	return 0;
}

/* Of each loop how often it carried a dependence, and the least distance. */
static void sum_carried(const struct state *s, uint64_t (*sums)[2])
{
	for (size_t i = 0; i < s->carried.n; i++) {
		const uint64_t *n = tw_rows_counts(&s->carried, i);
		uint64_t *sum = sums[tw_rows_key(&s->carried, i)[0]];
		sum[0] += n[CARRIED];
		sum[1] = !sum[1] || n[NEAREST] < sum[1] ? n[NEAREST] : sum[1];
	}
}

static void name_loop(const struct state *s, uint32_t loop, char *to, size_t size)
{
	tw_place_of_code(tw_context_names(s->context), s->loops[loop].image, s->loops[loop].header, to, size);
}

/* What is entered, but never iterated, is no loop. `numbers` gets the numbers that identify them in the table. */
static int print_loops(struct tw_answer *a, const struct state *s, uint64_t *numbers)
{
	static const struct tw_column columns[] = {
	    {"number", TW_COLUMN_COUNT},  {"instructions", TW_COLUMN_COUNT}, {"iterations", TW_COLUMN_COUNT}, {"entries", TW_COLUMN_COUNT},
	    {"carried", TW_COLUMN_COUNT}, {"nearest", TW_COLUMN_COUNT},      {"loop", TW_COLUMN_TEXT},        {NULL, 0}};
	struct tw_rows by_insns = {.width = 1};
	uint64_t(*sums)[2] = calloc(s->n_loops + 1, sizeof *sums);
	int all = sums != NULL;
	uint64_t number = 0;
	char loop[400];
	for (size_t i = 0; i < s->n_loops && all; i++) {
		uint64_t *insns = tw_rows_at(&by_insns, i, 0);
		all = insns != NULL;
		if (all)
			*insns = s->loops[i].insns;
	}
	uint32_t *order = all ? most_first(&by_insns) : NULL;
	if (order)
		sum_carried(s, sums);
	tw_answer_table(a, "loops", "Loops, and how often they carry a dependence", columns);
	for (size_t i = 0; order && i < s->n_loops; i++) {
		const struct tw_loop *l = &s->loops[order[i]];
		if (l->iterations <= l->entries)
			continue;
		name_loop(s, order[i], loop, sizeof loop);
		numbers[order[i]] = ++number;
		tw_answer_row(a, (struct tw_cell[]){{.count = number},
		                                    {.count = l->insns},
		                                    {.count = l->iterations},
		                                    {.count = l->entries},
		                                    {.count = sums[order[i]][0]},
		                                    {.count = sums[order[i]][1]},
		                                    {.text = loop}});
	}
	tw_rows_free(&by_insns);
	free(sums);
	free(order);
	return order ? 0 : TW_ERR_MEMORY;
}

static int print_carried(struct tw_answer *a, const struct state *s, const uint64_t *numbers)
{
	static const struct tw_column columns[] = {{"times", TW_COLUMN_COUNT},
	                                           {"nearest", TW_COLUMN_COUNT},
	                                           {"farthest", TW_COLUMN_COUNT},
	                                           {"loop", TW_COLUMN_COUNT},
	                                           {"store", TW_COLUMN_TEXT},
	                                           {"load", TW_COLUMN_TEXT},
	                                           {NULL, 0}};
	uint32_t *order = most_first(&s->carried);
	char store[400], load_at[400];
	if (!order)
		return TW_ERR_MEMORY;
	tw_answer_table(a, "carried", "Dependences from one iteration to another; distances in iterations", columns);
	for (size_t i = 0; i < s->carried.n; i++) {
		const uint64_t *key = tw_rows_key(&s->carried, order[i]), *n = tw_rows_counts(&s->carried, order[i]);
		name_site(s, key[1] >> 32, store, sizeof store);
		name_site(s, key[1] & UINT32_MAX, load_at, sizeof load_at);
		tw_answer_row(a, (struct tw_cell[]){{.count = n[CARRIED]},
		                                    {.count = n[NEAREST]},
		                                    {.count = n[FARTHEST]},
		                                    {.count = numbers[key[0]]},
		                                    {.text = store},
		                                    {.text = load_at}});
	}
	free(order);
	return 0;
}

static int print_all(struct state *s)
{
	struct tw_answer *a = tw_context_answer(s->context);
	for (size_t i = 0; i < s->n_threads; i++)
		tw_loops_finish(&s->threads[i].loops, s->loops, s->threads[i].now);
	tw_answer_fact(a, "loads", s->loads);
	tw_answer_fact(a, "loads_of_unwritten", s->unwritten);
	uint64_t *numbers = calloc(s->n_loops + 1, sizeof *numbers);
	int error = numbers ? print_pairs(a, s) : TW_ERR_MEMORY;
	if (!error)
		error = print_loops(a, s, numbers);
	if (!error)
		error = print_carried(a, s, numbers);
	free(numbers);
	return error;
}

static int end(void *state, int error)
{
	if (!error)
		error = print_all(state);
	free_state(state);
	return error;
}

const struct tw_analyzer tw_analyzer_deps = {
    .name = "deps",
    .begin = begin,
    .batch = batch,
    .merge = merge,
    .end = end,
    .what = "stores that loads depend on; dependences carried by loops",
    .help = "Each store that last wrote some of the bytes of a load counts once. A loop is\n"
            "formed by a backward jump. If a loop carried 0 dependences, its iterations did\n"
            "not need each other's stores in this run, so they could run in parallel, unless\n"
            "they depend on each other through registers, which is not seen. Distances of 64\n"
            "iterations or more count as 64.\n",
    .needs = TW_NEEDS_REFS | TW_NEEDS_FLOW | TW_NEEDS_NAMES,
    .scope = TW_SCOPE_ALL,
};
