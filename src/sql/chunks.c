#include "sql/chunks.h"
#include "analyze/index_maker.h"

#include <stdlib.h>

/* So few chunks are read without looking for a better choice. */
enum { FEW_CHUNKS = 8 };

struct choice {
	struct tw_sql *sql;
	const struct tw_sql_table *table;
	const struct tw_bounds *bounds;
	struct tw_chunks *out;
};

void tw_bounds_all(struct tw_bounds *b)
{
	for (unsigned i = 0; i < TW_SQL_COLUMNS; i++) {
		b->low[i] = INT64_MIN;
		b->high[i] = INT64_MAX;
	}
}

/* ---- by header ---- */

/* A chunk's instructions, including the position after the last, where events may stand. */
static int insns_may_be(const struct tw_chunk_info *c, int64_t low, int64_t high)
{
	return high >= (int64_t)c->first_insn && low <= (int64_t)(c->first_insn + c->insns);
}

static int header_may_have(const struct choice *q, size_t thread, size_t chunk)
{
	const struct tw_recording *r = q->sql->recording;
	const int64_t serial = tw_recording_thread(r, thread)->serial;
	for (unsigned i = 0; q->table->columns[i].name; i++) {
		const int64_t low = q->bounds->low[i], high = q->bounds->high[i];
		if (low > high)
			return 0;
		if (q->table->columns[i].role == TW_ROLE_THREAD && (low > serial || serial > high))
			return 0;
		if (q->table->columns[i].role == TW_ROLE_INSN && !insns_may_be(tw_recording_chunk_info(r, thread, chunk), low, high))
			return 0;
	}
	return 1;
}

/* ---- by index ---- */

static int is_bounded(const struct tw_bounds *b, unsigned column)
{
	return b->low[column] != INT64_MIN || b->high[column] != INT64_MAX;
}

static int index_helps(const struct choice *q)
{
	for (unsigned i = 0; q->table->columns[i].name; i++) {
		const uint8_t role = q->table->columns[i].role;
		if ((role == TW_ROLE_TIME || role == TW_ROLE_PC || role == TW_ROLE_TARGET || role == TW_ROLE_ADDR) &&
		    is_bounded(q->bounds, i))
			return 1;
	}
	return 0;
}

/* Addresses of the upper half are negative as cells. */
static int list_may_have(const struct tw_index_entry *e, enum tw_index_list list, int64_t low, int64_t high)
{
	if (low < 0 && high >= 0)
		return tw_index_may_have(e, list, 0, (uint64_t)high) || tw_index_may_have(e, list, (uint64_t)low, UINT64_MAX);
	return tw_index_may_have(e, list, (uint64_t)low, (uint64_t)high);
}

/* What references of all types that are wanted have in common. */
static unsigned wanted_types(const struct choice *q, unsigned *any)
{
	unsigned all = TW_MODIFY;
	*any = 0;
	for (unsigned i = 0; q->table->columns[i].name; i++)
		for (unsigned type = TW_READ; type <= TW_MODIFY && q->table->columns[i].role == TW_ROLE_TYPE; type++)
			if (q->bounds->low[i] <= (int64_t)type && (int64_t)type <= q->bounds->high[i]) {
				all &= type;
				*any |= type;
			}
	return all;
}

static int memory_may_have(const struct choice *q, const struct tw_index_entry *e, int64_t low, int64_t high)
{
	unsigned any, all = wanted_types(q, &any);
	const int is_read = list_may_have(e, TW_INDEX_READ, low, high), is_written = list_may_have(e, TW_INDEX_WRITTEN, low, high);
	if ((all & TW_READ && !is_read) || (all & TW_WRITE && !is_written))
		return 0;
	return (any & TW_READ && is_read) || (any & TW_WRITE && is_written);
}

static int times_may_be(const struct choice *q, const struct tw_index_entry *e, int64_t low, int64_t high)
{
	return tw_sql_time(q->sql, e->last_tsc) >= low && tw_sql_time(q->sql, e->first_tsc) <= high;
}

/* A call's target may be the first block of the next chunk. */
static int target_may_be(const struct choice *q, size_t thread, size_t chunk, const struct tw_index_entry *e, int64_t low, int64_t high)
{
	if (list_may_have(e, TW_INDEX_CODE, low, high))
		return 1;
	if (chunk + 1 >= tw_recording_thread(q->sql->recording, thread)->n_chunks)
		return 0;
	const struct tw_index_entry *next = tw_index_of(q->sql->index, thread, chunk + 1);
	return !next || list_may_have(next, TW_INDEX_CODE, low, high);
}

static int index_may_have(const struct choice *q, size_t thread, size_t chunk)
{
	const struct tw_index_entry *e = tw_index_of(q->sql->index, thread, chunk);
	int may = 1;
	for (unsigned i = 0; e && q->table->columns[i].name && may; i++) {
		const int64_t low = q->bounds->low[i], high = q->bounds->high[i];
		if (!is_bounded(q->bounds, i))
			continue;
		switch (q->table->columns[i].role) {
		case TW_ROLE_TIME:
			may = times_may_be(q, e, low, high);
			break;
		case TW_ROLE_PC:
			may = list_may_have(e, TW_INDEX_CODE, low, high);
			break;
		case TW_ROLE_TARGET:
			may = target_may_be(q, thread, chunk, e, low, high);
			break;
		case TW_ROLE_ADDR:
			may = memory_may_have(q, e, low, high);
			break;
		default:
			break;
		}
	}
	return may;
}

/* ---- the choice ---- */

static int is_missing(void *context, size_t thread, size_t chunk)
{
	const struct choice *q = context;
	return tw_chunks_wanted(q->out, thread, chunk) && !tw_index_of(q->sql->index, thread, chunk);
}

/* Calls f for each chunk; returns how often it returned 1. */
static size_t count_chunks(struct choice *q, int (*f)(void *context, size_t thread, size_t chunk))
{
	size_t n = 0;
	for (size_t t = 0; t < q->out->n_threads; t++)
		for (size_t c = 0; c < tw_recording_thread(q->sql->recording, t)->n_chunks; c++)
			n += f(q, t, c) != 0;
	return n;
}

static int choose_by_header(void *context, size_t thread, size_t chunk)
{
	const struct choice *q = context;
	return q->out->of_thread[thread][chunk] = (uint8_t)header_may_have(q, thread, chunk);
}

static int choose_by_index(void *context, size_t thread, size_t chunk)
{
	const struct choice *q = context;
	uint8_t *wanted = &q->out->of_thread[thread][chunk];
	return *wanted = (uint8_t)(*wanted && index_may_have(q, thread, chunk));
}

/* Adds the chunk after each wanted one: it completes that one's last row. From last to first, since the choice changes on the way. */
static void choose_next(const struct choice *q)
{
	for (size_t t = 0; t < q->out->n_threads; t++)
		for (size_t c = tw_recording_thread(q->sql->recording, t)->n_chunks; c-- > 1;)
			q->out->of_thread[t][c] |= q->out->of_thread[t][c - 1];
}

/* Opens the index, and makes missing entries that this query needs. It is not an error if they cannot be stored. */
static int complete_index(struct choice *q)
{
	struct tw_sql *sql = q->sql;
	int error = sql->index ? TW_OK : tw_index_open(sql->recording, &sql->index);
	size_t missing = error ? 0 : count_chunks(q, is_missing);
	if (missing <= FEW_CHUNKS)
		return error;
	if (sql->indexing)
		sql->indexing(missing);
	error = tw_index_make(sql->recording, sql->index, sql->jobs, is_missing, q);
	if (error)
		return error;
	sql->chunks_indexed += missing;
	tw_index_write(sql->index);
	return TW_OK;
}

static int take_room(struct choice *q)
{
	const struct tw_recording *r = q->sql->recording;
	q->out->n_threads = tw_recording_n_threads(r);
	q->out->of_thread = calloc(q->out->n_threads + 1, sizeof *q->out->of_thread);
	int ok = q->out->of_thread != NULL;
	for (size_t t = 0; t < q->out->n_threads && ok; t++)
		ok = (q->out->of_thread[t] = calloc(tw_recording_thread(r, t)->n_chunks + 1u, 1)) != NULL;
	return ok ? TW_OK : TW_ERR_MEMORY;
}

static int is_chosen(void *context, size_t thread, size_t chunk)
{
	return tw_chunks_wanted(((const struct choice *)context)->out, thread, chunk);
}

int tw_chunks_choose(struct tw_chunks *out, struct tw_sql *sql, const struct tw_sql_table *table, const struct tw_bounds *bounds)
{
	struct choice q = {sql, table, bounds, out};
	*out = (struct tw_chunks){0};
	int error = take_room(&q);
	if (error)
		return error;
	size_t n = count_chunks(&q, choose_by_header);
	if (n > FEW_CHUNKS && index_helps(&q) && !tw_recording_replayable(sql->recording)) {
		if (complete_index(&q) == TW_ERR_MEMORY) /* of anything else, who reads the chunks is told */
			return TW_ERR_MEMORY;
		count_chunks(&q, choose_by_index);
	}
	if (table->looks_ahead)
		choose_next(&q);
	const size_t read = count_chunks(&q, is_chosen);
	sql->chunks_read += read;
	for (size_t t = 0; t < out->n_threads; t++)
		sql->chunks_passed_over += tw_recording_thread(sql->recording, t)->n_chunks;
	sql->chunks_passed_over -= read;
	return TW_OK;
}

void tw_chunks_free(struct tw_chunks *c)
{
	for (size_t t = 0; c->of_thread && t < c->n_threads; t++)
		free(c->of_thread[t]);
	free(c->of_thread);
	*c = (struct tw_chunks){0};
}
