/*
 * Analyzing a recording, as `trackway analyze` does it.
 */
#ifndef TW_CLI_ANALYZE_H
#define TW_CLI_ANALYZE_H

#include "plugin/request.h"

/* Replays the recording in `dir` for a request, with so many threads, and prints the answer where the request says or else to `standard`. What is said on stderr begins with
 * "trackway COMMAND". Returns an exit status. */
int tw_analyze_recording(const char *command, const struct tw_request *request, const char *dir, uint64_t jobs, FILE *standard);

#endif
