/*
 * The jobs of an output: how many there are, and which are free.
 */
#ifndef TW_OUTPUT_JOBS_H
#define TW_OUTPUT_JOBS_H

#include "channel/output_job.h"

struct tw_output;

/* Makes the first few. TW_ERR_MEMORY. */
int tw_output_make_jobs(struct tw_output *o);

/* Adds an unused job; 0: the maximum is reached, or there is no room. Called under the lock, or before there are lanes. */
int tw_output_add_job(struct tw_output *o);

/*
 * How many there may be now. If memory for spool slots is expensive the existing ones are reused: there are as many
 * as keep lanes busy, and the program waits for one. Called under the lock.
 */
unsigned tw_output_most_jobs(const struct tw_output *o, int dear);

/* One user of the job no longer needs it. The second function is called under the lock. */
void tw_output_drop(struct tw_output *o, struct tw_job *job);
void tw_output_give_up(struct tw_output *o, struct tw_job *job);

/* With a spool: the head of the job's slot. */
int tw_output_write_head(struct tw_output *o, const struct tw_job *job);

#endif
