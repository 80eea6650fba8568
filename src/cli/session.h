/*
 * A session: one recording open for one request, with everything that an analyzer needs to run on it. Errors are
 * reported on stderr.
 */
#ifndef TW_CLI_SESSION_H
#define TW_CLI_SESSION_H

#include "cli/options.h"
#include "plugin/stage.h"

struct tw_session {
	const char *command; /* as which it speaks */
	const struct tw_request *request;
	const char *dir;
	struct tw_recording *recording;
	struct tw_answer *answer;
	struct tw_context *context;
	struct tw_stage stage;
	struct tw_damage damage;
	struct tw_replay_options options;
	size_t problems; /* found when the recording was opened */
	int is_own;      /* the recording is to be closed */
};

/*
 * Opens the recording in `dir` for so many threads; the answer goes to `f`. The arguments must stay valid, and the
 * session must not move. Returns 0, or an exit status with nothing open.
 */
int tw_session_open(struct tw_session *s, const char *command, const struct tw_request *request, const char *dir, uint64_t jobs, FILE *f);

/* The same for an open recording, which stays open. */
int tw_session_begin(struct tw_session *s, const char *command, const struct tw_request *request, struct tw_recording *recording,
                     uint64_t jobs, FILE *f);

/* Reports why a run failed with this result, which is not 0. Returns 1. */
int tw_session_failed(const struct tw_session *s, int error);

/* "trackway COMMAND: NAME: why", of the analyzer's name. Returns 1. */
int tw_session_complain(const struct tw_session *s, const char *why);

/* Closes it; `status` 0: the answer is complete, and is printed to its end. Returns the exit status. */
int tw_session_close(struct tw_session *s, int status);

#endif
