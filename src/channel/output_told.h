/*
 * Modules and processes, as reported by the events of buffers: written as blocks of the code file, in the order in
 * which buffers were put.
 */
#ifndef TW_OUTPUT_TOLD_H
#define TW_OUTPUT_TOLD_H

#include "channel/output_job.h"

struct tw_output;

/*
 * Stores modules and notes about processes, takes the parent from THREAD_START, counts gaps and time stamps. For a
 * spooled job this is only gathered, until tw_output_has_looked.
 */
void tw_output_look_at_events(struct tw_output *o, struct tw_job *job);

/*
 * The events of this spooled job have been gathered, or need not be: writes them, and those of later jobs, once the
 * earlier ones have been looked at.
 */
void tw_output_has_looked(struct tw_output *o, struct tw_job *job);

#endif
