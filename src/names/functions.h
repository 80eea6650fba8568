/*
 * The functions of one ELF file, found by address: its symbols (including those of a separate debug file), and its
 * PLT stubs, which have no symbols but can be named after the relocation of the slot they jump through.
 */
#ifndef TW_FUNCTIONS_H
#define TW_FUNCTIONS_H

#include <elfutils/libdwfl.h>

/* Stubs of a PLT: one that leads to a function by name, or the common one, which enters the resolver of lazy binding. */
enum tw_plt { TW_PLT_ENTRY = 1, TW_PLT_COMMON };

struct tw_function {
	uint64_t start, bytes; /* the file's own addresses */
	int open;              /* 1: end unknown; `bytes` reach to the section's end, but the function ends where the next begins */
	const char *name;      /* lives as long as the module */
	int rank;              /* the higher, the better this name among several for one place */
	int plt;               /* enum tw_plt; 0: no stub */
};

struct tw_functions;

/* All functions of a module. NULL: no memory, or not ELF. */
struct tw_functions *tw_functions_new(Dwfl_Module *module);

/* Adds functions without a symbol but with unwind information (frames.h); their name is "". 0: no memory. */
int tw_functions_add_nameless(struct tw_functions *f, Elf *elf);

void tw_functions_free(struct tw_functions *f);

/* The function at the file's address `vaddr`, or NULL. */
const struct tw_function *tw_functions_find(const struct tw_functions *f, uint64_t vaddr);

/*
 * All functions in search order: an address belongs to the last function that begins at or before it; if several
 * begin at the same place, to the last of these. NULL after the last one.
 */
const struct tw_function *tw_functions_at(const struct tw_functions *f, size_t i);

/* Where a function ends; `function` is one of theirs. */
uint64_t tw_functions_end(const struct tw_functions *f, const struct tw_function *function);

#endif
