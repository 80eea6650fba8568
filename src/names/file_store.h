/*
 * Names of files that are kept from one recording to the next, beside the translations (channel/keep.h): reading the debug information of a C library takes longer than recording a short program.
 *
 * What must hold: what is kept is of the files as they are. So each of them has in it what it was made from - the file, its separate debug file, and where one would have been looked
 * for if there was none - and in which state each was; it is passed over where one of them is not as it was. A file that changed in the last seconds may change again without a trace: of
 * such a file nothing is kept. What is damaged is passed over, too.
 */
#ifndef TW_FILE_STORE_H
#define TW_FILE_STORE_H

#include "names/file_names.h"

#include <stddef.h>
#include <stdint.h>

/* Where names are kept: a directory that tw_keep_begin has made; and how much may be in it in all. */
struct tw_name_store {
	const char *path;
	uint64_t limit;
};

enum { TW_NAME_SOURCES = 5, TW_NAME_SOURCE_PATH = 512 };

/* The files that names were made from, or would have been, by absolute path. */
struct tw_name_sources {
	unsigned n;
	char path[TW_NAME_SOURCES][TW_NAME_SOURCE_PATH];
};

/* Puts one more to them. 0: it has no place. */
int tw_name_sources_add(struct tw_name_sources *s, const char *path);

/* Whether anything is kept of the file at an absolute path, of use or not. `store` may be NULL. */
int tw_name_store_has(const struct tw_name_store *store, const char *path);

/* What is kept of the file at an absolute path, mapped: tw_name_store_release. NULL: nothing that is of use. `store` may be NULL. */
const struct tw_file_names *tw_name_store_find(const struct tw_name_store *store, const char *path);
void tw_name_store_release(const struct tw_file_names *f);

/* Keeps it, in place of what was kept of this file. sources->path[0] is the file. What cannot be kept is not. */
void tw_name_store_put(const struct tw_name_store *store, const struct tw_file_names *f, const struct tw_name_sources *sources);

#endif
