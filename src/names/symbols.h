/*
 * The files of a recording as they are now: which of them can still be read, and their symbols and DWARF by libdwfl (separate debug files and debuginfod are used
 * where they are there). For exports, which tell of whole files, and for the names of code (names/gather.h).
 */
#ifndef TW_SYMBOLS_H
#define TW_SYMBOLS_H

#include "names/places.h"

#include <libelf.h>
#include <trackway/recording.h>

struct tw_symbols;
struct tw_functions;
struct tw_ahead;

/* The recording must outlive it. NULL: no memory. Files that are gone, or hold other code than ran, only make for fewer names. Several threads may each ask about one file. */
struct tw_symbols *tw_symbols_new(const struct tw_recording *r);
/* What has been opened ahead is not opened again; NULL: nothing has. Before anything is asked, and `ahead` must outlive it. */
void tw_symbols_use(struct tw_symbols *s, struct tw_ahead *ahead);

void tw_symbols_free(struct tw_symbols *s);

/* Where a piece of code stands on disk. */
struct tw_symbol_place {
	const char *path; /* of the file, as mapped; "" if it is in none; lives as long as the symbols */
	uint64_t vaddr;   /* the file's own address for it; `pc` if it is in none */
};

/* `pid`: a process or an image, as in names/places.h. */
void tw_symbols_place(const struct tw_symbols *s, uint32_t pid, uint64_t pc, struct tw_symbol_place *out);

/* Where all modules are; its files are those below, by number. */
const struct tw_places *tw_symbols_places(const struct tw_symbols *s);

/* The path, as mapped, of the file that is meant by a path or by its last part; NULL if none of that name was mapped. */
const char *tw_symbols_find_file(const struct tw_symbols *s, const char *name);

/* Files that were mapped, by number, in the order in which they were first: the path of one, NULL behind the last one. */
const char *tw_symbols_file(const struct tw_symbols *s, size_t n);

/* The same path from the root on. 0: it is no file, as "[vdso]" is none. */
int tw_symbols_file_path(const struct tw_symbols *s, size_t n, char whole[4096]);

/* Whether file n holds other code now than that which ran: no names are taken from it. */
int tw_symbols_file_changed(const struct tw_symbols *s, size_t n);

/* Why nothing is known of a file that was mapped: it is missing, or has changed. NULL: neither. */
const char *tw_symbols_trouble(const struct tw_symbols *s, const char *path);

/* File n itself, and its functions; NULL if it cannot be read or has changed. */
Elf *tw_symbols_elf(const struct tw_symbols *s, size_t n);
const struct tw_functions *tw_symbols_functions(struct tw_symbols *s, size_t n);

/* A file that was mapped, as elfutils sees it; NULL if it cannot be read. What libdwfl calls an address is the file's own plus *bias. */
struct Dwfl_Module *tw_symbols_dwfl(const struct tw_symbols *s, const char *path, uint64_t *bias);

#endif
