/*
 * A recording at one moment, for a terminal: functions, blocks and source lines by their executions. While a
 * recording is being written, snapshots follow one another; a thread of their own makes them, so that the screen
 * responds at once.
 */
#ifndef TW_SNAPSHOT_H
#define TW_SNAPSHOT_H

#include "report/listing.h"

/* Code of one source line. */
struct tw_snapshot_line {
	const char *file; /* NULL: code without lines */
	uint32_t line;
	uint32_t function; /* a function with code of it, by its place among the listing's functions */
	uint64_t insns, reads, writes;
};

struct tw_snapshot {
	struct tw_recording *recording;
	struct tw_names *names;
	struct tw_listing listing;
	struct tw_snapshot_line *lines; /* those that executed most first */
	size_t n_lines;
	struct tw_profile_hot *blocks; /* static blocks of the profile, likewise */
	uint32_t *function_of;         /* by owner: its place among the listing's functions; UINT32_MAX: none */
	uint64_t insns;
	int complete;
};

/* 0 or an error. *out is the caller's, for tw_snapshot_free. */
int tw_snapshot_make(const char *dir, unsigned jobs, struct tw_snapshot **out);
void tw_snapshot_free(struct tw_snapshot *s);

/* ---- one after another ---- */

struct tw_follower;

/* Starts making snapshots: one, or several if the recording is not complete. NULL: no thread can be created. */
struct tw_follower *tw_follower_start(const char *dir, unsigned jobs);
void tw_follower_stop(struct tw_follower *f);

/* The newest snapshot not yet taken, which the caller owns. NULL: none, and *error is 0, or why there will be none. */
struct tw_snapshot *tw_follower_take(struct tw_follower *f, int *error);

#endif
