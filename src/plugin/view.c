#include "plugin/view.h"
#include "analyze/syscall_buffers.h"
#include "analyze/by_fragment.h"
#include "names/places.h"
#include "plugin/range.h"
#include "recording/index.h"
#include "recording/recording.h"
#include "replay/state.h"

#include <stdlib.h>
#include <string.h>

struct tw_views {
	const struct tw_context *context;
	const struct tw_view *view;
	int passes_over;        /* batches without references in the range */
	struct tw_index *index; /* the recording's index, for an address range: from low to high; NULL: not used */
	int looked_for_index;
	uint64_t low, high;
	char *function_module; /* of MODULE!NAME; NULL: any */
	const char *function;
	_Atomic int found_function, found_module, found_range;
};

/* For a fragment in an image: which of its blocks are visible code. */
struct seen {
	uint32_t image;
	uint8_t block[];
};

struct tw_viewer {
	struct tw_views *views;
	int (*batch)(void *state, const struct tw_batch *b);
	void *state;
	struct tw_names *names; /* NULL where they are not needed */
	struct tw_ranges ranges;
	struct tw_by_fragment fragments; /* struct seen */
	uint32_t thread, image;          /* of the last batch */
	uint64_t tsc;                    /* of the last event that has one */
	/* The piece being put together: adjacent blocks and references. */
	const struct tw_batch *from;
	struct tw_batch piece;
	struct tw_stretch stretch;
	const struct tw_stretch *stretches[1];
	struct tw_event events[TW_BATCH_EVENTS];
	struct tw_block_run blocks[TW_BLOCK_ROOM];
	struct tw_ref_shape shapes[TW_BATCH_ROOM];
	uint64_t addr[TW_BATCH_ROOM];
	struct tw_batch_lists lists;
};

/* ---- what all states share ---- */

int tw_view_is_all(const struct tw_view *v)
{
	return !v->has_thread && !v->from.kind && !v->to.kind && !v->function && !v->module && !v->range;
}

static int parse_function(struct tw_views *v, const char *text)
{
	const char *bang = text ? strchr(text, '!') : NULL;
	v->function = bang ? bang + 1 : text;
	v->function_module = bang ? strndup(text, (size_t)(bang - text)) : NULL;
	return !bang || v->function_module;
}

static int has_time(const struct tw_views *v)
{
	return v->view->from.kind == TW_WHERE_TIME || v->view->to.kind == TW_WHERE_TIME;
}

struct tw_views *tw_views_new(const struct tw_context *context, const struct tw_view *view, int no_code)
{
	struct tw_views *v = calloc(1, sizeof *v);
	if (!v || !parse_function(v, view->function)) {
		free(v);
		return NULL;
	}
	v->context = context;
	v->view = view;
	v->passes_over = no_code && view->range && !view->from.kind && !view->to.kind;
	struct tw_ranges ranges = {0};
	int bad = view->range && tw_ranges_parse(&ranges, view->range);
	tw_ranges_free(&ranges);
	if (bad)
		tw_context_wrong(context, "--range wants 0xADDRESS or a variable's name, optionally with +BYTES, not '%s'", view->range);
	if (!bad && has_time(v) && !tw_recording_info(tw_context_recording(context))->tsc_hz)
		bad = tw_context_wrong(context, "--from and --to: this recording has no times; use a count of instructions (5Mi)");
	if (!bad)
		return v;
	tw_views_free(v);
	return NULL;
}

void tw_views_free(struct tw_views *v)
{
	if (!v)
		return;
	free(v->function_module);
	tw_index_close(v->index);
	free(v);
}

static int before(const struct tw_where *limit, uint64_t insn)
{
	return limit->kind == TW_WHERE_COUNT && insn < limit->value;
}

/* Opens the index for an address range. Without an index, chunks are read. */
static void open_index(struct tw_views *v)
{
	struct tw_ranges ranges = {0};
	v->looked_for_index = 1;
	if (tw_ranges_parse(&ranges, v->view->range) || !ranges.n || tw_index_open(tw_context_recording(v->context), &v->index)) {
		tw_ranges_free(&ranges);
		return;
	}
	v->low = ranges.items[0].start;
	v->high = ranges.items[0].end - 1;
	v->found_range = 1;
	tw_ranges_free(&ranges);
}

/* Whether chunks without a reference in the range can be skipped: only after the requested function and file have been found. */
static int passes_over(const struct tw_views *v)
{
	return v->passes_over && (!v->function || v->found_function) && (!v->view->module || v->found_module);
}

/* Whether the range may be in a chunk. */
static int range_may_be(struct tw_views *v, size_t thread, size_t chunk)
{
	if (!passes_over(v))
		return 1;
	if (!v->looked_for_index)
		open_index(v);
	const struct tw_index_entry *e = v->index ? tw_index_of(v->index, thread, chunk) : NULL;
	return !e || !e->has_buffers || tw_index_may_have(e, TW_INDEX_READ, v->low, v->high) ||
	       tw_index_may_have(e, TW_INDEX_WRITTEN, v->low, v->high);
}

int tw_views_chunk(struct tw_views *v, size_t thread, size_t chunk)
{
	const struct tw_recording *r = tw_context_recording(v->context);
	const struct tw_chunk_info *info = tw_recording_chunk_info(r, thread, chunk);
	if (v->view->has_thread && tw_recording_thread(r, thread)->serial != v->view->thread)
		return 0;
	if (before(&v->view->from, info->first_insn + info->insns))
		return 0;
	if (v->view->to.kind == TW_WHERE_COUNT && !before(&v->view->to, info->first_insn))
		return 0;
	return range_may_be(v, thread, chunk);
}

int tw_views_found(const struct tw_views *v, const char **what)
{
	*what = v->view->range && !v->found_range ? v->view->range : NULL;
	if (v->view->function && !v->found_function)
		*what = v->view->function;
	if (v->view->module && !v->found_module)
		*what = v->view->module;
	return !*what;
}

const char *tw_views_function(const struct tw_views *v, const char **module)
{
	*module = v->function_module ? v->function_module : v->view->module;
	return v->function;
}

enum { FOUND_RANGE = 1, FOUND_FUNCTION = 2, FOUND_MODULE = 4 };

uint32_t tw_views_findings(const struct tw_views *v)
{
	return (v->found_range ? FOUND_RANGE : 0u) | (v->found_function ? FOUND_FUNCTION : 0u) | (v->found_module ? FOUND_MODULE : 0u);
}

void tw_views_add_findings(struct tw_views *v, uint32_t findings)
{
	v->found_range |= (findings & FOUND_RANGE) != 0;
	v->found_function |= (findings & FOUND_FUNCTION) != 0;
	v->found_module |= (findings & FOUND_MODULE) != 0;
}

/* ---- code ---- */

/* Whether code at pc is part of the view. */
static int sees_code(struct tw_views *v, struct tw_names *names, uint32_t image, uint64_t pc)
{
	struct tw_code_name name;
	tw_names_code(names, image, pc, &name);
	int is_function =
	    v->function && tw_names_is(&name, v->function) && (!v->function_module || tw_is_module(name.path, v->function_module));
	int in_file = v->view->module && tw_is_module(*name.path ? name.path : name.module, v->view->module);
	v->found_function |= is_function;
	v->found_module |= in_file;
	return (is_function || !v->function) && (in_file || !v->view->module);
}

static struct seen *new_seen(struct tw_viewer *v, const struct tw_descriptor *d)
{
	struct seen *s = tw_by_fragment_get(&v->fragments, d->number);
	if (!s) {
		s = calloc(1, sizeof *s + d->n_blocks);
		if (!s || !tw_by_fragment_set(&v->fragments, d->number, s)) {
			free(s);
			return NULL;
		}
	}
	s->image = v->image;
	for (unsigned k = 0; k < d->n_blocks; k++)
		s->block[k] = (uint8_t)sees_code(v->views, v->names, v->image, tw_descriptor_blocks(d)[k].pc);
	return s;
}

static int wants_code(const struct tw_views *v)
{
	return v->function || v->view->module;
}

static int needs_names(const struct tw_views *v)
{
	return wants_code(v) || (v->view->range && strncmp(v->view->range, "0x", 2));
}

/* 1, 0, or -1: no memory. */
static int sees_block(struct tw_viewer *v, const struct tw_block_run *b)
{
	if (!wants_code(v->views))
		return 1;
	const struct seen *s = tw_by_fragment_get(&v->fragments, b->descriptor->number);
	if (!s || s->image != v->image)
		s = new_seen(v, b->descriptor);
	return s ? s->block[b->block] : -1;
}

/* ---- time ---- */

/* Whether the thread's position, after so many instructions and at the time of its last event, is within the limits. */
static int is_within(const struct tw_viewer *v, uint64_t insn)
{
	const struct tw_view *view = v->views->view;
	uint64_t ns = has_time(v->views) ? tw_context_ns(v->views->context, v->tsc) : 0;
	uint64_t at = view->from.kind == TW_WHERE_TIME ? ns : insn;
	if (view->from.kind && at < view->from.value)
		return 0;
	at = view->to.kind == TW_WHERE_TIME ? ns : insn;
	return !view->to.kind || at < view->to.value;
}

/* ---- pieces ---- */

static int give_piece(struct tw_viewer *v)
{
	struct tw_batch *p = &v->piece;
	if (!p->n_blocks && !p->n_events)
		return 0;
	v->stretch.blocks = v->blocks;
	v->stretch.refs = v->shapes;
	v->stretch.n_blocks = (uint32_t)p->n_blocks;
	v->stretch.n_refs = (uint32_t)p->n_refs;
	v->stretches[0] = &v->stretch;
	p->stretches = v->stretches;
	p->n_stretches = p->n_blocks != 0;
	p->addr = v->addr;
	p->events = v->events;
	v->lists.has_blocks = v->lists.has_refs = 0;
	p->lists = &v->lists;
	int result = v->batch(v->state, p);
	*p = (struct tw_batch){.thread = p->thread, .sequence = p->sequence};
	return result;
}

/* Where the next piece would begin. */
struct position {
	uint64_t insn, block, ref;
};

static void begin_piece(struct tw_viewer *v, const struct position *at)
{
	if (v->piece.n_blocks || v->piece.n_events)
		return;
	v->piece.first_insn = at->insn;
	v->piece.first_block = at->block;
	v->piece.first_ref = at->ref;
	v->piece.tsc = v->tsc;
}

static void add_event(struct tw_viewer *v, const struct tw_event *e, const struct position *at)
{
	begin_piece(v, at);
	struct tw_event *to = &v->events[v->piece.n_events++];
	*to = *e;
	to->block = (uint32_t)v->piece.n_blocks;
}

static void add_ref(struct tw_viewer *v, const struct tw_ref *r)
{
	struct tw_batch *p = &v->piece;
	v->addr[p->n_refs] = r->addr;
	v->shapes[p->n_refs++] = (struct tw_ref_shape){.pc = r->pc, .size = r->size, .insn = r->insn, .type = r->type};
	p->n_reads += (r->type & TW_READ) != 0;
	p->n_writes += (r->type & TW_WRITE) != 0;
}

static void add_block(struct tw_viewer *v, const struct tw_block_run *b, const struct tw_ref *refs, size_t n_refs,
                      const struct position *at)
{
	struct tw_batch *p = &v->piece;
	begin_piece(v, at);
	struct tw_block_run *to = &v->blocks[p->n_blocks++];
	*to = *b;
	to->first_ref = (uint32_t)p->n_refs;
	p->n_insns += b->n_insns;
	p->n_continued += b->n_insns == 0;
	for (size_t i = 0; i < n_refs; i++)
		if (!v->views->view->range || tw_ranges_touch(&v->ranges, v->image, refs[i].addr, refs[i].size))
			add_ref(v, &refs[i]);
}

/* ---- events ---- */

/* The instruction to which an event belongs, if that decides whether it passes. */
static int pc_of(const struct tw_event *e, uint64_t *pc)
{
	switch (e->type) {
	case TW_EVENT_SYSCALL:
		*pc = ((const struct tw_syscall *)e->payload)->pc;
		return 1;
	case TW_EVENT_SIGNAL:
		*pc = ((const struct tw_signal *)e->payload)->pc;
		return 1;
	case TW_EVENT_STAMP:
		*pc = ((const struct tw_stamp *)e->payload)->pc;
		return 1;
	default:
		return 0;
	}
}

static int sees_event(struct tw_viewer *v, const struct tw_event *e, uint64_t insn)
{
	uint64_t pc;
	if (!pc_of(e, &pc))
		return 1;
	if (!is_within(v, insn))
		return 0;
	if (!wants_code(v->views) || sees_code(v->views, v->names, v->image, pc))
		return 1;
	return e->type == TW_EVENT_SIGNAL && sees_code(v->views, v->names, v->image, ((const struct tw_signal *)e->payload)->handler);
}

/* Events before block k. After an invisible event with a time, a new piece begins, which tells the time. */
static int take_events(struct tw_viewer *v, size_t *next, size_t k, const struct position *at)
{
	int result = 0;
	for (; *next < v->from->n_events && v->from->events[*next].block <= k && !result; ++*next) {
		const struct tw_event *e = &v->from->events[*next];
		const uint64_t tsc = tw_event_time(e->type, e->payload);
		tw_ranges_event(&v->ranges, e);
		if (sees_event(v, e, at->insn))
			add_event(v, e, at);
		else if (tsc)
			result = give_piece(v);
		v->tsc = tsc ? tsc : v->tsc;
	}
	return result;
}

/* ---- batches ---- */

static void begin_batch(struct tw_viewer *v, const struct tw_batch *b)
{
	v->from = b;
	v->piece = (struct tw_batch){.thread = b->thread, .sequence = b->sequence};
	if (v->thread == b->thread)
		return;
	v->thread = b->thread;
	v->tsc = 0;
	if (v->names)
		v->image = tw_names_image(v->names, b->thread);
}

static int take_block(struct tw_viewer *v, size_t k, struct position *at)
{
	const struct tw_block_run *b = tw_batch_blocks(v->from) + k;
	size_t end = k + 1 < v->from->n_blocks ? b[1].first_ref : v->from->n_refs, n_refs = end - b->first_ref;
	int sees = is_within(v, at->insn) ? sees_block(v, b) : 0, result = 0;
	if (sees < 0)
		return TW_ERR_MEMORY;
	if (sees)
		add_block(v, b, tw_batch_refs(v->from) + b->first_ref, n_refs, at);
	else
		result = give_piece(v);
	at->insn += b->n_insns;
	at->block += b->n_insns != 0;
	at->ref += n_refs;
	v->piece.continues = sees && v->from->continues && k + 1 == v->from->n_blocks;
	return result;
}

/* Whether one of n addresses is in the `bytes` bytes from low on. */
static int any_within(const uint64_t *addr, size_t n, uint64_t low, uint64_t bytes)
{
	uint64_t any = 0;
	for (size_t i = 0; i < n; i++)
		any |= addr[i] - low < bytes;
	return any != 0;
}

/* Whether any reference may touch a range: whether one begins near enough. */
static int comes_near(const struct tw_viewer *v, const struct tw_batch *b)
{
	enum { NEAR = 1 << 16 }; /* no reference is so large */
	for (size_t i = 0; i < v->ranges.n; i++) {
		uint64_t start = v->ranges.items[i].start, low = start > NEAR ? start - NEAR : 0;
		if (any_within(b->addr, b->n_refs, low, v->ranges.items[i].end - low))
			return 1;
	}
	return 0;
}

/* Whether the kernel has read or filled some of it in a system call. */
static int kernel_touches(const struct tw_viewer *v, const struct tw_batch *b)
{
	struct tw_syscall_buffers k;
	for (size_t i = 0; i < b->n_events; i++) {
		if (b->events[i].type != TW_EVENT_SYSCALL)
			continue;
		tw_syscall_buffers(b->events[i].payload, b->events[i].bytes, &k);
		for (size_t j = 0; j < k.n; j++)
			if (tw_ranges_touch(&v->ranges, v->image, k.buffer[j].addr, k.buffer[j].bytes))
				return 1;
	}
	return 0;
}

/* Whether a range is elsewhere from some event on. */
static int moves(const struct tw_viewer *v, const struct tw_batch *b)
{
	for (size_t i = 0; i < b->n_events; i++)
		if (tw_ranges_move(&v->ranges, &b->events[i]))
			return 1;
	return 0;
}

/* Whether any reference touches a range. */
static int touches(const struct tw_viewer *v, const struct tw_batch *b)
{
	const uint64_t *addr = b->addr;
	if (!comes_near(v, b))
		return 0;
	for (size_t i = 0; i < b->n_stretches; i++) {
		const struct tw_stretch *s = b->stretches[i];
		for (uint32_t k = 0; k < s->n_refs; k++, addr++)
			if (tw_ranges_touch(&v->ranges, v->image, *addr, s->refs[k].size))
				return 1;
	}
	return 0;
}

int tw_viewer_batch(struct tw_viewer *v, const struct tw_batch *b)
{
	struct position at = {b->first_insn, b->first_block, b->first_ref};
	size_t next = 0;
	if (v->views->view->has_thread && b->thread != v->views->view->thread)
		return 0;
	int result = 0;
	begin_batch(v, b);
	const size_t n_blocks = passes_over(v->views) && !moves(v, b) && !touches(v, b) && !kernel_touches(v, b) ? 0 : b->n_blocks;
	for (size_t k = 0; k < n_blocks && !result; k++) {
		result = take_events(v, &next, k, &at);
		result = result ? result : take_block(v, k, &at);
	}
	result = result ? result : take_events(v, &next, b->n_blocks, &at);
	return result ? result : give_piece(v);
}

/* Opens names if they are needed, and finds a range given by name. 0, or no memory. */
static int find_names(struct tw_viewer *v)
{
	if (needs_names(v->views) && !(v->names = tw_context_names(v->views->context)))
		return TW_ERR_MEMORY;
	if (!v->views->view->range)
		return 0;
	if (tw_ranges_parse(&v->ranges, v->views->view->range) || tw_ranges_find(&v->ranges, v->names))
		return TW_ERR_MEMORY;
	v->views->found_range |= v->ranges.n != 0;
	return 0;
}

struct tw_viewer *tw_viewer_new(struct tw_views *views, int (*batch)(void *state, const struct tw_batch *b), void *state)
{
	struct tw_viewer *v = calloc(1, sizeof *v);
	if (!v)
		return NULL;
	v->views = views;
	v->batch = batch;
	v->state = state;
	v->thread = UINT32_MAX;
	if (!find_names(v))
		return v;
	tw_viewer_free(v);
	return NULL;
}

void tw_viewer_free(struct tw_viewer *v)
{
	if (!v)
		return;
	tw_by_fragment_free(&v->fragments, free);
	tw_ranges_free(&v->ranges);
	free(v);
}
