#include "sql/scan.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK_ROWS = 4096, ENDED_EARLY = 1 };

struct tw_scan {
	struct tw_taker taker;
	const struct tw_sql_table *table;
	struct tw_bounds bounds;
	struct tw_chunks chunks; /* that can have wanted rows */
	struct tw_rows block[2];
	pthread_t replaying;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	/* under the lock */
	unsigned filled, emptied; /* blocks so far: those in between are full, and the reader's */
	int ended;                /* no more blocks will be filled */
	int stop;                 /* the reader wants no more */
	int error;
};

static unsigned n_columns(const struct tw_sql_table *t)
{
	unsigned n = 0;
	while (t->columns[n].name)
		n++;
	return n;
}

/* ---- the replaying thread ---- */

/* Hands the block over and waits for an empty one. Returns ENDED_EARLY if the reader wants no more. */
static int hand_over(struct tw_taker *taker)
{
	struct tw_scan *s = (struct tw_scan *)taker;
	pthread_mutex_lock(&s->lock);
	s->filled++;
	pthread_cond_broadcast(&s->changed);
	while (!s->stop && s->filled - s->emptied == 2)
		pthread_cond_wait(&s->changed, &s->lock);
	int stop = s->stop;
	pthread_mutex_unlock(&s->lock);
	taker->rows = &s->block[s->filled % 2];
	taker->rows->n = 0;
	return stop ? ENDED_EARLY : 0;
}

static void *begin(void *arg)
{
	return arg;
}

static int batch(void *state, const struct tw_batch *b)
{
	struct tw_scan *s = state;
	if (s->taker.thread != b->thread)
		s->taker.now = TW_NULL;
	int result = s->table->take(&s->taker, b);
	s->taker.thread = b->thread;
	s->taker.next_insn = b->first_insn + b->n_insns;
	return result;
}

static int merge(void *state, void *later)
{
	(void)state;
	(void)later;
	return 0;
}

static int end(void *state, int error)
{
	(void)state;
	return error;
}

static int is_wanted(void *context, size_t thread, size_t chunk)
{
	return tw_chunks_wanted(&((struct tw_scan *)context)->chunks, thread, chunk);
}

static int is_damaged(void *context, size_t thread, size_t chunk, int error)
{
	struct tw_sql *sql = ((struct tw_scan *)context)->taker.sql;
	return sql->damage(sql->context, thread, chunk, error);
}

static void *replay(void *arg)
{
	static const struct tw_analyzer rows = {.name = "rows", .begin = begin, .batch = batch, .merge = merge, .end = end};
	struct tw_scan *s = arg;
	const struct tw_replay_options options = {.jobs = 1, .grain = UINT32_MAX, .select = is_wanted, .damage = is_damaged, .context = s};
	int error = tw_replay(s->taker.sql->recording, &options, &rows, s);
	if (!error && s->taker.rows->n)
		hand_over(&s->taker);
	pthread_mutex_lock(&s->lock);
	s->error = error == ENDED_EARLY ? 0 : error;
	s->ended = 1;
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

/* ---- the reader ---- */

static void free_scan(struct tw_scan *s)
{
	tw_chunks_free(&s->chunks);
	free(s->block[0].cells);
	free(s->block[1].cells);
	free(s);
}

struct tw_scan *tw_scan_new(struct tw_sql *sql, const struct tw_sql_table *table, const struct tw_bounds *bounds)
{
	struct tw_scan *s = calloc(1, sizeof *s);
	if (!s)
		return NULL;
	unsigned columns = n_columns(table);
	s->table = table;
	s->bounds = *bounds;
	s->taker = (struct tw_taker){.sql = sql,
	                             .rows = &s->block[0],
	                             .low = s->bounds.low,
	                             .high = s->bounds.high,
	                             .full = hand_over,
	                             .thread = TW_NO_THREAD,
	                             .now = TW_NULL};
	for (int i = 0; i < 2; i++)
		s->block[i] = (struct tw_rows){malloc(BLOCK_ROWS * columns * sizeof(int64_t)), 0, BLOCK_ROWS, columns};
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->changed, NULL);
	if (s->block[0].cells && s->block[1].cells && !tw_chunks_choose(&s->chunks, sql, table, bounds) &&
	    !pthread_create(&s->replaying, NULL, replay, s))
		return s;
	free_scan(s);
	return NULL;
}

int tw_scan_next(struct tw_scan *s, const struct tw_rows **rows)
{
	pthread_mutex_lock(&s->lock);
	if (*rows) {
		s->emptied++;
		pthread_cond_broadcast(&s->changed);
	}
	while (s->filled == s->emptied && !s->ended)
		pthread_cond_wait(&s->changed, &s->lock);
	*rows = s->filled == s->emptied ? NULL : &s->block[s->emptied % 2];
	int error = *rows ? 0 : s->error;
	pthread_mutex_unlock(&s->lock);
	return error;
}

void tw_scan_free(struct tw_scan *s)
{
	if (!s)
		return;
	pthread_mutex_lock(&s->lock);
	s->stop = 1;
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
	pthread_join(s->replaying, NULL);
	pthread_mutex_destroy(&s->lock);
	pthread_cond_destroy(&s->changed);
	free_scan(s);
}

/* ---- only counting ---- */

struct counting {
	struct tw_sql *sql;
	const struct tw_sql_table *table;
	uint64_t *count;
};

struct count {
	const struct counting *counting;
	uint64_t n;
};

static void *begin_count(void *arg)
{
	struct count *c = calloc(1, sizeof *c);
	if (c)
		c->counting = arg;
	return c;
}

static int count_batch(void *state, const struct tw_batch *b)
{
	struct count *c = state;
	c->n += c->counting->table->count(b);
	return 0;
}

static int merge_counts(void *state, void *later)
{
	((struct count *)state)->n += ((struct count *)later)->n;
	free(later);
	return 0;
}

static int end_count(void *state, int error)
{
	struct count *c = state;
	*c->counting->count = c->n;
	free(c);
	return error;
}

static int is_counted_chunk_damaged(void *context, size_t thread, size_t chunk, int error)
{
	struct tw_sql *sql = ((struct counting *)context)->sql;
	return sql->damage(sql->context, thread, chunk, error);
}

int tw_scan_count(struct tw_sql *sql, const struct tw_sql_table *table, uint64_t *count)
{
	static const struct tw_analyzer counter = {
	    .name = "count", .begin = begin_count, .batch = count_batch, .merge = merge_counts, .end = end_count};
	struct counting counting = {sql, table, count};
	const struct tw_replay_options options = {
	    .jobs = sql->jobs, .longest_first = 1, .damage = is_counted_chunk_damaged, .context = &counting};
	return tw_replay(sql->recording, &options, &counter, &counting);
}
