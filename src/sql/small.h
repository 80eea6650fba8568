/* The small tables: lists, and sums. */
#ifndef TW_SQL_SMALL_H
#define TW_SQL_SMALL_H

#include "sql/table.h"

extern const struct tw_sql_table tw_sql_threads, tw_sql_processes, tw_sql_modules, tw_sql_blocks, tw_sql_functions, tw_sql_branches;

#endif
