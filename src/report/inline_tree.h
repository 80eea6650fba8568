/*
 * The inline tree of one ELF file (DWARF): its functions with those inlined into them, in the way in which LLVM's
 * sample profiles name places.
 */
#ifndef TW_INLINE_TREE_H
#define TW_INLINE_TREE_H

#include "names/symbols.h"

#define TW_NO_NODE UINT32_MAX

/* A function, or the copies of one inlined at one place of another. */
struct tw_inline_node {
	const char *name; /* linker name; lives as long as the symbols */
	uint32_t parent;  /* TW_NO_NODE: not inlined */
	uint32_t line;    /* of its declaration */
	uint32_t call;    /* inlined: the line of the call, relative to the parent's declaration, 16 bits */
	uint32_t call_discriminator;
	uint64_t entry;  /* not inlined: the file's own address */
	uint8_t encoded; /* 1: LLVM's way of packing discriminators */
};

/* Code that belongs to a node. If several overlap, the last counts: it is the innermost. */
struct tw_inline_range {
	uint64_t start, end; /* the file's own addresses */
	uint32_t node;
};

struct tw_inline_tree {
	struct tw_inline_node *nodes; /* parents come first */
	struct tw_inline_range *ranges;
	uint32_t n_nodes;
	size_t n_ranges;
	/* private */
	size_t nodes_room, ranges_room;
};

/* Fills *out, which is empty without debug information; tw_inline_tree_free. 0 or TW_ERR_MEMORY. */
int tw_inline_tree(const struct tw_symbols *symbols, const char *path, struct tw_inline_tree *out);
void tw_inline_tree_free(struct tw_inline_tree *t);

/*
 * LLVM packs three numbers into a discriminator. This is the one that distinguishes code of one line; the others tell
 * how many copies an optimization made.
 */
uint32_t tw_base_discriminator(uint32_t discriminator);
uint32_t tw_duplication_factor(uint32_t discriminator);

#endif
