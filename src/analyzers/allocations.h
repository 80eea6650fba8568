/*
 * Where allocated blocks come from: of an address on the heap, the place in the program that called malloc or one of
 * its kind. Known for recordings with --calls; a block is remembered until its memory is allocated anew.
 */
#ifndef TW_ALLOCATIONS_H
#define TW_ALLOCATIONS_H

#include "analyzers/calling.h"
#include "analyzers/heap_blocks.h"
#include "analyzers/rows.h"

struct tw_allocations {
	const struct tw_context *context;
	struct tw_calling_kinds kinds;
	struct tw_calling *threads; /* by serial number; `room` of them */
	size_t room;
	struct tw_heap_blocks blocks; /* `site`: a row of `callers` */
	struct tw_rows callers;       /* by the address that the call returns to, and the program (tw_process_program) */
	int is_known;                 /* 0: the recording has no calls */
};

/* 0 or TW_ERR_MEMORY; tw_allocations_free in any case. */
int tw_allocations_init(struct tw_allocations *a, const struct tw_context *context);
void tw_allocations_free(struct tw_allocations *a);

/* An event of a thread of a program (tw_process_program). 0 or TW_ERR_MEMORY. */
int tw_allocations_event(struct tw_allocations *a, uint32_t thread, uint32_t program, const struct tw_event *e);

/* The block that an address of a program belongs to, or NULL. */
static inline const struct tw_heap_block *tw_allocations_at(struct tw_allocations *a, uint32_t program, uint64_t address)
{
	const uint32_t number = a->is_known ? tw_heap_blocks_at(&a->blocks, program, address) : 0;
	return number ? &a->blocks.items[number] : NULL;
}

/* "function file:line" of the calls of a row of `callers`. */
void tw_allocations_place(const struct tw_allocations *a, uint32_t caller, char *to, size_t size);

#endif
