/*
 * The table that Go puts into each program for its own tracebacks (.gopclntab): functions by address, with files and
 * lines. strip leaves it in place. Supported: Go 1.16 and later; the format is that of debug/gosym and
 * runtime/symtab.go.
 */
#ifndef TW_GO_TABLE_H
#define TW_GO_TABLE_H

#include <libelf.h>
#include <stdint.h>

/* Receives what the table says. Addresses are the file's own; texts live as long as the ELF file. */
struct tw_go_visitor {
	/* A function. Returns 0 to end there. NULL: not wanted. */
	int (*function)(void *context, uint64_t start, uint64_t end, const char *name);
	/* Code that was made from one line. */
	int (*line)(void *context, uint64_t start, uint64_t end, const char *file, uint32_t line);
	void *context;
};

/* Visits the whole table of a file; nothing if there is none, or an invalid one. 0: a visitor stopped it. */
int tw_go_visit(Elf *elf, const struct tw_go_visitor *v);

#endif
