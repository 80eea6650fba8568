#include "sql/table.h"
#include "base/array.h"

#include <stdlib.h>
#include <string.h>

int64_t *tw_rows_next(struct tw_rows *rows)
{
	int64_t *cells = tw_array_room(rows->cells, rows->n, &rows->room, rows->n_columns * sizeof *cells);
	if (!cells)
		return NULL;
	rows->cells = cells;
	return cells + rows->n * rows->n_columns;
}

const char *tw_sql_text(struct tw_sql *sql, const char *text)
{
	char **texts = tw_array_room(sql->texts, sql->n_texts, &sql->room_texts, sizeof *texts);
	if (!texts)
		return NULL;
	sql->texts = texts;
	texts[sql->n_texts] = strdup(text);
	return texts[sql->n_texts] ? texts[sql->n_texts++] : NULL;
}

int64_t tw_sql_time(const struct tw_sql *sql, uint64_t tsc)
{
	uint64_t start = tw_recording_info(sql->recording)->tsc_start;
	if (sql->ns_per_cycle == 0 || !tsc)
		return TW_NULL;
	return (int64_t)((double)(int64_t)(tsc - start) * sql->ns_per_cycle);
}
