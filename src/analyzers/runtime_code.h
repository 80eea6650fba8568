/*
 * Code of the C library, the loader and gcc's OpenMP library, as against the program's: what they do within is theirs, and is right. Functions that work on memory which
 * they are given (mem..., str..., wcs...) are their caller's where that is the OpenMP library, and else count as the program's.
 */
#ifndef TW_RUNTIME_CODE_H
#define TW_RUNTIME_CODE_H

#include "analyze/by_fragment.h"
#include <trackway/context.h>

/* All zeros but for the context. */
struct tw_runtime_code {
	const struct tw_context *context;
	struct tw_by_fragment fragments;
	struct {
		uint64_t pc;
		uint8_t owner; /* and 1; 0: free */
	} recent[256];         /* places that were asked for */
};

enum tw_code_owner { TW_CODE_PROGRAM, TW_CODE_LIBRARY, TW_CODE_OPENMP, TW_CODE_GIVEN /* works on memory that it is given */ };

/* Whose code the block is. `thread` ran it. Where there is no memory: the program's. */
enum tw_code_owner tw_runtime_code_of(struct tw_runtime_code *r, const struct tw_block_run *b, uint32_t thread);

/* The same of the code at an address. */
enum tw_code_owner tw_runtime_code_at(struct tw_runtime_code *r, uint64_t pc, uint32_t thread);
void tw_runtime_code_free(struct tw_runtime_code *r);

#endif
