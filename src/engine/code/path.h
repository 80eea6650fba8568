/*
 * Paths for superblocks, read from what a thread has run.
 *
 * A path starts at a place and ends where that place recurs, before a superblock, at an indirect branch, a system
 * call or a return to the path's caller, or when it is long enough. It continues through superblocks if it thereby
 * returns to its start, but not through loops.
 */
#ifndef TW_PATH_H
#define TW_PATH_H

#include "engine/code/records.h"

/* In these functions `now` is a record of the fragment at the start of the path, and r is positioned after it. */

/* Appends to *path what was run from `now` on. */
void tw_path_read(struct tw_path *path, const struct tw_record *now, const struct tw_reader *r);

/*
 * Appends to *path what was run most often, block by block, from `now` on and the next times that its fragment was
 * entered; returns whether that mostly returns to its start.
 */
void tw_path_vote(struct tw_path *path, const struct tw_record *now, struct tw_reader r);

/* The path of a superblock, for another version of it. */
void tw_path_copy(struct tw_path *path, const struct fragment *f);

/* Does the path occur, from `now` on, several times in a row? */
bool tw_path_loops(const struct tw_path *path, const struct tw_record *now, const struct tw_reader *r);

/* Does f end where it begins? */
bool tw_path_leads_back(const struct fragment *f);

#endif
