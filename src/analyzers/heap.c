/*
 * heap: the program's memory allocation: live bytes over time, where the peak comes from, how long blocks live, which
 * are never read; and accesses to memory that was freed or lies next to a block.
 *
 * All threads are seen in time order. A block exists from the time when the allocating function returned until the
 * time when the freeing one was entered: so blocks passed from thread to thread are in the right order. Accesses have
 * no times of their own. One that looks wrong is checked again when its thread has reached its next event with a
 * time, and reported only if it still looks wrong: allocations by other threads meanwhile are known by then.
 *
 * Nothing is checked within an allocator; heap_access.c says which other accesses of the C library count.
 */
#include "analyzers/heap_state.h"
#include "analyzers/process.h"
#include "base/array.h"
#include "plugin/context.h"

#include <stdlib.h>
#include <string.h>

static void free_state(struct tw_heap_state *s)
{
	for (size_t i = 0; i < s->n_threads; i++) {
		tw_calling_free(&s->threads[i].calling);
		tw_callpath_free(&s->threads[i].path);
		free(s->threads[i].suspects);
	}
	free(s->threads);
	tw_calling_kinds_free(&s->kinds);
	tw_runtime_code_free(&s->runtime);
	tw_callpaths_free(&s->paths);
	tw_heap_blocks_free(&s->blocks);
	free(s->sites);
	free(s->site_of);
	free(s->errors);
	free(s);
}

static void *begin(void *arg)
{
	static const struct tw_calling_option options[] = {{"alloc", TW_CALLED_MALLOC}, {"free", TW_CALLED_FREE}, {NULL, 0}};
	struct tw_heap_state *s = calloc(1, sizeof *s);
	if (!s)
		return NULL;
	s->context = s->runtime.context = arg;
	s->recording = tw_context_recording(arg);
	s->n_threads = tw_recording_n_threads(s->recording);
	s->threads = calloc(s->n_threads + 1, sizeof *s->threads);
	if (s->threads && !tw_calling_kinds_init(&s->kinds, arg, options))
		return s;
	free_state(s);
	return NULL;
}

static struct tw_heap_thread *thread_of(struct tw_heap_state *s, uint32_t serial)
{
	size_t i = tw_recording_find_thread(s->recording, serial);
	struct tw_names *names = tw_context_names(s->context);
	if (i >= s->n_threads || !names)
		return NULL;
	struct tw_heap_thread *t = &s->threads[i];
	if (!t->known) {
		t->known = 1;
		t->program = tw_process_program(s->context, serial);
		t->image = tw_names_image(names, serial);
	}
	return t;
}

/* ---- sites ---- */

static struct tw_heap_site *site_of(struct tw_heap_state *s, uint32_t path)
{
	uint32_t *of = tw_array_zeros(s->site_of, path, &s->site_of_room, sizeof *of);
	if (!of)
		return NULL;
	s->site_of = of;
	if (!of[path]) {
		struct tw_heap_site *sites = tw_array_room(s->sites, s->n_sites, &s->sites_room, sizeof *sites);
		if (!sites)
			return NULL;
		s->sites = sites;
		sites[s->n_sites++] = (struct tw_heap_site){.path = path};
		of[path] = (uint32_t)s->n_sites;
	}
	return &s->sites[of[path] - 1];
}

/* Before its live bytes change: keeps those at the last peak. */
static void settle(const struct tw_heap_state *s, struct tw_heap_site *site)
{
	if (site->peak == s->peaks)
		return;
	site->peak = s->peaks;
	site->at_peak = site->live;
	site->peak_blocks = site->live_blocks;
}

static void note_live(struct tw_heap_state *s, uint64_t ns)
{
	const struct tw_recording_info *info = tw_recording_info(s->recording);
	const uint64_t at = info->duration_ns ? (uint64_t)((double)ns * TW_HEAP_POINTS / (double)info->duration_ns) : 0;
	struct tw_heap_point *p = &s->points[at < TW_HEAP_POINTS ? at : TW_HEAP_POINTS - 1];
	p->seen = 1;
	p->live = s->live;
	p->most = s->live > p->most ? s->live : p->most;
	if (s->live <= s->peak)
		return;
	s->peak = s->live;
	s->peak_time = ns;
	s->peaks++;
}

/* ---- blocks ---- */

static void note_life(struct tw_heap_state *s, uint64_t ns, uint64_t bytes)
{
	unsigned digits = 0;
	for (; ns && digits < TW_HEAP_DECADES - 1; ns /= 10)
		digits++;
	s->lives[digits].blocks++;
	s->lives[digits].bytes += bytes;
}

static void count_unread(struct tw_heap_site *site, const struct tw_heap_block *b)
{
	const uint64_t n = tw_heap_blocks_unread(b);
	site->unread += n;
	site->unread_blocks += b->bytes && n == b->bytes;
}

/* A live block ends. */
static void end_block(struct tw_heap_state *s, struct tw_heap_block *b, uint64_t ns)
{
	struct tw_heap_site *site = &s->sites[b->site];
	settle(s, site);
	site->freed++;
	site->live -= b->bytes;
	site->live_blocks--;
	site->life += ns > b->born ? ns - b->born : 0;
	count_unread(site, b);
	note_life(s, ns > b->born ? ns - b->born : 0, b->bytes);
	b->live = 0;
	b->died = ns;
	s->live -= b->bytes;
	s->live_blocks--;
	note_live(s, ns);
}

static int allocate(struct tw_heap_state *s, struct tw_heap_thread *t, uint32_t thread, uint32_t path, const struct tw_asked *asked,
                    uint64_t ns)
{
	const uint64_t addr = asked->addr, bytes = asked->bytes;
	const uint32_t before = tw_heap_blocks_at(&s->blocks, t->program, addr);
	struct tw_heap_site *site = site_of(s, path);
	if (!site)
		return TW_ERR_MEMORY;
	if (before && s->blocks.items[before].live)
		end_block(s, &s->blocks.items[before], ns);
	const uint32_t number = tw_heap_blocks_add(&s->blocks, t->program, addr, bytes);
	if (!number)
		return TW_ERR_MEMORY;
	struct tw_heap_block *b = &s->blocks.items[number];
	b->born = ns;
	b->thread = thread;
	b->path = path;
	b->site = (uint32_t)(site - s->sites);
	settle(s, site);
	site->blocks++;
	site->bytes += bytes;
	site->live += bytes;
	site->live_blocks++;
	s->allocations++;
	s->bytes += bytes;
	s->live += bytes;
	s->live_blocks++;
	note_live(s, ns);
	return 0;
}

static int release(struct tw_heap_state *s, struct tw_heap_thread *t, uint32_t thread, const struct tw_open_call *c, uint32_t path,
                   uint64_t ns)
{
	const uint64_t addr = c->args[0];
	const uint32_t number = addr ? tw_heap_blocks_at(&s->blocks, t->program, addr) : 0;
	struct tw_heap_block *b = &s->blocks.items[number];
	if (!number)
		return 0; /* of before the recording's window, perhaps */
	if (b->live && b->addr == addr) {
		s->frees++;
		b->free_path = path;
		b->free_thread = thread;
		end_block(s, b, ns);
		return 0;
	}
	if (tw_runtime_code_at(&s->runtime, c->back - 1, thread) != TW_CODE_PROGRAM)
		return 0; /* a thread that ends gives back what was kept for it */
	struct tw_heap_error e = tw_heap_error_of(s, t, thread, number, b->live ? TW_HEAP_WRONG_FREE : TW_HEAP_TWICE_FREED);
	e.pc = c->back - 1;
	e.path = path;
	e.function = tw_calling_name(c);
	e.addr = addr;
	e.offset = addr - b->addr;
	return tw_heap_tell(s, &e);
}

/* ---- calls ---- */

static int end_old(struct tw_heap_state *s, struct tw_heap_thread *t, uint32_t thread, uint32_t path, const struct tw_asked *asked,
                   uint64_t ns)
{
	const uint32_t old = asked->old ? tw_heap_blocks_at(&s->blocks, t->program, asked->old) : 0;
	if (!old || !s->blocks.items[old].live || s->blocks.items[old].addr != asked->old)
		return 0;
	s->frees++;
	s->blocks.items[old].free_path = path;
	s->blocks.items[old].free_thread = thread;
	end_block(s, &s->blocks.items[old], ns);
	return 0;
}

/* The program has asked how many bytes it may use. */
static int widen(struct tw_heap_state *s, struct tw_heap_thread *t, uint64_t addr, uint64_t usable)
{
	const uint32_t number = tw_heap_blocks_at(&s->blocks, t->program, addr);
	const struct tw_heap_block *b = &s->blocks.items[number];
	return number && b->live && b->addr == addr ? tw_heap_blocks_widen(&s->blocks, number, usable) : 0;
}

static int take_step(struct tw_heap_state *s, struct tw_heap_thread *t, uint32_t thread, const struct tw_calling_step *step)
{
	const struct tw_open_call *c = &step->call;
	const uint64_t ns = tw_context_ns(s->context, step->tsc);
	if (step->change != TW_CALLING_NOTHING && !tw_called_is_memory(c->kind))
		return tw_heap_take_buffers(s, t, thread, step);
	if (step->change == TW_CALLING_NOTHING || t->calling.in_memory > (step->change == TW_CALLING_ENTERED))
		return 0; /* within another: what that asks for is the allocator's own */
	const uint32_t path = tw_callpath_of_call(&t->path, &s->paths, t->image, c->sp, c->back);
	if (step->change == TW_CALLING_ENTERED)
		return c->kind == TW_CALLED_FREE ? release(s, t, thread, c, path, ns) : 0;
	if (c->kind == TW_CALLED_USABLE)
		return widen(s, t, c->args[0], step->result);
	const struct tw_asked asked = tw_asked_by(step);
	if (!asked.allocates || (!asked.addr && asked.bytes))
		return 0;
	int error = end_old(s, t, thread, path, &asked, ns);
	return error || !asked.addr ? error : allocate(s, t, thread, path, &asked, ns);
}

/* ---- batches ---- */

static int take_block(struct tw_heap_state *s, struct tw_heap_thread *t, const struct tw_batch *b, const struct tw_block_run *run,
                      size_t end)
{
	const enum tw_code_owner owner = tw_runtime_code_of(&s->runtime, run, b->thread);
	int error = tw_heap_access(s, t, b->thread, owner, tw_batch_refs(b) + run->first_ref, end - run->first_ref);
	return error ? error : tw_callpath_take(&t->path, run, b->addr + run->first_ref, end - run->first_ref);
}

/* The thread starts a program, which has nothing yet; or memory is newly mapped. */
static int take_memory(struct tw_heap_state *s, struct tw_heap_thread *t, const struct tw_event *e)
{
	if (e->type == TW_EVENT_PROGRAM)
		s->threads[tw_recording_find_thread(s->recording, t->program)].is_whole = 1;
	return e->type == TW_EVENT_SYSCALL ? tw_heap_blocks_syscall(&s->blocks, t->program, e->payload) : 0;
}

static int take_event(struct tw_heap_state *s, struct tw_heap_thread *t, uint32_t thread, const struct tw_event *e)
{
	struct tw_calling_step step;
	int error = take_memory(s, t, e);
	if (error)
		return error;
	do {
		error = tw_calling_take(&t->calling, &s->kinds, e, &step);
		if (!error)
			error = take_step(s, t, thread, &step);
	} while (!error && step.more);
	return error;
}

static int take_events(struct tw_heap_state *s, struct tw_heap_thread *t, const struct tw_batch *b, size_t *next, size_t block)
{
	int error = 0;
	for (; *next < b->n_events && b->events[*next].block <= block && !error; ++*next)
		error = take_event(s, t, b->thread, &b->events[*next]);
	return error;
}

static int batch(void *state, const struct tw_batch *b)
{
	struct tw_heap_state *s = state;
	struct tw_heap_thread *t = thread_of(s, b->thread);
	const struct tw_block_run *run = tw_batch_blocks(b);
	size_t event = 0;
	int error = t ? tw_heap_look_again(s, t) : TW_ERR_MEMORY;
	for (size_t i = 0; i < b->n_blocks && !error; i++) {
		error = take_events(s, t, b, &event, i);
		if (!error)
			error = take_block(s, t, b, &run[i], i + 1 < b->n_blocks ? run[i + 1].first_ref : b->n_refs);
	}
	return error ? error : take_events(s, t, b, &event, b->n_blocks);
}

static int merge(void *state, void *later)
{
	struct tw_heap_state *s = state;
	free_state(later);
	return tw_context_wrong(s->context, "it sees all threads at once, and has nothing to merge");
}

/* ---- the answer ---- */

static int most_at_peak(const void *a, const void *b)
{
	const struct tw_heap_site *x = a, *y = b;
	if (x->at_peak != y->at_peak)
		return x->at_peak > y->at_peak ? -1 : 1;
	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	return (x->path > y->path) - (x->path < y->path);
}

static void print_sites(struct tw_heap_state *s, struct tw_answer *a, struct tw_names *names)
{
	static const struct tw_column columns[] = {
	    {"at_peak", TW_COLUMN_COUNT},    {"blocks", TW_COLUMN_COUNT},     {"bytes", TW_COLUMN_COUNT},
	    {"left", TW_COLUMN_COUNT},       {"left_bytes", TW_COLUMN_COUNT}, {"life_ns", TW_COLUMN_COUNT},
	    {"never_read", TW_COLUMN_COUNT}, {"path", TW_COLUMN_TEXT},        {NULL, 0}};
	char text[TW_CALLPATH_TEXT];
	tw_answer_table(a, "sites", "Where blocks were allocated, most bytes at the peak first", columns);
	for (size_t i = 0; i < s->n_sites; i++) {
		const struct tw_heap_site *x = &s->sites[i];
		tw_callpath_text(&s->paths, x->path, names, (unsigned)tw_context_number(s->context, "depth"), text, sizeof text);
		tw_answer_row(a, (struct tw_cell[]){{.count = x->at_peak},
		                                    {.count = x->blocks},
		                                    {.count = x->bytes},
		                                    {.count = x->live_blocks},
		                                    {.count = x->live},
		                                    {.count = x->freed ? x->life / x->freed : 0},
		                                    {.count = x->unread},
		                                    {.text = text}});
	}
}

struct print {
	const struct tw_heap_state *s;
	struct tw_answer *answer;
	struct tw_names *names;
	unsigned depth;
};

static void print_path(const struct print *p, uint64_t number, const char *what, uint32_t path)
{
	char text[TW_CALLPATH_TEXT];
	tw_callpath_text(&p->s->paths, path, p->names, p->depth, text, sizeof text);
	if (path)
		tw_answer_row(p->answer, (struct tw_cell[]){{.count = number},
		                                            {.text = what},
		                                            {.count = 0},
		                                            {.count = 0},
		                                            {.count = 0},
		                                            {.count = 0},
		                                            {.count = 0},
		                                            {.count = 0},
		                                            {.text = text}});
}

/* The call that did it. One of the user's functions is known from the options. */
static void print_call(const struct print *p, const struct tw_heap_error *e, char *to, size_t size)
{
	const int n = e->function[0] ? snprintf(to, size, "%s" TW_ANSWER_CALLED_BY, e->function) : 0;
	tw_callpath_text(&p->s->paths, e->path, p->names, p->depth, to + n, size - (size_t)n);
}

static void print_error(const struct print *p, const struct tw_heap_error *e, uint64_t number)
{
	static const char *const kinds[] = {[TW_HEAP_AFTER_FREE] = "after-free",
	                                    [TW_HEAP_BESIDE_BLOCK] = "beyond",
	                                    [TW_HEAP_TWICE_FREED] = "double-free",
	                                    [TW_HEAP_WRONG_FREE] = "wrong-free"};
	char text[TW_CALLPATH_TEXT];
	if (e->function)
		print_call(p, e, text, sizeof text);
	else
		tw_callpath_access(&p->s->paths, e->path, p->names, p->depth, e->image, e->pc, text, sizeof text);
	tw_answer_row(p->answer, (struct tw_cell[]){{.count = number},
	                                            {.text = kinds[e->kind]},
	                                            {.count = e->times},
	                                            {.count = e->thread},
	                                            {.count = e->addr},
	                                            {.count = e->size},
	                                            {.change = (int64_t)e->offset},
	                                            {.count = e->bytes},
	                                            {.text = text}});
	print_path(p, number, "allocated", e->site);
	print_path(p, number, "freed", e->free_path);
}

static void print_errors(const struct tw_heap_state *s, struct tw_answer *a, struct tw_names *names)
{
	static const struct tw_column columns[] = {{"error", TW_COLUMN_COUNT},     {"what", TW_COLUMN_TEXT},
	                                           {"times", TW_COLUMN_COUNT},     {"thread", TW_COLUMN_COUNT},
	                                           {"address", TW_COLUMN_ADDRESS}, {"size", TW_COLUMN_COUNT},
	                                           {"offset", TW_COLUMN_CHANGE},   {"block", TW_COLUMN_COUNT},
	                                           {"path", TW_COLUMN_TEXT},       {NULL, 0}};
	const struct print p = {s, a, names, (unsigned)tw_context_number(s->context, "depth")};
	tw_answer_table(a, "errors", "Invalid accesses", columns);
	for (size_t i = 0; i < s->n_errors; i++)
		print_error(&p, &s->errors[i], i + 1);
}

static void print_lives(const struct tw_heap_state *s, struct tw_answer *a)
{
	static const struct tw_column columns[] = {
	    {"below_ns", TW_COLUMN_COUNT}, {"blocks", TW_COLUMN_COUNT}, {"bytes", TW_COLUMN_COUNT}, {NULL, 0}};
	uint64_t below = 1;
	tw_answer_table(a, "lifetimes", "How long freed blocks lived", columns);
	for (unsigned i = 0; i < TW_HEAP_DECADES; i++, below *= 10)
		if (s->lives[i].blocks)
			tw_answer_row(a, (struct tw_cell[]){{.count = below}, {.count = s->lives[i].blocks}, {.count = s->lives[i].bytes}});
}

/* The first point in which something was allocated: before it nothing is live. */
static uint64_t first_point(const struct tw_heap_state *s)
{
	uint64_t first = 0;
	while (first < TW_HEAP_POINTS - 1 && !s->points[first].seen)
		first++;
	return s->points[first].seen ? first : 0;
}

static void print_points(const struct tw_heap_state *s, struct tw_answer *a)
{
	static const struct tw_column columns[] = {
	    {"ns", TW_COLUMN_COUNT}, {"live", TW_COLUMN_COUNT}, {"most", TW_COLUMN_COUNT}, {NULL, 0}};
	const uint64_t duration = tw_recording_info(s->recording)->duration_ns, n = tw_context_number(s->context, "points");
	const uint64_t first = first_point(s), left = TW_HEAP_POINTS - first;
	uint64_t live = 0;
	tw_answer_table(a, "timeline", "Live bytes over time, at the end of each part, and the most in it", columns);
	for (uint64_t k = 0; k < n && duration; k++) {
		uint64_t most = live;
		const uint64_t end = first + (k + 1) * left / n;
		for (uint64_t i = first + k * left / n; i < end; i++) {
			const struct tw_heap_point *p = &s->points[i];
			most = p->seen && p->most > most ? p->most : most;
			live = p->seen ? p->live : live;
		}
		tw_answer_row(a, (struct tw_cell[]){{.count = (uint64_t)((double)duration * (double)end / TW_HEAP_POINTS)},
		                                    {.count = live},
		                                    {.count = most}});
	}
}

/* What is still there at the end has not been counted yet. */
static uint64_t count_the_rest(struct tw_heap_state *s)
{
	uint64_t unread = 0;
	for (size_t i = 1; i <= s->blocks.n; i++)
		if (s->blocks.items[i].live)
			count_unread(&s->sites[s->blocks.items[i].site], &s->blocks.items[i]);
	for (size_t i = 0; i < s->n_sites; i++) {
		settle(s, &s->sites[i]);
		unread += s->sites[i].unread;
	}
	return unread;
}

static int print_all(struct tw_heap_state *s)
{
	struct tw_names *names = tw_context_names(s->context);
	struct tw_answer *a = tw_context_answer(s->context);
	int error = 0;
	if (!names)
		return TW_ERR_MEMORY;
	for (size_t i = 0; i < s->n_threads && !error; i++)
		error = tw_heap_look_again(s, &s->threads[i]);
	if (error)
		return error;
	const uint64_t unread = count_the_rest(s);
	if (s->n_sites)
		qsort(s->sites, s->n_sites, sizeof *s->sites, most_at_peak);
	tw_answer_fact(a, "allocations", s->allocations);
	tw_answer_fact(a, "frees", s->frees);
	tw_answer_fact(a, "bytes", s->bytes);
	tw_answer_fact(a, "peak_bytes", s->peak);
	tw_answer_fact(a, "peak_ns", s->peak_time);
	tw_answer_fact(a, "left_blocks", s->live_blocks);
	tw_answer_fact(a, "left_bytes", s->live);
	tw_answer_fact(a, "never_read_bytes", unread);
	tw_answer_fact(a, "wrong_places", s->n_errors);
	if (s->left_out)
		tw_answer_fact(a, "wrong_left_out", s->left_out);
	print_errors(s, a, names);
	print_sites(s, a, names);
	print_lives(s, a);
	print_points(s, a);
	return 0;
}

static int end(void *state, int error)
{
	if (!error)
		error = print_all(state);
	free_state(state);
	return error;
}

static const struct tw_option options[] = {
    {"alloc", TW_OPTION_TEXT, "NAME,...", NULL, "functions that allocate like malloc, recorded with record --calls=NAME"},
    {"free", TW_OPTION_TEXT, "NAME,...", NULL, "functions that free like free"},
    {"depth", TW_OPTION_NUMBER, "N", "8", "number of calls shown of each path, innermost first"},
    {"points", TW_OPTION_NUMBER, "N", "20", "number of points of live bytes over time, at most 1000"},
    {NULL, 0, NULL, NULL, NULL},
};

const struct tw_analyzer tw_analyzer_heap = {
    .name = "heap",
    .begin = begin,
    .batch = batch,
    .merge = merge,
    .end = end,
    .what = "allocated memory: live bytes, peak, lifetimes, use after free",
    .help = "Blocks are those of malloc, C++'s new and similar functions (record --calls),\n"
            "grouped by call path. Errors are accesses to a freed block whose memory has not\n"
            "been reused, or to memory of no block within 32 bytes after or 16 bytes before a\n"
            "block; and blocks freed twice, or by an address other than their own.\n",
    .options = options,
    .needs = TW_NEEDS_REFS | TW_NEEDS_FLOW | TW_NEEDS_NAMES | TW_NEEDS_CALLS,
    .scope = TW_SCOPE_ALL,
};
