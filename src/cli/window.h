/*
 * Windows of record --start and --stop, before the program runs: places that will not be found are reported.
 */
#ifndef TW_CLI_WINDOW_H
#define TW_CLI_WINDOW_H

#include "base/channel.h"

/*
 * Looks for the place in the program's file and libraries, and completes *where (names/before.h). Returns 0 to
 * continue; -1, after reporting why on stderr, if it cannot be reached: its module is known and does not have it.
 * Without a module, a library loaded later or another program may have it: this is reported too, unless `quiet`.
 */
int tw_window_before(const char *option, const char *program, const char *as_given, struct tw_where *where, int quiet);

#endif
