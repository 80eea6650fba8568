/*
 * Tells on a terminal how far a command has replayed: a line on stderr that is renewed, and gone at the end. Elsewhere nothing is told.
 */
#ifndef TW_CLI_HOW_FAR_H
#define TW_CLI_HOW_FAR_H

#include <stddef.h>
#include <stdint.h>
#include <trackway/replay.h>

/* All zeros but for the name of the command: nothing has been told. */
struct tw_how_far {
	const char *command;
	uint64_t told_ns; /* when it was told last */
};

/* For tw_replay_options.progress, with a struct tw_how_far for its context. */
void tw_how_far_tell(void *how_far, size_t done, size_t chunks);

struct tw_damage;

/* Options of a replay by so many workers that tells what is damaged, and how far it is. */
struct tw_replay_options tw_how_far_replay(struct tw_how_far *how_far, struct tw_damage *damage, uint64_t jobs);

#endif
