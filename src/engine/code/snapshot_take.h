/*
 * How a process takes a snapshot (snapshot.h): it is mapped where it was made, and what was known of it is adopted.
 */
#ifndef TW_SNAPSHOT_TAKE_H
#define TW_SNAPSHOT_TAKE_H

#include "engine/code/snapshot_file.h"

/* Goes on with the snapshot at this place (snapshot_entry.h), in the place of the translations that there are. False: it cannot be had. */
bool tw_snapshot_go_on(u64 place);

/* What a process of this recording left, or an earlier recording, as another process has found. */
bool tw_snapshot_take_shared(void);

/* What an earlier recording kept; the others of this one are told. */
bool tw_snapshot_take_kept(void);

/* Where something is recorded: the process's program has numbers of its own, and its kept file, if there is one, is loaded, by the first that comes. False: none may be drawn. */
bool tw_snapshot_claim(void);

#endif
