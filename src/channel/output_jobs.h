/*
 * The jobs of an output: how many there are, and which are free.
 */
#ifndef TW_OUTPUT_JOBS_H
#define TW_OUTPUT_JOBS_H

#include "channel/output_job.h"

struct tw_output;

/* Makes the first few. TW_ERR_MEMORY. */
int tw_output_make_jobs(struct tw_output *o);

/* One more, unused; 0: there are as many as there are to be, or there is no room for more. Called under the lock, but before there are lanes. */
int tw_output_add_job(struct tw_output *o);

/*
 * How many there may be now. Where memory for slots of the spool is dear those that there are are taken again: there are as many as keep lanes at work, and the program waits for one. Called under the
 * lock.
 */
unsigned tw_output_most_jobs(const struct tw_output *o, int dear);

/* One of those that have the job needs it no more. The second is called under the lock. */
void tw_output_drop(struct tw_output *o, struct tw_job *job);
void tw_output_give_up(struct tw_output *o, struct tw_job *job);

/* With a spool: the head of the job's slot. */
int tw_output_write_head(struct tw_output *o, const struct tw_job *job);

#endif
