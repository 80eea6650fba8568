/*
 * What a process knows of its program's snapshots (snapshot.h): their key in the store, the place of the best one,
 * and which one the process started with.
 */
#ifndef TW_SNAPSHOT_ENTRY_H
#define TW_SNAPSHOT_ENTRY_H

#include "engine/code/fragment.h"
#include "engine/code/module.h"

struct tw_snapshots {
	bool possible; /* in this process */
	bool first;    /* the first of the recording, which may be the only one, and not a fork */
	bool fork;
	bool complete; /* none was taken, or everything in it is in use */
	struct tw_file engine;
	u64 key;
	u32 n_base, n_startup;
	u32 taken;       /* fragments */
	u32 had;         /* of a fork: its parent's */
	u32 kept_lacked; /* what the kept file's seal says */
	u64 place;       /* of what was taken: the entry's offset */
	u32 calls;       /* since it looked */
	u64 looked_at, first_look;
	bool started;     /* the program has, not only its loader */
	u32 modules_seen; /* number of modules when it was last asked whether tables are to be wide */
	u32 seen;         /* fragments there were then */
	bool records;
	struct tw_store_entry *claimant; /* where something is recorded: by whose numbers */
};
extern struct tw_snapshots tw_snapshots;

static inline struct tw_store *tw_snapshot_store(void)
{
	return &tw_engine.control->store;
}

/* Can translations be shared in this kind of recording? */
bool tw_snapshot_shareable(void);

/* Identifies the program, its loader and the engine, and what is recorded; the arguments tell the kind of process. Never 0. */
u64 tw_snapshot_key(char *const *argv);

/* The entry for this process's program; `make`: a new one if there is none and there is room. NULL: there is none. */
struct tw_store_entry *tw_snapshot_entry(bool make);

/* Where the best snapshot is: an entry's offset, TW_STORE_KEPT, or 0 if there is none. e NULL: none. */
u64 tw_snapshot_place(const struct tw_store_entry *e);

/* Number of fragments in it which this process, whose program has started, could use. */
u32 tw_snapshot_offered(const struct tw_store_entry *e);

#endif
