/*
 * The profile of one ELF file, in the file's own addresses, summed over all processes that mapped it.
 *
 * Instructions with a repeat prefix count once per execution here, however often they repeat.
 */
#ifndef TW_FILE_PROFILE_H
#define TW_FILE_PROFILE_H

#include "analyze/profile.h"
#include "names/symbols.h"

/* Outside the file. */
#define TW_OUTSIDE UINT64_MAX

struct tw_file_insn {
	uint64_t vaddr, executions;
	uint8_t length;
	uint8_t end; /* enum tw_end, or TW_END_UNKNOWN */
};

/*
 * Control went `count` times from the instruction at `from` to the one at `to`; either may be TW_OUTSIDE. A return
 * belongs to its call: an edge leads from the call to its return address (`fall`), besides the one to the callee. A
 * signal handler is entered from outside. Interrupted code just continues; a branch right before the interruption
 * leads to where the handler returned.
 */
struct tw_file_edge {
	uint64_t from, to, count;
	uint8_t end;   /* of the instruction at `from`, as above */
	uint8_t fall;  /* 1: `to` stands right behind it */
	uint8_t joins; /* 1: branches lead to `to` as well */
};

struct tw_file_profile {
	struct tw_file_insn *insns; /* sorted by vaddr */
	/*
	 * Sorted by `from`, then `to`: targets of branches and calls, how often calls returned, fall-through of conditional
	 * branches that were never taken, and how often control fell into a branch target.
	 */
	struct tw_file_edge *edges;
	size_t n_insns, n_edges;
};

/* Fills *out; tw_file_profile_free. `path` as in struct tw_symbol_place. 0 or TW_ERR_MEMORY. */
int tw_file_profile(const struct tw_profile *p, const struct tw_symbols *symbols, const char *path, struct tw_file_profile *out);
void tw_file_profile_free(struct tw_file_profile *p);

/* The instruction at vaddr, or NULL. */
const struct tw_file_insn *tw_file_profile_find(const struct tw_file_profile *p, uint64_t vaddr);

#endif
