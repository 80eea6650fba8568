/*
 * Snapshots kept from one recording to the next (engine/code/snapshot.h), and names: a directory with a file for each program, which is the snapshot as it stood in the
 * store (base/store.h). The name is its number (tw_store_file_number) in hex. The engine reads these files, the collector writes them.
 *
 * What must hold:
 *  - Who can write to a file can have code executed. So the directory and the files are the user's own, and nobody else may write there; the engine looks at
 *    each file once more.
 *  - What has its name is complete and never changes, for processes have it mapped: a file is written under another name first.
 *  - What is written to it later is seen, whatever times it is given: a seal beside it says in which state the file got its name (struct tw_seal), and nobody can set the time of its last change of state. So
 *    nothing is done to it any more, and when it was used last is told by the time of the last access to the seal.
 *  - It is of use until the machine is started again (struct tw_machine_id): so nothing need be on the disk for good when it gets its name.
 *  - All that is kept takes no more than a limit; what has not been used for longest goes first.
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

/* How much is kept in this directory, which need not be there yet, if nothing else is asked for: TW_KEEP_BYTES, but no more than a tenth of what is free where it is. */
uint64_t tw_keep_usual_bytes(const char *path);

/*
 * Snapshots are kept in this directory, which is made if need be, and unless somebody `asked` for it those that it is in, too: says so in *store. TW_ERR_SYSTEM, with a sentence, if it cannot be made, or if others may write
 * there; then nothing is kept.
 */
int tw_keep_begin(struct tw_store *store, const char *path, int asked);

/*
 * The recording is at its end: keeps what is new in the store, which is in `fd` from `at` on, with its descriptors. What cannot be kept is not. `learned`: the state that the learn file has now; 0: nothing
 * was learned.
 */
void tw_keep_end(const struct tw_store *store, int fd, uint64_t at, const struct tw_descriptor_tables *tables, uint64_t learned);

/* Names of files are kept beside translations (names/file_store.h). What such a file begins with. */
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

/* Removes what has not been used for longest, until what is left takes `limit` bytes at most. `dir`: the directory, open. */
void tw_keep_remove_beyond(int dir, uint64_t limit);

/* Whether this process may write a file of so many bytes. */
int tw_keep_allows(uint64_t bytes);

/* TW_ERR_SYSTEM, with a sentence, if this is no directory of the user's that can be read. */
int tw_keep_look(const char *path);

/* All that are kept there, those used last first; the caller frees them. *n is how many. */
struct tw_kept *tw_keep_list(const char *path, size_t *n);

/* Removes all; who has begun with one goes on with it. Returns how many; *names of them were names. */
size_t tw_keep_empty(const char *path, size_t *names);

#endif
