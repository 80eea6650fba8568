/*
 * Memory that processes share: a MAP_SHARED mapping is a segment, which may be at several addresses, of several
 * programs or of one. A file is one segment as long as it is not unlinked; anonymous memory is one with what forked
 * processes inherit of it; shmat memory is one by its identifier; a memfd is one by the descriptor that created it.
 * If the creation was not seen, as for a descriptor received through a socket, each mapping counts as another
 * segment, since it is not recorded which of several with one name it is.
 *
 * The input is MAP and UNMAP events, and the system calls after them.
 */
#ifndef TW_SHARED_MEMORY_H
#define TW_SHARED_MEMORY_H

#include <stddef.h>
#include <stdint.h>
#include <trackway/analyzer.h>
#include <trackway/event.h>

/* The place of an address: in a program, or within a segment, which has a number of its own among programs. */
struct tw_place {
	uint32_t program;
	uint64_t addr;
};

enum { TW_SEGMENTS_FROM = 1u << 23 }; /* above all serial numbers of threads, within the range of tw_page_key */

struct tw_shared_range {
	uint64_t start, end, offset;
	uint32_t program, segment;
	int writable;
};

struct tw_shared_segment;

/* All zeros: nothing is shared. */
struct tw_shared_memory {
	struct tw_shared_range *ranges;
	size_t n_ranges, ranges_room;
	struct tw_shared_segment *segments;
	size_t n_segments, segments_room;
	uint64_t changes; /* so many were made of ranges */
};

/* A thread of the program has this event. 0 or TW_ERR_MEMORY. */
int tw_shared_memory_event(struct tw_shared_memory *m, uint32_t program, const struct tw_event *e);

/* The mmap(2) of a program, already reported by a MAP event, was of the memfd with this number. 0 or TW_ERR_MEMORY. */
int tw_shared_memory_is_memfd(struct tw_shared_memory *m, uint32_t program, const struct tw_syscall *call, uint32_t number);

/* The program of a new process inherits its parent's present segments. 0 or TW_ERR_MEMORY. */
int tw_shared_memory_fork(struct tw_shared_memory *m, uint32_t parent, uint32_t child);

/* Does the program have memory that others may share, and may it write there? */
int tw_shared_memory_has(const struct tw_shared_memory *m, uint32_t program);

/* Does the program share a segment with others that one of them may write? */
int tw_shared_memory_is_shared(const struct tw_shared_memory *m, uint32_t program);

struct tw_place tw_shared_memory_find(const struct tw_shared_memory *m, uint32_t program, uint64_t addr);

static inline struct tw_place tw_shared_memory_place(const struct tw_shared_memory *m, uint32_t program, uint64_t addr)
{
	return m->n_ranges ? tw_shared_memory_find(m, program, addr) : (struct tw_place){program, addr};
}

/* Address in a program of what another has at `addr`; 0: nowhere. */
uint64_t tw_shared_memory_address(const struct tw_shared_memory *m, uint32_t from, uint64_t addr, uint32_t to);

void tw_shared_memory_free(struct tw_shared_memory *m);

#endif
