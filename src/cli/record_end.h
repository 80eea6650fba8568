/* After the run of `trackway record`: closes the recording and reports what became of it. */
#ifndef TW_RECORD_END_H
#define TW_RECORD_END_H

#include "cli/record_state.h"

/* Ends this process as the program ended. */
int tw_record_end_like(int wait_status);

int tw_record_finish(struct record *r, int status);

/* What was made of a recording that cannot begin. */
void tw_record_abandon(struct record *r);

#endif
