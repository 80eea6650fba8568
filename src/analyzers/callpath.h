/*
 * Call paths: how a thread got to where it is, as the return addresses of its calls. They are followed for every
 * block, and numbered only when somebody wants to keep one.
 *
 * Frames are identified by the stack address of their return address. A call removes the frames at or below its own
 * address, a return those up to the address from which it took its target. So frames left by longjmp, exceptions and
 * stack switches disappear when the stack has grown over them.
 */
#ifndef TW_CALLPATH_H
#define TW_CALLPATH_H

#include <trackway/context.h>

/* Room for the text of a path. */
enum { TW_CALLPATH_TEXT = 16384 };

/* A path: the innermost call, and the path to it. Number 0 is the empty path. */
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

/* The thread executed a block, whose references start at `addr`. 0 or TW_ERR_MEMORY. */
int tw_callpath_take(struct tw_callpath *p, const struct tw_block_run *b, const uint64_t *addr, size_t n_refs);
void tw_callpath_free(struct tw_callpath *p);

/* The number of the path to the thread's position; 0 also if there is no memory. */
uint32_t tw_callpath_number(struct tw_callpath *p, struct tw_callpaths *all, uint32_t image);
/* The number of the path to a call whose return address is `back`, stored at `slot`. */
uint32_t tw_callpath_of_call(struct tw_callpath *p, struct tw_callpaths *all, uint32_t image, uint64_t slot, uint64_t back);
void tw_callpaths_free(struct tw_callpaths *all);

/*
 * "function file:line" of code; with `call`, of the call that returns to pc. Inlined functions precede those into
 * which they were inlined, as if these had called them.
 */
void tw_callpath_place(struct tw_names *names, uint32_t image, uint64_t pc, int call, char *to, size_t size);

/* The places of the calls of a path, the innermost first, " < " between; at most `most` of them. */
void tw_callpath_text(const struct tw_callpaths *all, uint32_t node, struct tw_names *names, unsigned most, char *to, size_t size);

/* The description of an access at pc: its place, and the path to it. */
void tw_callpath_access(const struct tw_callpaths *all, uint32_t node, struct tw_names *names, unsigned most, uint32_t image, uint64_t pc,
                        char *to, size_t size);

#endif
