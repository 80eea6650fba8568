/*
 * The inline tree of one ELF file (DWARF): its functions, and the functions inlined into them, as LLVM's sample profiles name places in them.
 */
#ifndef TW_INLINE_TREE_H
#define TW_INLINE_TREE_H

#include "names/symbols.h"

#define TW_NO_NODE UINT32_MAX

/* A function, or the copies of one that were inlined at one place of another. */
struct tw_inline_node {
	const char *name; /* as the linker knows it; lives as long as the symbols */
	uint32_t parent;  /* TW_NO_NODE: not inlined */
	uint32_t line;    /* of its declaration */
	uint32_t call;    /* inlined: the line of the call, counted from the parent's declaration, 16 bits */
	uint32_t call_discriminator;
	uint64_t entry;  /* not inlined: the file's own address */
	uint8_t encoded; /* 1: LLVM's way of packing discriminators */
};

/* Code that belongs to a node. Of several that overlap, the last one counts: it is the innermost. */
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

/* Fills *out, which the caller gives to tw_inline_tree_free; it is empty if there is no debug information. 0 or TW_ERR_MEMORY. */
int tw_inline_tree(const struct tw_symbols *symbols, const char *path, struct tw_inline_tree *out);
void tw_inline_tree_free(struct tw_inline_tree *t);

/* LLVM packs three numbers into a discriminator: the one that tells code of one line apart, and how many copies of the code an optimization made. */
uint32_t tw_base_discriminator(uint32_t discriminator);
uint32_t tw_duplication_factor(uint32_t discriminator);

#endif
