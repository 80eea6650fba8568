/*
 * Tells on stderr how far a recording is: on a terminal a line that is renewed each second, elsewhere a line for each SIGUSR1.
 */
#ifndef TW_CLI_PROGRESS_H
#define TW_CLI_PROGRESS_H

#include "channel/collector.h"

struct tw_progress;

/* A thread of its own does it. From here on SIGUSR1 is its, and blocked in the calling thread. NULL: there can be none. */
struct tw_progress *tw_progress_begin(struct tw_collector *c);

/* Before the collector is finished. Accepts NULL. */
void tw_progress_end(struct tw_progress *p);

#endif
