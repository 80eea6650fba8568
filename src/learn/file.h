/*
 * Learn files (record --learn): what has been learned of a program, over any number of runs.
 *
 * A file is a header, the texts, modules and facts, with a checksum over all of it. Any number of processes may add to one at once: each takes a lock on the file, reads what is there,
 * writes all of it to a file beside it, and renames that over it. So whoever reads sees one whole state or the next. A file that is no learn file, is damaged, or
 * is of another version is never written over: it is renamed, and learning begins anew. A link stays, and what it leads to is replaced; what is no regular file is left alone.
 */
#ifndef TW_LEARN_FILE_H
#define TW_LEARN_FILE_H

#include "learn/facts.h"

/* Adds what the file has to *f. 0; TW_ERR_NOT_FOUND; TW_ERR_EMPTY: nothing yet; TW_ERR_NOT_RECORDING: no learn file; TW_ERR_VERSION, TW_ERR_CHECKSUM, TW_ERR_MEMORY... */
int tw_learn_read(const char *path, struct tw_facts *f);

/* The error that a function here has just returned, in one sentence that names the file. Returns `to`. */
const char *tw_learn_sentence(const char *path, int error, char *to, size_t size);

/* Whether tw_learn_save() could write it now, as far as can be told without writing: 0, or why not. */
int tw_learn_writable(const char *path);

enum { TW_LEARN_KEPT = 4200 };
struct tw_learn_saved {
	uint64_t all[TW_FACT_KINDS], added[TW_FACT_KINDS]; /* facts in the file now; those that were new */
	uint64_t before, now;                              /* the file's state then (0: there was none that could be read), and as it is */
	char kept[TW_LEARN_KEPT];                          /* where what stood there, and could not be read, is now; "": it could */
	char why[TW_LEARN_KEPT];                           /* ... and why: a sentence */
};

/* Adds the facts to the file, which is made if there is none. */
int tw_learn_save(const char *path, const struct tw_facts *f, struct tw_learn_saved *saved);

#endif
