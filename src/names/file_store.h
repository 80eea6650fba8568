/*
 * Names of files, kept from one recording to the next beside the translations (channel/keep.h): reading a C library's
 * debug information takes longer than recording a short program.
 *
 * What must hold: stored names are those of the files as they are. So an entry lists its sources with their states:
 * the file, its separate debug file, and the paths where one would have been looked for. An entry is ignored if one
 * of these has changed. A file that changed within the last seconds may change again without a trace, so nothing is
 * stored for it. Damaged entries are ignored too.
 */
#ifndef TW_FILE_STORE_H
#define TW_FILE_STORE_H

#include "names/file_names.h"

#include <stddef.h>
#include <stdint.h>

/* Where names are stored: a directory made by tw_keep_begin, and its size limit. */
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

/* Whether there is an entry for the file at an absolute path, valid or not. `store` may be NULL. */
int tw_name_store_has(const struct tw_name_store *store, const char *path);

/* The entry of the file at an absolute path, mapped: tw_name_store_release. NULL: no valid one. `store` may be NULL. */
const struct tw_file_names *tw_name_store_find(const struct tw_name_store *store, const char *path);
void tw_name_store_release(const struct tw_file_names *f);

/* Stores an entry, replacing the file's old one. sources->path[0] is the file. Silently does nothing if it cannot. */
void tw_name_store_put(const struct tw_name_store *store, const struct tw_file_names *f, const struct tw_name_sources *sources);

#endif
