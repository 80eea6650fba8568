/* symbol(), line() and object(): see database.h. */
#ifndef TW_SQL_FUNCTIONS_H
#define TW_SQL_FUNCTIONS_H

#include "sql/table.h"

int tw_functions_install(sqlite3 *handle, struct tw_sql *sql);

#endif
