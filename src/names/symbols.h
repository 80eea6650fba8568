/*
 * The files of a recording as they are now: which can still be read, and their symbols and DWARF by libdwfl (with
 * separate debug files and debuginfod, if available). For exports, which describe whole files, and for names of code
 * (names/gather.h).
 */
#ifndef TW_SYMBOLS_H
#define TW_SYMBOLS_H

#include "names/places.h"

#include <libelf.h>
#include <trackway/recording.h>

struct tw_symbols;
struct tw_functions;
struct tw_ahead;

/*
 * The recording must outlive it. NULL: no memory. Files that are gone or have changed only reduce the number of
 * names. Several threads may each ask about one file.
 */
struct tw_symbols *tw_symbols_new(const struct tw_recording *r);
/* Uses files opened ahead; NULL: there are none. Call before any question; `ahead` must outlive it. */
void tw_symbols_use(struct tw_symbols *s, struct tw_ahead *ahead);

void tw_symbols_free(struct tw_symbols *s);

/* Where a piece of code stands on disk. */
struct tw_symbol_place {
	const char *path; /* of the file, as mapped; "" if it is in none; lives as long as the symbols */
	uint64_t vaddr;   /* the file's own address for it; `pc` if it is in none */
};

/* `pid`: a process or an image, as in names/places.h. */
void tw_symbols_place(const struct tw_symbols *s, uint32_t pid, uint64_t pc, struct tw_symbol_place *out);

/* Where all modules are; its files have the numbers used below. */
const struct tw_places *tw_symbols_places(const struct tw_symbols *s);

/* The path, as mapped, of the file with this path or last component; NULL: none was mapped. */
const char *tw_symbols_find_file(const struct tw_symbols *s, const char *name);

/* The mapped files, by number, in the order of their first mapping: the path of one, NULL after the last. */
const char *tw_symbols_file(const struct tw_symbols *s, size_t n);

/* The same as an absolute path. 0: not a file, as "[vdso]". */
int tw_symbols_file_path(const struct tw_symbols *s, size_t n, char whole[4096]);

/* Whether file n now holds other code than what ran: no names are taken from it. */
int tw_symbols_file_changed(const struct tw_symbols *s, size_t n);

/* Why nothing is known of a mapped file: it is missing, or has changed. NULL: neither. */
const char *tw_symbols_trouble(const struct tw_symbols *s, const char *path);

/* File n itself, and its functions; NULL if it cannot be read or has changed. */
Elf *tw_symbols_elf(const struct tw_symbols *s, size_t n);
const struct tw_functions *tw_symbols_functions(struct tw_symbols *s, size_t n);

/* A mapped file as elfutils sees it; NULL if it cannot be read. libdwfl's addresses are the file's own plus *bias. */
struct Dwfl_Module *tw_symbols_dwfl(const struct tw_symbols *s, const char *path, uint64_t *bias);

#endif
