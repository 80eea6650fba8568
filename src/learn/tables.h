/*
 * Facts by function, and how many of them another set also has: what `learn` and `coverage` print.
 *
 * A block is known if all its bytes are: if recording stopped or resumed within a block, its parts were learned.
 */
#ifndef TW_LEARN_TABLES_H
#define TW_LEARN_TABLES_H

#include "learn/facts.h"

/* One function, or with function NULL a whole module. Builds of a module are separate. */
struct tw_learn_row {
	const char *path, *function, *build_id; /* build_id "": the file has none; NULL: a sum */
	int is_one_of_several;                  /* builds of this path */
	uint64_t n[TW_FACT_KINDS];              /* facts of each kind */
	uint64_t known[TW_FACT_KINDS];          /* of them, those that the other set has too */
	uint64_t bytes;                         /* of code that ran, each once */
};

struct tw_learn_rows {
	struct tw_learn_row *rows;
	size_t n;
};

/*
 * Rows of `whole`, by function or by module; `known` may be NULL. Sorted by name, or, with `known`, by how many are
 * missing, most first. Rows point into the facts. 0 or TW_ERR_MEMORY; free(rows->rows).
 */
int tw_learn_rows(const struct tw_facts *whole, const struct tw_facts *known, int by_function, struct tw_learn_rows *rows);

/* The sum of rows. */
struct tw_learn_row tw_learn_sum(const struct tw_learn_rows *rows);

#endif
