/*
 * Distinguishes code of the C library, the loader and gcc's OpenMP library from the program's: their internal
 * accesses are their own, and correct. Functions that work on memory passed to them (mem..., str..., wcs...) count as
 * their caller's code if that is the OpenMP library, and otherwise as the program's: sprintf may write where another
 * thread reads. But what they write for a function that fills the buffer of a stream belongs to the stream, which the
 * C library locks internally.
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

enum tw_code_owner {
	TW_CODE_PROGRAM,
	TW_CODE_LIBRARY,
	TW_CODE_STREAM, /* the library's, which fills the buffer of a stream */
	TW_CODE_OPENMP,
	TW_CODE_GIVEN, /* works on memory that it is given */
	TW_CODE_COPY,  /* likewise, and reads nothing beside it, as strlen may */
	TW_CODE_SCAN,  /* likewise, and checks what it has read before it reads on, unless its code continues without a jump */
};

/* Is it the C library's own? */
static inline int tw_code_is_library(enum tw_code_owner owner)
{
	return owner == TW_CODE_LIBRARY || owner == TW_CODE_STREAM;
}

/* Does it work on memory that it is given? */
static inline int tw_code_is_given(enum tw_code_owner owner)
{
	return owner == TW_CODE_GIVEN || owner == TW_CODE_COPY || owner == TW_CODE_SCAN;
}

/* As tw_runtime_code_of, of a block that has not been asked for. */
enum tw_code_owner tw_runtime_code_look(struct tw_runtime_code *r, const struct tw_block_run *b, uint32_t thread);

/* Whose code the block is. `thread` ran it. If there is no memory: the program's. */
static inline enum tw_code_owner tw_runtime_code_of(struct tw_runtime_code *r, const struct tw_block_run *b, uint32_t thread)
{
	const uint8_t *of = tw_by_fragment_get(&r->fragments, b->descriptor->number); /* 1 more; 0: not looked up yet */
	return of && of[b->block] ? (enum tw_code_owner)(of[b->block] - 1) : tw_runtime_code_look(r, b, thread);
}

/* The same of the code at an address. */
enum tw_code_owner tw_runtime_code_at(struct tw_runtime_code *r, uint64_t pc, uint32_t thread);
void tw_runtime_code_free(struct tw_runtime_code *r);

/*
 * Does a function of this name belong to Go's runtime or its package sync, which share memory between threads by
 * rules of their own (they read what others write, and check again)? Runtime functions that work on memory passed to
 * them, or on a map, do so for the program.
 */
int tw_is_go_runtime(const char *function);

/*
 * ... or is it a function in Go's assembly that compares, searches or hashes bytes, and also reads neighbouring
 * bytes, which it ignores? `file`: of its source; NULL: not known.
 */
int tw_is_go_assembly(const char *function, const char *file);

#endif
