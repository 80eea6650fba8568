/*
 * Names for addresses: the function, file and line of a piece of code that was recorded, by the recording's list of mapped files and what their
 * ELF symbols and DWARF say (elfutils; separate debug files are found where they usually are).
 *
 * Code without a symbol goes by its module and address, "gzip+0x3f40"; there the functions are told apart by the targets of calls.
 */
#ifndef TW_SYMBOLS_H
#define TW_SYMBOLS_H

#include <trackway/recording.h>

struct tw_symbols;

/* The recording must outlive it. NULL: no memory. Files that are gone or have changed only make for fewer names. */
struct tw_symbols *tw_symbols_new(const struct tw_recording *r);
void tw_symbols_free(struct tw_symbols *s);

struct tw_symbol {
	char name[200];     /* of the function */
	const char *module; /* file name without directories, "[vdso]", "[anon]"; lives as long as the symbols */
	uint64_t start;     /* address where the function begins, as mapped; the address asked for if that is not known */
	uint64_t offset;    /* from there */
};

/* The function that code at `pc` of process `pid` is part of. Always gives a name. */
void tw_symbols_function(struct tw_symbols *s, uint32_t pid, uint64_t pc, struct tw_symbol *out);

/* Source file (without directories) and line; 0 if they are not known. */
int tw_symbols_line(struct tw_symbols *s, uint32_t pid, uint64_t pc, char *file, size_t size);

#endif
