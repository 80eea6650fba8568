/*
 * Learn files (record --learn): what has been learned of a program over any number of runs.
 *
 * A file consists of a header, texts, modules and facts, with a checksum over everything. Any number of processes may
 * add to it at once: each locks the file, reads it, writes all to a file beside it, and renames that over it. So a
 * reader always sees a complete state. A file that is not a learn file, is damaged, or has another version is never
 * overwritten: it is renamed, and learning starts again. A link stays, and its target is replaced; anything but a
 * regular file is left alone.
 */
#ifndef TW_LEARN_FILE_H
#define TW_LEARN_FILE_H

#include "learn/facts.h"

/*
 * Adds the file's contents to *f. 0; TW_ERR_NOT_FOUND; TW_ERR_EMPTY: nothing yet; TW_ERR_NOT_RECORDING: not a learn
 * file; TW_ERR_VERSION, TW_ERR_CHECKSUM, TW_ERR_MEMORY...
 */
int tw_learn_read(const char *path, struct tw_facts *f);

/* The error just returned by a function here, as one sentence that names the file. Returns `to`. */
const char *tw_learn_sentence(const char *path, int error, char *to, size_t size);

/* Whether tw_learn_save() could write it now, as far as this can be told without writing: 0, or the error. */
int tw_learn_writable(const char *path);

enum { TW_LEARN_KEPT = 4200 };
struct tw_learn_saved {
	uint64_t all[TW_FACT_KINDS], added[TW_FACT_KINDS]; /* facts in the file now; those that were new */
	uint64_t before, now;                              /* the file's state before (0: none that could be read), and now */
	char kept[TW_LEARN_KEPT];                          /* where an unreadable file has been moved to; "": there was none */
	char why[TW_LEARN_KEPT];                           /* ... and why: a sentence */
};

/* Adds the facts to the file, which is created if necessary. */
int tw_learn_save(const char *path, const struct tw_facts *f, struct tw_learn_saved *saved);

#endif
