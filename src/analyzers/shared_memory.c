#include "analyzers/shared_memory.h"
#include "base/array.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <trackway/recording.h>

struct tw_shared_segment {
	char *path; /* of the file; "": it has no name by which it is found again */
	int gone;   /* what is mapped under this name from here on is another file */
};

static const char deleted[] = " (deleted)";

/* ---- segments ---- */

static uint32_t add_segment(struct tw_shared_memory *m, const char *path)
{
	struct tw_shared_segment *segments = tw_array_room(m->segments, m->n_segments, &m->segments_room, sizeof *segments);
	if (!segments)
		return 0;
	m->segments = segments;
	segments[m->n_segments].path = strdup(path);
	segments[m->n_segments].gone = 0;
	return segments[m->n_segments].path ? TW_SEGMENTS_FROM + (uint32_t)m->n_segments++ : 0;
}

/* Length of the path without the suffix that the kernel adds for an unlinked file. */
static size_t length(const char *path)
{
	const size_t n = strlen(path), d = sizeof deleted - 1;
	return n > d && !strcmp(path + n - d, deleted) ? n - d : n;
}

/* The segment of a file; 0: no memory. */
static uint32_t segment_of(struct tw_shared_memory *m, const char *path)
{
	static const char *const nameless[] = {"/memfd:", "/dev/zero", "/SYSV", "[", NULL};
	const size_t n = length(path);
	int named = *path != 0;
	for (const char *const *k = nameless; *k; k++)
		named &= strncmp(path, *k, strlen(*k)) != 0;
	for (size_t i = m->n_segments; i-- > 0 && named;) {
		const struct tw_shared_segment *s = &m->segments[i];
		if (strlen(s->path) == n && !memcmp(s->path, path, n) && (!s->gone || path[n]))
			return TW_SEGMENTS_FROM + (uint32_t)i;
	}
	char *name = strndup(named ? path : "", named ? n : 0);
	const uint32_t number = name ? add_segment(m, name) : 0;
	if (number && path[n])
		m->segments[number - TW_SEGMENTS_FROM].gone = 1;
	free(name);
	return number;
}

static const char *base_of(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

/* The second of several NUL-terminated texts, within this many bytes; "": there is none. */
static const char *second_of(const char *first, size_t bytes)
{
	const size_t n = strnlen(first, bytes) + 1;
	return n < bytes && memchr(first + n, 0, bytes - n) ? first + n : "";
}

/* A file of this name is unlinked, or another takes its name. */
static void lose(struct tw_shared_memory *m, const char *path)
{
	for (size_t i = 0; i < m->n_segments; i++)
		if (*m->segments[i].path && !strcmp(base_of(m->segments[i].path), base_of(path)))
			m->segments[i].gone = 1;
}

/* ---- ranges ---- */

static int add_range(struct tw_shared_memory *m, struct tw_shared_range r)
{
	struct tw_shared_range *ranges = tw_array_room(m->ranges, m->n_ranges, &m->ranges_room, sizeof *ranges);
	if (!ranges)
		return TW_ERR_MEMORY;
	m->ranges = ranges;
	ranges[m->n_ranges++] = r;
	m->changes++;
	return 0;
}

/* Nothing of [start, end) is shared any more. */
static int remove_range(struct tw_shared_memory *m, uint32_t program, uint64_t start, uint64_t end)
{
	int error = 0;
	for (size_t i = 0; i < m->n_ranges && !error;) {
		const struct tw_shared_range r = m->ranges[i];
		if (r.program != program || r.end <= start || r.start >= end) {
			i++;
			continue;
		}
		m->ranges[i] = m->ranges[--m->n_ranges];
		m->changes++;
		if (r.start < start)
			error = add_range(m, (struct tw_shared_range){r.start, start, r.offset, program, r.segment, r.writable});
		if (!error && r.end > end)
			error =
			    add_range(m, (struct tw_shared_range){end, r.end, r.offset + (end - r.start), program, r.segment, r.writable});
	}
	return error;
}

static const struct tw_shared_range *range_at(const struct tw_shared_memory *m, uint32_t program, uint64_t addr)
{
	for (size_t i = 0; i < m->n_ranges; i++)
		if (m->ranges[i].program == program && addr - m->ranges[i].start < m->ranges[i].end - m->ranges[i].start)
			return &m->ranges[i];
	return NULL;
}

struct tw_place tw_shared_memory_find(const struct tw_shared_memory *m, uint32_t program, uint64_t addr)
{
	const struct tw_shared_range *r = range_at(m, program, addr);
	return r ? (struct tw_place){r->segment, addr - r->start + r->offset} : (struct tw_place){program, addr};
}

uint64_t tw_shared_memory_address(const struct tw_shared_memory *m, uint32_t from, uint64_t addr, uint32_t to)
{
	const struct tw_place p = tw_shared_memory_place(m, from, addr);
	if (p.program == to || from == to)
		return addr;
	for (size_t i = 0; i < m->n_ranges && p.program >= TW_SEGMENTS_FROM; i++) {
		const struct tw_shared_range *r = &m->ranges[i];
		if (r->program == to && r->segment == p.program && p.addr - r->offset < r->end - r->start)
			return r->start + (p.addr - r->offset);
	}
	return 0;
}

int tw_shared_memory_is_shared(const struct tw_shared_memory *m, uint32_t program)
{
	for (size_t i = 0; i < m->n_ranges; i++)
		for (size_t k = 0; k < m->n_ranges && m->ranges[i].program == program; k++)
			if (m->ranges[k].program != program && m->ranges[k].segment == m->ranges[i].segment &&
			    (m->ranges[k].writable || m->ranges[i].writable))
				return 1;
	return 0;
}

int tw_shared_memory_has(const struct tw_shared_memory *m, uint32_t program)
{
	for (size_t i = 0; i < m->n_ranges; i++)
		if (m->ranges[i].program == program && m->ranges[i].writable)
			return 1;
	return 0;
}

int tw_shared_memory_fork(struct tw_shared_memory *m, uint32_t parent, uint32_t child)
{
	const size_t n = m->n_ranges;
	int error = 0;
	for (size_t i = 0; i < n && !error; i++) {
		struct tw_shared_range r = m->ranges[i];
		if (r.program != parent)
			continue;
		r.program = child;
		error = add_range(m, r);
	}
	return error;
}

/* ---- events ---- */

static int map(struct tw_shared_memory *m, uint32_t program, const struct tw_map *e)
{
	const uint32_t type = e->flags & MAP_TYPE;
	if (!type)
		return 0; /* of mprotect */
	int error = remove_range(m, program, e->address, e->address + e->length);
	if (error || type == MAP_PRIVATE)
		return error;
	const uint32_t segment = segment_of(m, (const char *)(e + 1));
	const struct tw_shared_range r = {e->address, e->address + e->length, e->offset, program, segment, (e->prot & PROT_WRITE) != 0};
	return segment ? add_range(m, r) : TW_ERR_MEMORY;
}

/* What was at args[0] is at the result. */
static int move(struct tw_shared_memory *m, uint32_t program, const struct tw_syscall *call)
{
	const struct tw_shared_range *old = range_at(m, program, call->args[0]);
	if (!old)
		return remove_range(m, program, (uint64_t)call->result, (uint64_t)call->result + call->args[2]);
	struct tw_shared_range r = *old;
	r.offset += call->args[0] - r.start;
	r.start = (uint64_t)call->result;
	r.end = r.start + call->args[2];
	int error = call->args[1] ? remove_range(m, program, call->args[0], call->args[0] + call->args[1]) : 0;
	if (!error)
		error = remove_range(m, program, r.start, r.end);
	return error ? error : add_range(m, r);
}

/* What a MAP event has told of is the segment of this kind and number. */
static int identify(struct tw_shared_memory *m, uint32_t program, uint64_t addr, const char *kind, uint64_t number)
{
	char name[32];
	struct tw_shared_range *r = (struct tw_shared_range *)range_at(m, program, addr);
	snprintf(name, sizeof name, "%s:%llu", kind, (unsigned long long)number);
	const uint32_t segment = r ? segment_of(m, name) : 0;
	if (r && !segment)
		return TW_ERR_MEMORY;
	if (r)
		r->segment = segment;
	m->changes++;
	return 0;
}

int tw_shared_memory_is_memfd(struct tw_shared_memory *m, uint32_t program, const struct tw_syscall *call, uint32_t number)
{
	const int shared = (call->args[3] & MAP_TYPE) != MAP_PRIVATE && !(call->args[3] & MAP_ANONYMOUS);
	return shared && call->result > 0 ? identify(m, program, (uint64_t)call->result, "memfd", number) : 0;
}

static int detach(struct tw_shared_memory *m, uint32_t program, uint64_t addr)
{
	const struct tw_shared_range *r = range_at(m, program, addr);
	return r ? remove_range(m, program, r->start, r->end) : 0;
}

static int take_syscall(struct tw_shared_memory *m, uint32_t program, const struct tw_syscall *call, uint32_t bytes)
{
	enum { LARGEST_ERROR = 4095 };
	const char *path = bytes > sizeof *call ? (const char *)(call + 1) : NULL;
	if (call->result < 0 && call->result >= -LARGEST_ERROR)
		return 0;
	switch (call->number) {
	case SYS_mremap:
		return move(m, program, call);
	case SYS_shmat:
		return identify(m, program, (uint64_t)call->result, "shm", call->args[0]);
	case SYS_shmdt:
		return detach(m, program, call->args[0]);
	case SYS_rename:
	case SYS_renameat:
	case SYS_renameat2:
		if (path)
			lose(m, second_of(path, bytes - sizeof *call));
		/* fall through */
	case SYS_unlink:
	case SYS_unlinkat:
		if (path)
			lose(m, path);
		return 0;
	default:
		return 0;
	}
}

int tw_shared_memory_event(struct tw_shared_memory *m, uint32_t program, const struct tw_event *e)
{
	const struct tw_unmap *unmap = e->payload;
	switch (e->type) {
	case TW_EVENT_MAP:
		return map(m, program, e->payload);
	case TW_EVENT_UNMAP:
		return remove_range(m, program, unmap->address, unmap->address + unmap->length);
	case TW_EVENT_SYSCALL:
		return take_syscall(m, program, e->payload, e->bytes);
	default:
		return 0;
	}
}

void tw_shared_memory_free(struct tw_shared_memory *m)
{
	for (size_t i = 0; i < m->n_segments; i++)
		free(m->segments[i].path);
	free(m->segments);
	free(m->ranges);
	*m = (struct tw_shared_memory){0};
}
