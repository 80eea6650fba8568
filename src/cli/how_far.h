/*
 * Shows the progress of a replay on a terminal: a line on stderr that is updated and disappears at the end. Elsewhere
 * nothing is shown.
 */
#ifndef TW_CLI_HOW_FAR_H
#define TW_CLI_HOW_FAR_H

#include <stddef.h>
#include <stdint.h>
#include <trackway/replay.h>

/* All zeros except the command's name: nothing has been shown. */
struct tw_how_far {
	const char *command;
	uint64_t told_ns; /* when it was told last */
};

/* For tw_replay_options.progress, with a struct tw_how_far for its context. */
void tw_how_far_tell(void *how_far, size_t done, size_t chunks);

struct tw_damage;

/* Options of a replay by so many workers that reports damage and shows progress. */
struct tw_replay_options tw_how_far_replay(struct tw_how_far *how_far, struct tw_damage *damage, uint64_t jobs);

#endif
