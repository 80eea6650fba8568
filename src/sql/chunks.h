/*
 * Which chunks a query needs: those that can have rows within its bounds, according to their headers (thread,
 * instructions) and the recording's index of times, code and memory (recording/index.h).
 *
 * If more than a few chunks remain after the headers, and the index could exclude some, missing index entries are
 * made first. This takes one replay of these chunks by all threads; the entries are kept in the recording if it is
 * writable.
 */
#ifndef TW_SQL_CHUNKS_H
#define TW_SQL_CHUNKS_H

#include "sql/table.h"

/* The bounds: a row is wanted if each of its cells is within its column's. */
struct tw_bounds {
	int64_t low[TW_SQL_COLUMNS], high[TW_SQL_COLUMNS];
};

/* Everything. */
void tw_bounds_all(struct tw_bounds *b);

/* Which chunks are to be read. */
struct tw_chunks {
	uint8_t **of_thread; /* per thread and chunk */
	size_t n_threads;
};

/* Chooses chunks, and counts them in *sql. Not while another thread does so. *out is to be freed in any case. Returns 0 or an error. */
int tw_chunks_choose(struct tw_chunks *out, struct tw_sql *sql, const struct tw_sql_table *table, const struct tw_bounds *bounds);

static inline int tw_chunks_wanted(const struct tw_chunks *c, size_t thread, size_t chunk)
{
	return c->of_thread[thread][chunk];
}

void tw_chunks_free(struct tw_chunks *c);

#endif
