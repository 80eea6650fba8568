#include "analyze/mappings.h"
#include "base/array.h"
#include "recording/recording.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <trackway/event.h>

/* What changes the memory of a process. */
enum change_kind { MAP, UNMAP, MOVE, DETACH, PROTECT, PROGRAM };

struct change {
	uint64_t time, order; /* order: where it stood among all */
	uint64_t address, length, offset;
	uint64_t from, from_length; /* MOVE */
	uint64_t pc, call;
	uint32_t pid, thread, prot, flags;
	enum change_kind kind;
	char *path; /* of a MAP event */
};

struct reading {
	const struct tw_recording *recording;
	struct change *changes;
	size_t n, room;
	/* of the thread that is read */
	uint32_t thread, pid;
	uint64_t now;
	size_t untold; /* the first change whose system call is still to come */
};

/* ---- reading ---- */

static uint64_t whole_pages(uint64_t bytes)
{
	return (bytes + 4095) & ~4095ull;
}

static struct change *add(struct reading *g, enum change_kind kind, uint64_t address, uint64_t length)
{
	struct change *changes = tw_array_zeros(g->changes, g->n, &g->room, sizeof *changes);
	if (!changes)
		return NULL;
	g->changes = changes;
	changes[g->n] = (struct change){
	    .time = g->now, .order = g->n, .address = address, .length = length, .pid = g->pid, .thread = g->thread, .kind = kind};
	return &changes[g->n++];
}

/* Without a type of mapping, it comes from mprotect: existing memory has become executable. */
static int add_map(struct reading *g, const struct tw_map *m)
{
	struct change *c = add(g, m->flags & MAP_TYPE ? MAP : PROTECT, m->address, m->length);
	if (!c || !(c->path = strdup((const char *)(m + 1))))
		return TW_ERR_MEMORY;
	c->offset = m->offset;
	c->prot = m->prot;
	c->flags = m->flags;
	return 0;
}

static struct change *add_call(struct reading *g, const struct tw_syscall *e)
{
	struct change *c;
	switch (e->number) {
	case SYS_mremap:
		c = add(g, MOVE, (uint64_t)e->result, e->args[2]);
		if (!c)
			return NULL;
		c->from = e->args[0];
		c->from_length = e->args[1];
		c->flags = (uint32_t)e->args[3];
		return c;
	case SYS_shmdt:
		return add(g, DETACH, e->args[0], 0);
	default:
		c = add(g, PROTECT, e->args[0], e->args[1]);
		if (c)
			c->prot = (uint32_t)e->args[2];
		return c;
	}
}

/* Whether a call made this change: events of memory that existed at the program's start also stand before its first call. */
static int is_by(const struct change *c, const struct tw_syscall *e)
{
	const uint64_t result = (uint64_t)e->result;
	switch (c->kind) {
	case MAP:
		return e->number == SYS_brk ? whole_pages(result) == c->address + c->length : result == c->address;
	case UNMAP:
		return e->number == SYS_brk ? whole_pages(result) == c->address : e->args[0] == c->address;
	default:
		return c->kind != PROGRAM;
	}
}

/*
 * The events of a call stand before it. What it mapped exists from its return on, and what it unmapped only until its
 * start: so a mapping that another thread makes in that place comes later.
 */
static int take_call(struct reading *g, const struct tw_syscall *e)
{
	enum { LARGEST_ERROR = 4095 };
	const int done = e->result >= 0 || e->result < -LARGEST_ERROR;
	if (done && (e->number == SYS_mremap || e->number == SYS_shmdt || e->number == SYS_mprotect) && !add_call(g, e))
		return TW_ERR_MEMORY;
	for (; g->untold < g->n; g->untold++) {
		struct change *c = &g->changes[g->untold];
		if (!is_by(c, e))
			continue;
		c->pc = e->pc;
		c->call = e->number;
		c->time = c->kind == MAP || c->kind == MOVE ? e->tsc : e->began;
	}
	return 0;
}

static int take_event(struct reading *g, const struct tw_event_header *h)
{
	const struct tw_unmap *unmap = (const void *)(h + 1);
	uint64_t time = tw_event_time(h->type, h + 1);
	g->now = time ? time : g->now;
	switch (h->type) {
	case TW_EVENT_MAP:
		return add_map(g, (const void *)(h + 1));
	case TW_EVENT_UNMAP:
		return add(g, UNMAP, unmap->address, unmap->length) ? 0 : TW_ERR_MEMORY;
	case TW_EVENT_SYSCALL:
		return take_call(g, (const void *)(h + 1));
	case TW_EVENT_PROGRAM:
		return add(g, PROGRAM, 0, 0) ? 0 : TW_ERR_MEMORY;
	default:
		return 0;
	}
}

static int take_events(struct reading *g, const struct tw_chunk *chunk)
{
	int error = 0;
	size_t at = 0;
	for (const struct tw_event_header *h; !error && (h = tw_event_next(chunk->e, chunk->n_e, &at));)
		error = take_event(g, h);
	return error;
}

static int read_threads(struct reading *g)
{
	struct tw_coded_chunk c = {0};
	int error = 0;
	for (size_t i = 0; i < tw_recording_n_threads(g->recording) && error != TW_ERR_MEMORY; i++) {
		const struct tw_thread_info *t = tw_recording_thread(g->recording, i);
		g->thread = (uint32_t)i;
		g->pid = t->pid;
		g->now = 0;
		g->untold = g->n;
		for (size_t k = 0; k < t->n_chunks && error != TW_ERR_MEMORY; k++) {
			error = tw_recording_events(g->recording, i, k, &c);
			if (!error)
				error = take_events(g, &c.chunk);
		}
	}
	tw_coded_chunk_release(&c);
	return error == TW_ERR_MEMORY ? error : 0;
}

static int by_time(const void *a, const void *b)
{
	const struct change *x = a, *y = b;
	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return (x->order > y->order) - (x->order < y->order);
}

/* ---- what was there ---- */

struct memory {
	struct tw_mappings *out;
	size_t room;
	size_t *live; /* mappings that are there, by process and address: indices of items */
	size_t n_live, live_room;
	int error;
};

/* What is taken off, and when. */
struct range {
	uint64_t from, to, when;
	int mapped_over; /* something else is there now */
};

/* The first one of a process that ends behind an address. */
static size_t find(const struct memory *m, uint32_t pid, uint64_t address)
{
	size_t low = 0, high = m->n_live;
	while (low < high) {
		size_t middle = (low + high) / 2;
		const struct tw_mapping *x = &m->out->items[m->live[middle]];
		if (x->pid < pid || (x->pid == pid && x->end <= address))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static struct tw_mapping *add_mapping(struct memory *m, const struct tw_mapping *from)
{
	struct tw_mapping *items = tw_array_room(m->out->items, m->out->n, &m->room, sizeof *items);
	char *path = items ? strdup(from->path) : NULL;
	m->out->items = items ? items : m->out->items;
	if (!path) {
		m->error = TW_ERR_MEMORY;
		return NULL;
	}
	items[m->out->n] = *from;
	items[m->out->n].path = path;
	return &items[m->out->n++];
}

/* The newest mapping is there from now on. */
static void make_live(struct memory *m)
{
	const struct tw_mapping *x = &m->out->items[m->out->n - 1];
	size_t *live = tw_array_room(m->live, m->n_live, &m->live_room, sizeof *live);
	if (!live) {
		m->error = TW_ERR_MEMORY;
		return;
	}
	m->live = live;
	const size_t at = find(m, x->pid, x->address);
	memmove(live + at + 1, live + at, (m->n_live++ - at) * sizeof *live);
	live[at] = m->out->n - 1;
}

static void add_live(struct memory *m, const struct tw_mapping *from)
{
	if (!m->error && add_mapping(m, from))
		make_live(m);
}

/*
 * ld.so maps a library completely, and then its parts over it; other code reserves memory before mapping what it
 * needs. The covered mapping is not worth reporting.
 */
static int is_worth(const struct tw_mapping *x, int mapped_over)
{
	return !mapped_over || (x->kind != TW_MAPPING_FILE && x->prot);
}

/* Removes [from, to) from the mapping at `at`; *next is the one to continue with. */
static void cut(struct memory *m, size_t at, const struct range *r, size_t *next)
{
	struct tw_mapping *x = &m->out->items[m->live[at]];
	struct tw_mapping left = *x, right = *x, gone = *x;
	left.end = gone.address = r->from > x->address ? r->from : x->address;
	right.address = gone.end = r->to < x->end ? r->to : x->end;
	right.offset += right.address - x->address;
	gone.offset += gone.address - x->address;
	gone.ended = r->when;
	const int has_left = left.end > left.address, has_right = right.end > right.address, worth = is_worth(x, r->mapped_over);
	if (!has_left) {
		x->address = gone.address;
		x->end = worth ? gone.end : gone.address;
		x->ended = r->when;
		memmove(m->live + at, m->live + at + 1, (--m->n_live - at) * sizeof *m->live);
	} else {
		x->end = left.end;
		if (!m->error && worth)
			add_mapping(m, &gone);
	}
	*next = at + (has_left != 0);
	if (has_right)
		add_live(m, &right);
}

static void take_off(struct memory *m, uint32_t pid, const struct range *r)
{
	for (size_t at = find(m, pid, r->from); at < m->n_live && !m->error;) {
		const struct tw_mapping *x = &m->out->items[m->live[at]];
		if (x->pid != pid || x->address >= r->to)
			break;
		cut(m, at, r, &at);
	}
}

static uint32_t kind_of(const struct change *c)
{
	if (!strcmp(c->path, "[heap]"))
		return TW_MAPPING_HEAP;
	if (!strcmp(c->path, "[stack]"))
		return TW_MAPPING_STACK;
	if (!strncmp(c->path, "[v", 2))
		return TW_MAPPING_KERNEL;
	if (*c->path && *c->path != '[')
		return c->flags & MAP_ANONYMOUS ? TW_MAPPING_ZEROS : TW_MAPPING_FILE;
	if ((c->flags & MAP_TYPE) != MAP_PRIVATE)
		return TW_MAPPING_SHARED;
	return c->flags & MAP_STACK ? TW_MAPPING_THREAD_STACK : TW_MAPPING_ANONYMOUS;
}

static void map(struct memory *m, const struct change *c)
{
	struct tw_mapping x = {.address = c->address,
	                       .end = c->address + whole_pages(c->length),
	                       .offset = c->offset,
	                       .began = c->pc ? c->time : 0,
	                       .pc = c->pc,
	                       .call = c->call,
	                       .pid = c->pid,
	                       .thread = c->thread,
	                       .prot = c->prot,
	                       .kind = kind_of(c),
	                       .path = c->path};
	take_off(m, c->pid, &(struct range){x.address, x.end, c->time, 1});
	size_t before = x.kind == TW_MAPPING_HEAP && c->address ? find(m, c->pid, c->address - 1) : m->n_live;
	struct tw_mapping *heap = before < m->n_live ? &m->out->items[m->live[before]] : NULL;
	if (heap && heap->pid == c->pid && heap->kind == TW_MAPPING_HEAP && heap->end == c->address)
		heap->end = x.end;
	else
		add_live(m, &x);
}

static void move(struct memory *m, const struct change *c)
{
	size_t at = find(m, c->pid, c->from);
	const struct tw_mapping *x = at < m->n_live ? &m->out->items[m->live[at]] : NULL;
	if (!x || x->pid != c->pid || x->address > c->from)
		return;
	struct tw_mapping moved = *x;
	char *path = strdup(x->path);
	moved.path = path;
	moved.offset += c->from - x->address;
	moved.address = c->address;
	moved.end = c->address + whole_pages(c->length);
	moved.began = c->time;
	moved.ended = 0;
	moved.pc = c->pc;
	moved.call = c->call;
	moved.thread = c->thread;
	if (!(c->flags & MREMAP_DONTUNMAP))
		take_off(m, c->pid, &(struct range){c->from, c->from + whole_pages(c->from_length), c->time, 0});
	take_off(m, c->pid, &(struct range){moved.address, moved.end, c->time, 1});
	m->error = path ? m->error : TW_ERR_MEMORY;
	add_live(m, &moved);
	free(path);
}

static void protect(struct memory *m, const struct change *c)
{
	for (size_t at = find(m, c->pid, c->address); at < m->n_live; at++) {
		struct tw_mapping *x = &m->out->items[m->live[at]];
		if (x->pid != c->pid || x->address >= c->address + c->length)
			break;
		x->prot |= c->prot & (PROT_READ | PROT_WRITE | PROT_EXEC);
	}
}

static void detach(struct memory *m, const struct change *c)
{
	size_t at = find(m, c->pid, c->address);
	const struct tw_mapping *x = at < m->n_live ? &m->out->items[m->live[at]] : NULL;
	if (x && x->pid == c->pid && x->address == c->address)
		take_off(m, c->pid, &(struct range){x->address, x->end, c->time, 0});
}

static void apply(struct memory *m, const struct change *c)
{
	switch (c->kind) {
	case MAP:
		map(m, c);
		break;
	case UNMAP:
		take_off(m, c->pid, &(struct range){c->address, c->address + whole_pages(c->length), c->time, 0});
		break;
	case MOVE:
		move(m, c);
		break;
	case DETACH:
		detach(m, c);
		break;
	case PROTECT:
		protect(m, c);
		break;
	case PROGRAM:
		take_off(m, c->pid, &(struct range){0, UINT64_MAX, c->time, 0});
		break;
	}
}

/* ---- the face ---- */

static int by_place(const void *a, const void *b)
{
	const struct tw_mapping *x = a, *y = b;
	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return (x->began > y->began) - (x->began < y->began);
}

static void drop_empty(struct tw_mappings *out)
{
	size_t n = 0;
	for (size_t i = 0; i < out->n; i++) {
		if (out->items[i].end > out->items[i].address)
			out->items[n++] = out->items[i];
		else
			free(out->items[i].path);
	}
	out->n = n;
}

int tw_mappings_read(const struct tw_recording *r, struct tw_mappings *out)
{
	struct reading g = {.recording = r};
	struct memory m = {.out = out};
	memset(out, 0, sizeof *out);
	m.error = read_threads(&g);
	if (g.n)
		qsort(g.changes, g.n, sizeof *g.changes, by_time);
	for (size_t i = 0; i < g.n && !m.error; i++)
		apply(&m, &g.changes[i]);
	drop_empty(out);
	if (out->n)
		qsort(out->items, out->n, sizeof *out->items, by_place);
	for (size_t i = 0; i < g.n; i++)
		free(g.changes[i].path);
	free(g.changes);
	free(m.live);
	return m.error;
}

void tw_mappings_free(struct tw_mappings *m)
{
	for (size_t i = 0; i < m->n; i++)
		free(m->items[i].path);
	free(m->items);
	memset(m, 0, sizeof *m);
}

const char *tw_mapping_kind_name(uint32_t kind)
{
	static const char *const names[] = {[TW_MAPPING_FILE] = "file",
	                                    [TW_MAPPING_ZEROS] = "zeros",
	                                    [TW_MAPPING_HEAP] = "heap",
	                                    [TW_MAPPING_STACK] = "stack",
	                                    [TW_MAPPING_THREAD_STACK] = "thread stack",
	                                    [TW_MAPPING_ANONYMOUS] = "anonymous",
	                                    [TW_MAPPING_SHARED] = "shared",
	                                    [TW_MAPPING_KERNEL] = "kernel"};
	return names[kind];
}
