/* The tables that are streams. */
#ifndef TW_SQL_STREAMS_H
#define TW_SQL_STREAMS_H

#include "sql/table.h"

extern const struct tw_sql_table tw_sql_refs, tw_sql_block_runs, tw_sql_calls, tw_sql_syscalls, tw_sql_signals, tw_sql_windows;

#endif
