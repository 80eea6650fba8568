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

/* The recording must outlive it. NULL: no memory. Files that are gone, or hold other code than ran, only make for fewer names. */
struct tw_symbols *tw_symbols_new(const struct tw_recording *r);
void tw_symbols_free(struct tw_symbols *s);

struct tw_symbol {
	char name[200];     /* of the function */
	const char *module; /* file name without directories, "[vdso]", "[anon]"; lives as long as the symbols */
	uint64_t start;     /* address where the function begins, as mapped; the address asked for if that is not known */
	uint64_t offset;    /* from there */
	int known;          /* 1: by a symbol, 0: by its address */
	int plt;            /* enum tw_plt of functions.h; 0: no stub */
};

/*
 * Code is told apart by process, or by image (see analyze/profile.h), which does not mix up what a process ran before and after execve: where
 * `pid` is wanted below, TW_SYMBOLS_IMAGE(image) may stand too.
 */
#define TW_SYMBOLS_IMAGE(image) (0x80000000u | (image))

/* The function that code at `pc` of process `pid` is part of. Always gives a name. */
void tw_symbols_function(struct tw_symbols *s, uint32_t pid, uint64_t pc, struct tw_symbol *out);

/* Where a piece of code stands on disk. */
struct tw_symbol_place {
	const char *path; /* of the file, as mapped; "" if it is in none; lives as long as the symbols */
	uint64_t vaddr;   /* the file's own address for it; `pc` if it is in none */
};

void tw_symbols_place(const struct tw_symbols *s, uint32_t pid, uint64_t pc, struct tw_symbol_place *out);

/* The path, as mapped, of the file that is meant by a path or by its last part; NULL if none of that name was mapped. */
const char *tw_symbols_find_file(const struct tw_symbols *s, const char *name);

/* Files that were mapped, by number, in the order in which they were first: the path of one, NULL behind the last one. */
const char *tw_symbols_file(const struct tw_symbols *s, size_t n);

/* Whether file n holds other code now than that which ran: no names are taken from it. */
int tw_symbols_file_changed(const struct tw_symbols *s, size_t n);

/* A file that was mapped, as elfutils sees it; NULL if it cannot be read. What libdwfl calls an address is the file's own plus *bias. */
struct Dwfl_Module *tw_symbols_dwfl(const struct tw_symbols *s, const char *path, uint64_t *bias);

/* Source file (with directories, absolute if the compiler said where it ran) and line; 0 if they are not known. */
int tw_symbols_source(struct tw_symbols *s, uint32_t pid, uint64_t pc, char *file, size_t size);

/* The name of the source file that libdwfl knows a line by, as above. 0 if it has none or does not fit. */
struct Dwfl_Line;
int tw_symbols_line_file(struct Dwfl_Line *line, char *file, size_t size);

/* Source file (without directories) and line; 0 if they are not known. */
int tw_symbols_line(struct tw_symbols *s, uint32_t pid, uint64_t pc, char *file, size_t size);

#endif
