/*
 * Call paths: how a thread came to where it is, as the places its calls return to. They are followed for every block, and numbered only where somebody wants to keep one.
 *
 * Frames are known by the place on the stack where their return address stands. A call takes off the frames at or below its own place, a return those up to the place it took its
 * address from: so what longjmp, exceptions and switches of stacks left goes when the stack has grown back over it.
 */
#ifndef TW_CALLPATH_H
#define TW_CALLPATH_H

#include <trackway/context.h>

/* Room for the text of a path. */
enum { TW_CALLPATH_TEXT = 16384 };

/* A path: the innermost call, and the path to it. Number 0 is the empty one. */
struct tw_callpath_node {
	uint64_t back; /* the address that the call returns to */
	uint32_t parent, image;
};

/* All paths that were numbered, of all threads. All zeros: none. */
struct tw_callpaths {
	struct tw_callpath_node *nodes;
	size_t n, room;
	uint32_t *slots; /* open hash */
	size_t n_slots;
};

struct tw_callpath_frame {
	uint64_t slot, back;
	uint32_t node; /* of the path up to here; 0: it has no number yet */
};

/* The frames of a thread. */
struct tw_callpath {
	struct tw_callpath_frame *frames;
	size_t n, room;
};

/* The thread executed a block, whose references begin at `addr`. 0 or TW_ERR_MEMORY. */
int tw_callpath_take(struct tw_callpath *p, const struct tw_block_run *b, const uint64_t *addr, size_t n_refs);
void tw_callpath_free(struct tw_callpath *p);

/* The number of the path to where the thread is; 0 also where there is no memory. */
uint32_t tw_callpath_number(struct tw_callpath *p, struct tw_callpaths *all, uint32_t image);
/* The number of the path to a call, whose return address is `back` and stands at `slot`. */
uint32_t tw_callpath_of_call(struct tw_callpath *p, struct tw_callpaths *all, uint32_t image, uint64_t slot, uint64_t back);
void tw_callpaths_free(struct tw_callpaths *all);

/* "function file:line" of code; with `call`, of the call that returns to pc. What was inlined comes before what it was inlined into, as if that had called it. */
void tw_callpath_place(struct tw_names *names, uint32_t image, uint64_t pc, int call, char *to, size_t size);

/* The places of the calls of a path, the innermost first, " < " between; at most `most` of them. */
void tw_callpath_text(const struct tw_callpaths *all, uint32_t node, struct tw_names *names, unsigned most, char *to, size_t size);

/* What an access at pc is told by: its place, and the path to it. */
void tw_callpath_access(const struct tw_callpaths *all, uint32_t node, struct tw_names *names, unsigned most, uint32_t image, uint64_t pc,
                        char *to, size_t size);

#endif
