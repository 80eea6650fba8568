/*
 * The table that Go puts into each program for its own tracebacks (.gopclntab): functions by address, with files and lines. It stays where symbols are stripped. Read are those of
 * Go 1.16 and later; the format is that of debug/gosym and runtime/symtab.go.
 */
#ifndef TW_GO_TABLE_H
#define TW_GO_TABLE_H

#include <libelf.h>
#include <stdint.h>

/* Where code comes from. Addresses are the file's own; texts live as long as the ELF file. */
struct tw_go_visitor {
	/* A function. Returns 0 to end there. NULL: not wanted. */
	int (*function)(void *context, uint64_t start, uint64_t end, const char *name);
	/* Code that was made from one line. */
	int (*line)(void *context, uint64_t start, uint64_t end, const char *file, uint32_t line);
	void *context;
};

/* Visits all that the table of a file has: nothing where there is none, or it is not as it should be. 0: a visitor ended it. */
int tw_go_visit(Elf *elf, const struct tw_go_visitor *v);

#endif
