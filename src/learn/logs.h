/*
 * How the logs (log.h) would have worked for a recording: which blocks each would have instrumented, asked when code
 * is first translated, and where it would have been wrong.
 */
#ifndef TW_LEARN_LOGS_H
#define TW_LEARN_LOGS_H

#include "learn/log.h"

#include <trackway/recording.h>
#include <trackway/replay.h>

enum { TW_LOGS = 4 };

struct tw_log_figures {
	const char *name;
	uint64_t instrumented; /* blocks that were not known to it */
	uint64_t positives;    /* of these, those of which all bytes had been instrumented */
	uint64_t negatives;    /* different blocks taken for known although some byte had never been instrumented */
	uint64_t missed;       /* bytes of code that it never had instrumented */
	uint64_t entries;
};

/* For the first process only: a log's addresses are those of one process. *asked: blocks, once for each fragment. 0, or an error. */
int tw_logs_compare(const struct tw_recording *r, const struct tw_replay_options *options, struct tw_log_figures of[TW_LOGS],
                    uint64_t *asked);

#endif
