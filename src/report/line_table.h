/*
 * The line table of one ELF file: which source line each piece of its code was made from, and where its functions are (DWARF).
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
	uint8_t shared; /* 1: the table has another line for the same address, without code of its own */
};

struct tw_line_function {
	uint64_t entry;   /* the file's own address */
	uint64_t end;     /* of the code around its entry */
	const char *name; /* as the linker knows it, if that is told; lives as long as the symbols */
	uint32_t source, line;
};

struct tw_line_table {
	struct tw_line_row *rows; /* sorted by start, without overlap */
	size_t n_rows;
	struct tw_line_function *functions;
	size_t n_functions;
};

/*
 * Fills *out, which the caller gives to tw_line_table_free, for the file at `path` as mapped; it is empty if there is no debug information. Sources are
 * numbered in *sources. 0 or TW_ERR_MEMORY.
 */
int tw_line_table(const struct tw_symbols *symbols, const char *path, struct tw_texts *sources, struct tw_line_table *out);
void tw_line_table_free(struct tw_line_table *t);

/* Moves what a function does on entry from the line of its opening brace to that of its declaration, as gcov has it. */
void tw_line_table_move_openings(struct tw_line_table *t);

/* The row that an address is in, or NULL. */
const struct tw_line_row *tw_line_table_find(const struct tw_line_table *t, uint64_t vaddr);

#endif
