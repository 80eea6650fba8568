/* The run of `trackway record`: starts the collector, then starts the program or attaches to the process, and waits until it has ended. */
#ifndef TW_RECORD_RUN_H
#define TW_RECORD_RUN_H

#include "cli/record_state.h"

/* The program was let go before it had ended. */
int tw_record_has_left(const struct record *r);

/* Are names kept with the recording? */
int tw_record_keeps_names(const struct record *r);

int tw_record_start_collector(struct record *r);

/* Runs the program. */
struct tw_aside_end tw_record_launch(struct record *r, const char *channel, void (*stop_it)(void *), void *context);

int tw_record_run(struct record *r);

#endif
