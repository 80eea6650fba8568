/*
 * How a process takes a snapshot (snapshot.h): it is mapped where it was made, and what was known of it is adopted.
 */
#ifndef TW_SNAPSHOT_TAKE_H
#define TW_SNAPSHOT_TAKE_H

#include "engine/code/snapshot_file.h"

/* Takes the snapshot at this place (snapshot_entry.h), replacing the present translations. False: not possible. */
bool tw_snapshot_go_on(u64 place);

/* Takes what a process of this recording left, or an earlier recording, as found by another process. */
bool tw_snapshot_take_shared(void);

/* Takes what an earlier recording kept; other processes of this one are told. */
bool tw_snapshot_take_kept(void);

/*
 * If something is recorded: the process's program gets its own numbers, and the first process loads its kept file, if
 * there is one. False: no numbers may be drawn.
 */
bool tw_snapshot_claim(void);

#endif
