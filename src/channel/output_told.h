/*
 * What the events of buffers tell of modules and processes: it is written as blocks of the code file, in the order in which buffers were put.
 */
#ifndef TW_OUTPUT_TOLD_H
#define TW_OUTPUT_TOLD_H

#include "channel/output_job.h"

struct tw_output;

/* Stores modules and what is told of processes, takes the parent from THREAD_START, counts gaps and time stamps. Of a job of the spool it is gathered only, till tw_output_has_looked. */
void tw_output_look_at_events(struct tw_output *o, struct tw_job *job);

/* What the events of this job of the spool tell has been gathered, or is not to be: writes it, and what others behind it tell, when those before have been looked at. */
void tw_output_has_looked(struct tw_output *o, struct tw_job *job);

#endif
