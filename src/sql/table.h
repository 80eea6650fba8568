/*
 * Tables of a recording, as SQL sees them: their columns, and where rows come from.
 *
 * A table is either *small*, made completely when first read and then kept, or a *stream*, made while it is read:
 * replay runs in a thread of its own and hands over blocks of rows (scan.h). Each table is one `struct tw_sql_table`
 * in one file of src/sql/.
 *
 * A row has one 64-bit cell for each column. Texts in cells live as long as the recording's tables.
 */
#ifndef TW_SQL_TABLE_H
#define TW_SQL_TABLE_H

#include <sqlite3.h>
#include <trackway/names.h>
#include <trackway/replay.h>

/* How a cell is to be read. */
enum tw_cell_kind {
	TW_CELL_INTEGER,
	TW_CELL_OPTIONAL, /* the same, but TW_NULL is NULL */
	TW_CELL_TEXT,     /* a const char *; NULL is NULL */
	TW_CELL_TYPE,     /* enum tw_ref_type, as 'R', 'W' or 'M' */
};
#define TW_NULL INT64_MIN

/* What tells whether rows with a certain value can be in a chunk: its header, or the recording's index. */
enum tw_column_role {
	TW_ROLE_NONE,
	TW_ROLE_THREAD, /* serial number of the thread */
	TW_ROLE_INSN,   /* instructions that the thread executed before */
	TW_ROLE_TIME,   /* nanoseconds, of an event or of the last one before */
	TW_ROLE_PC,     /* of an instruction that was executed */
	TW_ROLE_TARGET, /* of code executed next, possibly in the next chunk */
	TW_ROLE_ADDR,   /* of memory that was read or written */
	TW_ROLE_TYPE,   /* what was done to that memory */
};

struct tw_sql_column {
	const char *name; /* the last one has NULL */
	uint8_t kind;     /* enum tw_cell_kind */
	uint8_t role;     /* enum tw_column_role */
};

enum { TW_SQL_COLUMNS = 24 };

/* A block of rows. */
struct tw_rows {
	int64_t *cells; /* n_columns of each row */
	size_t n, room;
	unsigned n_columns;
};

struct tw_sql;
struct tw_taker;
struct tw_index;

struct tw_sql_table {
	const char *name;
	const char *what; /* in one line, for .tables */
	const struct tw_sql_column *columns;
	/* Small: makes all rows. Returns 0 or an error. */
	int (*fill)(struct tw_sql *sql, struct tw_rows *rows);
	/* A stream: makes the rows of a batch (tw_taker_row, tw_taker_keep). Returns 0 or an error. */
	int (*take)(struct tw_taker *taker, const struct tw_batch *batch);
	/* A stream: the number of rows of a batch, if known without making them; else NULL. */
	uint64_t (*count)(const struct tw_batch *batch);
	int looks_ahead; /* a stream: the last row of a chunk needs the beginning of the next chunk */
};

extern const struct tw_sql_table *const tw_sql_tables[]; /* the last one is NULL */

/* All that belongs to one recording that is being asked. */
struct tw_sql {
	const struct tw_recording *recording;
	struct tw_names *names;
	unsigned jobs;
	/* As in struct tw_replay_options. From any thread, one at a time. */
	int (*damage)(void *context, size_t thread, size_t chunk, int error);
	void *context;
	double ns_per_cycle; /* of the time stamp counter; 0: unknown; set by tw_database_open */
	char **texts;        /* that were made for cells */
	size_t n_texts, room_texts;
	struct tw_index *index; /* NULL: it has not been opened */
	/* since the last statement began; indexed: chunks replayed to complete the index */
	uint64_t chunks_read, chunks_passed_over, chunks_indexed;
	void (*indexing)(size_t chunks); /* called before so many chunks are replayed for the index; may be NULL */
};

/* A row at the end of *rows, not yet part of it: the caller fills it in and raises rows->n. NULL: no memory. */
int64_t *tw_rows_next(struct tw_rows *rows);

/* A text that lives as long as `sql`; NULL: no memory. Not while a stream is read. */
const char *tw_sql_text(struct tw_sql *sql, const char *text);

/* A text as a cell. */
static inline int64_t tw_cell_text(const char *text)
{
	return (int64_t)(uintptr_t)text;
}

/* Nanoseconds from the start of the recording to a time stamp; TW_NULL: unknown. */
int64_t tw_sql_time(const struct tw_sql *sql, uint64_t tsc);

/* ---- streams ---- */

/* Receives a stream's rows, and keeps what must be known from one batch to the next. */
struct tw_taker {
	struct tw_sql *sql;
	struct tw_rows *rows;      /* the block being filled */
	const int64_t *low, *high; /* of each column, what is wanted */
	int (*full)(struct tw_taker *taker);
	uint32_t thread;                 /* of the batch before; TW_NO_THREAD: there was none */
	int64_t now;                     /* time of the thread's last event that has one; TW_NULL: none */
	int64_t pending[TW_SQL_COLUMNS]; /* a row that waits for what comes next (calls) */
	uint64_t pending_back;           /* what stands behind that call; 0: it calls just that */
	int is_pending;
	uint64_t next_insn; /* the first instruction of a batch that directly follows this one */
};
#define TW_NO_THREAD UINT32_MAX

/* The cells of the next row; the caller fills in all, then calls tw_taker_keep. */
static inline int64_t *tw_taker_row(struct tw_taker *t)
{
	return t->rows->cells + t->rows->n * t->rows->n_columns;
}

/* The row is complete, and joins the stream if it is wanted. Returns 0, or what ends replay. */
static inline int tw_taker_keep(struct tw_taker *t)
{
	const int64_t *row = tw_taker_row(t);
	for (unsigned i = 0; i < t->rows->n_columns; i++)
		if (row[i] < t->low[i] || row[i] > t->high[i])
			return 0;
	return ++t->rows->n == t->rows->room ? t->full(t) : 0;
}

#endif
