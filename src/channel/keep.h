/*
 * Snapshots (engine/code/snapshot.h) and names, kept from one recording to the next: a directory with a file for each
 * program, which is the snapshot as it was in the store (base/store.h). The file's name is its number
 * (tw_store_file_number) in hex. The engine reads these files; the collector writes them.
 *
 * What must hold:
 *  - Whoever can write to a file can have code executed. So directory and files belong to the user, and nobody else
 *    may write there; the engine checks each file again.
 *  - A file with its final name is complete and never changes, since processes have it mapped: it is first written
 *    under another name.
 *  - Later writes to it are detected, whatever its times are set to: a seal beside it records the state in which the
 *    file got its name (struct tw_seal), and nobody can set the time of a file's last status change. So the file is
 *    not touched afterwards; the seal's access time tells when it was last used.
 *  - It is valid until the machine is restarted (struct tw_machine_id): so nothing needs to be on the disk
 *    permanently when it gets its name.
 *  - The total size has a limit; what has been unused for longest is removed first.
 */
#ifndef TW_KEEP_H
#define TW_KEEP_H

#include "base/store.h"

#include <limits.h>
#include <stddef.h>
#include <time.h>

struct tw_descriptor_tables;

/* The user's: $XDG_CACHE_HOME/trackway/translations, or in $HOME/.cache. 0: there is none. */
int tw_keep_default(char path[TW_KEEP_PATH]);

/* The default limit for this directory, which need not exist yet: TW_KEEP_BYTES, but at most a tenth of the free space there. */
uint64_t tw_keep_usual_bytes(const char *path);

/*
 * Keeps snapshots in this directory, which is created if necessary; so are its parents, unless somebody `asked` for
 * it. Sets *store. TW_ERR_SYSTEM, with a sentence, if it cannot be created, or if others may write there; then
 * nothing is kept.
 */
int tw_keep_begin(struct tw_store *store, const char *path, int asked);

/*
 * At the end of the recording: keeps what is new in the store, which is in `fd` from `at` on, with its descriptors.
 * What cannot be kept is skipped. `learned`: the learn file's present state; 0: nothing was learned.
 */
void tw_keep_end(const struct tw_store *store, int fd, uint64_t at, const struct tw_descriptor_tables *tables, uint64_t learned);

/* Names of files are kept beside translations (names/file_store.h). The start of such a file. */
#define TW_KEEP_NAMES_SUFFIX ".names"
#define TW_KEPT_NAMES_MAGIC  0x32736d616e766477ull
struct tw_kept_names {
	uint64_t magic;
	uint32_t functions, reserved;
	char path[TW_KEPT_PROGRAM]; /* for people: the end of the path, NUL included */
};

/* One that is kept. */
struct tw_kept {
	char name[NAME_MAX + 1];
	struct timespec used; /* last */
	uint64_t bytes;       /* on the disk */
	int is_names;         /* 1: names of a file; 0: translations */
	union {
		struct tw_snapshot_lead lead; /* the magic is 0: it is none of this version's */
		struct tw_kept_names names;   /* likewise */
	};
};

/* Removes what has been unused for longest, until the rest takes at most `limit` bytes. `dir`: the open directory. */
void tw_keep_remove_beyond(int dir, uint64_t limit);

/* Whether this process may write a file of so many bytes. */
int tw_keep_allows(uint64_t bytes);

/* TW_ERR_SYSTEM, with a sentence, if this is not a readable directory of the user's. */
int tw_keep_look(const char *path);

/* Everything kept there, last used first; the caller frees the list. *n: number of entries. */
struct tw_kept *tw_keep_list(const char *path, size_t *n);

/* Removes everything; processes that use an entry continue with it. Returns the number; *names of them were names. */
size_t tw_keep_empty(const char *path, size_t *names);

#endif
