/*
 * Which chunks a question needs: those that can have rows within its bounds, by what their headers say of thread and instructions, and the recording's index of
 * times, code and memory (recording/index.h).
 *
 * Where the headers leave more than a few chunks, and the index could leave out some, entries that are missing are made first. That takes a replay of these chunks by all
 * threads, once: it is kept in the recording, if that can be written to.
 */
#ifndef TW_SQL_CHUNKS_H
#define TW_SQL_CHUNKS_H

#include "sql/table.h"

/* What is wanted: a row is, if each of its cells is within its column's bounds. */
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

/* Chooses, and counts what was chosen in *sql. Not while another thread chooses. *out is to be freed in any case. Returns 0 or an error. */
int tw_chunks_choose(struct tw_chunks *out, struct tw_sql *sql, const struct tw_sql_table *table, const struct tw_bounds *bounds);

static inline int tw_chunks_wanted(const struct tw_chunks *c, size_t thread, size_t chunk)
{
	return c->of_thread[thread][chunk];
}

void tw_chunks_free(struct tw_chunks *c);

#endif
