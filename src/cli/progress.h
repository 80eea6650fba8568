/*
 * Reports the progress of a recording on stderr: on a terminal, a line updated each second; elsewhere, a line for
 * each SIGUSR1.
 */
#ifndef TW_CLI_PROGRESS_H
#define TW_CLI_PROGRESS_H

#include "channel/collector.h"

struct tw_progress;

/* Starts a thread for it, which takes SIGUSR1; the signal is blocked in the calling thread from now on. NULL: not possible. */
struct tw_progress *tw_progress_begin(struct tw_collector *c);

/* Before the collector is finished. Accepts NULL. */
void tw_progress_end(struct tw_progress *p);

#endif
