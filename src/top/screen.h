/*
 * The screen of `trackway top`: lists of functions, blocks and lines; behind each entry, the function's instructions
 * with its source. Keys: screen.c, help_lines.
 */
#ifndef TW_SCREEN_H
#define TW_SCREEN_H

#include "top/snapshot.h"

/* Shows snapshots as they come, until the user quits. `dir`: for the title. 0, or the error that prevented the first snapshot. */
int tw_screen_run(struct tw_follower *follower, const char *dir);

#endif
