/*
 * The line table of one ELF file (DWARF): the source line of each piece of code, and the functions' places.
 */
#ifndef TW_LINE_TABLE_H
#define TW_LINE_TABLE_H

#include "names/texts.h"
#include "names/symbols.h"

/* Code from `start` up to `end`, in the file's own addresses. */
struct tw_line_row {
	uint64_t start, end;
	uint32_t source; /* number of the source file */
	uint32_t line;   /* 0: made from none */
	uint32_t discriminator;
	uint8_t shared; /* 1: the table has another line for the same address, which has no code of its own */
};

struct tw_line_function {
	uint64_t entry;   /* the file's own address */
	uint64_t end;     /* of the code around its entry */
	const char *name; /* linker name, if the debug information has it; lives as long as the symbols */
	uint32_t source, line;
};

struct tw_line_table {
	struct tw_line_row *rows; /* sorted by start, without overlap */
	size_t n_rows;
	struct tw_line_function *functions;
	size_t n_functions;
};

/*
 * Fills *out for the file at `path` as mapped; empty without debug information; tw_line_table_free. Sources are
 * numbered in *sources. 0 or TW_ERR_MEMORY.
 */
int tw_line_table(const struct tw_symbols *symbols, const char *path, struct tw_texts *sources, struct tw_line_table *out);
void tw_line_table_free(struct tw_line_table *t);

/* Moves a function's entry code from the line of its opening brace to that of its declaration, as gcov does. */
void tw_line_table_move_openings(struct tw_line_table *t);

/* The row that an address is in, or NULL. */
const struct tw_line_row *tw_line_table_find(const struct tw_line_table *t, uint64_t vaddr);

#endif
