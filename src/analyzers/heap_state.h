/*
 * heap: the state shared by its parts. heap.c follows blocks from call to call and prints; heap_access.c checks
 * accesses.
 */
#ifndef TW_HEAP_STATE_H
#define TW_HEAP_STATE_H

#include "analyzers/calling.h"
#include "analyzers/callpath.h"
#include "analyzers/heap_blocks.h"
#include "analyzers/runtime_code.h"

enum { TW_HEAP_POINTS = 1000, TW_HEAP_MOST_ERRORS = 10000, TW_HEAP_DECADES = 20, TW_HEAP_TOUCHED = 4 };

/* Blocks that were allocated by one path. */
struct tw_heap_site {
	uint32_t path;
	uint64_t blocks, bytes, freed, life; /* life: sum, of those that were freed */
	uint64_t live, live_blocks;
	uint64_t at_peak, peak_blocks, peak; /* at the time of the maximum total; `peak`: the number of that peak */
	uint64_t unread, unread_blocks;      /* bytes; blocks of which not one was read */
};

enum tw_heap_error_kind { TW_HEAP_AFTER_FREE, TW_HEAP_BESIDE_BLOCK, TW_HEAP_TWICE_FREED, TW_HEAP_WRONG_FREE };

struct tw_heap_error {
	uint64_t pc, addr, serial; /* of the block */
	uint64_t bytes, offset;    /* of the block; of the access in it */
	uint32_t thread, image, path, site, free_path, block;
	uint32_t size;
	uint8_t kind, type;
	uint8_t is_given;     /* by a function of the C library, at one place or another in it */
	const char *function; /* the call that did it: a buffer of the kernel's, a free; NULL: an access at pc */
	uint64_t times;
};

struct tw_heap_thread {
	int known;
	int is_whole; /* the program started with it: all its allocations were seen */
	uint32_t program, image;
	struct tw_calling calling;
	struct tw_callpath path;
	struct tw_heap_error *suspects;
	size_t n_suspects, suspects_room;
	enum tw_code_owner owner;        /* of the code that accesses */
	const struct tw_open_call *call; /* that the kernel accesses for; NULL: it does not */
	struct {
		uint64_t start, end;
		uint64_t reached;   /* from the block on all was read up to there */
		uint64_t looked;    /* likewise by code that has gone on: it has not found there what it looks for */
	} touched[TW_HEAP_TOUCHED]; /* live blocks that a C library function has read last, for the open call */
	unsigned n_touched;         /* all that it has read */
};

struct tw_heap_point {
	uint64_t most, live;
	int seen;
};

struct tw_heap_state {
	const struct tw_context *context;
	const struct tw_recording *recording;
	struct tw_calling_kinds kinds;
	struct tw_runtime_code runtime;
	struct tw_callpaths paths;
	struct tw_heap_blocks blocks;
	struct tw_heap_thread *threads;
	size_t n_threads;
	struct tw_heap_site *sites;
	size_t n_sites, sites_room;
	uint32_t *site_of; /* by path, + 1 */
	size_t site_of_room;
	struct tw_heap_error *errors;
	size_t n_errors, errors_room;
	uint64_t left_out; /* accesses that look wrong, beyond TW_HEAP_MOST_ERRORS */
	uint64_t allocations, frees, bytes, live, live_blocks, peak, peak_time, peaks;
	struct tw_heap_point points[TW_HEAP_POINTS];
	struct {
		uint64_t blocks, bytes;
	} lives[TW_HEAP_DECADES]; /* by the decimal digits of their nanoseconds */
};

/* An error of this kind, of a block, by the thread where it is. */
struct tw_heap_error tw_heap_error_of(struct tw_heap_state *s, struct tw_heap_thread *t, uint32_t thread, uint32_t number,
                                      enum tw_heap_error_kind kind);

/* It is one. 0 or TW_ERR_MEMORY, as all that follows. */
int tw_heap_tell(struct tw_heap_state *s, const struct tw_heap_error *e);

/* The references of a block of code, on whose behalf `owner` says; nothing is checked within an allocator. */
int tw_heap_access(struct tw_heap_state *s, struct tw_heap_thread *t, uint32_t thread, enum tw_code_owner owner, const struct tw_ref *refs,
                   size_t n);

/* What the kernel reads and fills for a call. */
int tw_heap_take_buffers(struct tw_heap_state *s, struct tw_heap_thread *t, uint32_t thread, const struct tw_calling_step *step);

/* The thread has reached its next event with a time: reports what looked wrong and still does. */
int tw_heap_look_again(struct tw_heap_state *s, struct tw_heap_thread *t);

#endif
