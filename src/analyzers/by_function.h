/*
 * Counts by function: shared by analyzers that report the functions that do most.
 */
#ifndef TW_BY_FUNCTION_H
#define TW_BY_FUNCTION_H

#include <trackway/context.h>

struct tw_function_counts {
	uint64_t calls; /* executions of the block; of a function: of its first one */
	uint64_t insns, reads, writes;
};

struct tw_by_function_item;

/* All zeros but for the context. */
struct tw_by_function {
	const struct tw_context *context;
	struct tw_by_function_item *items;
	size_t n, room;
};

void tw_function_counts_add(struct tw_function_counts *to, const struct tw_function_counts *more);

/* What a block did, of code at `pc` that `thread` ran. 0 or TW_ERR_MEMORY. */
int tw_by_function_add(struct tw_by_function *f, uint32_t thread, uint64_t pc, const struct tw_function_counts *counts);

/* A table "functions", those with the most instructions first. */
void tw_by_function_print(struct tw_by_function *f, struct tw_answer *a);
void tw_by_function_free(struct tw_by_function *f);

#endif
