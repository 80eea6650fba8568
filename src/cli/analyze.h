/*
 * Analyzing a recording, as `trackway analyze` does it.
 */
#ifndef TW_CLI_ANALYZE_H
#define TW_CLI_ANALYZE_H

#include "cli/request.h"

/*
 * Replays the recording in `dir` for a request, as `how` says, and prints the answer where the request says, or to
 * `standard`. Messages on stderr begin with "trackway COMMAND". Returns an exit status.
 */
int tw_analyze_recording(const char *command, const struct tw_request *request, const char *dir, const struct tw_run *how, FILE *standard);

/* The same for an open recording, which stays open; the answer goes to `f`. */
int tw_analyze_open(const char *command, const struct tw_request *request, struct tw_recording *recording, const struct tw_run *how,
                    FILE *f);

#endif
