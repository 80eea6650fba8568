/*
 * Learn files (record --learn): what has been learned of a program, over any number of runs.
 *
 * A file is a header, the texts, modules and facts, with a checksum over all of it. Any number of processes may add to one at once: each takes a lock on the file, reads what is there,
 * writes all of it to a file beside it, and renames that over it. So whoever reads sees one whole state or the next. A file that is no learn file, is damaged, or
 * is of another version is never written over: it is renamed, and learning begins anew.
 */
#ifndef TW_LEARN_FILE_H
#define TW_LEARN_FILE_H

#include "learn/facts.h"

/* Adds what the file has to *f. 0; TW_ERR_NOT_FOUND; TW_ERR_EMPTY: nothing yet; TW_ERR_NOT_RECORDING: no learn file; TW_ERR_VERSION, TW_ERR_CHECKSUM, TW_ERR_MEMORY... */
int tw_learn_read(const char *path, struct tw_facts *f);

enum { TW_LEARN_KEPT = 4200 };
struct tw_learn_saved {
	uint64_t all[TW_FACT_KINDS], added[TW_FACT_KINDS]; /* facts in the file now; those that were new */
	char kept[TW_LEARN_KEPT];                          /* where what stood there, and could not be read, is now; "": it could */
	int why;                                           /* ... and why: enum tw_error */
};

/* Adds the facts to the file, which is made if there is none. */
int tw_learn_save(const char *path, const struct tw_facts *f, struct tw_learn_saved *saved);

#endif
