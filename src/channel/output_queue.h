/*
 * The drain loop's side of the output: a buffer is put into the open chunk of its thread, or starts one, and a lane
 * gets it.
 *
 * output.h says how many buffers a chunk has; it has fewer if these have more than 6 M tags.
 *
 * By the drain loop only.
 */
#ifndef TW_OUTPUT_QUEUE_H
#define TW_OUTPUT_QUEUE_H

#include "channel/demux.h"
#include "channel/far.h"
#include "channel/output_job.h"

struct tw_output;

/* An empty job, to be filled and passed to tw_output_put or tw_output_drop (output_jobs.h). Waits until one is free. */
struct tw_job *tw_output_take(struct tw_output *o);
void tw_output_put(struct tw_output *o, struct tw_job *job);

/* With a spool: a buffer of this thread, unchanged. Waits until there is a slot. `flags`: TW_CHUNK_TORN and TW_CHUNK_LAST, if known. */
struct tw_output_buffer {
	struct tw_thread_info thread;
	uint32_t flags;
	int dead; /* 1: its process has died, with */
	int32_t wait_status;
	const struct tw_far_buffer *far; /* where it is to be read; NULL: in memory */
};
void tw_output_spool(struct tw_output *o, const struct tw_output_buffer *buffer, const struct tw_demux_input *in);

/* Before anything of this thread is put: this many chunks of it, with these totals, are in the recording already. TW_ERR_MEMORY. */
int tw_output_resume(struct tw_output *o, uint32_t serial, uint32_t chunks, const struct tw_totals *before);

/* Announces this thread to live analyzers before others come. */
void tw_output_tell_thread(struct tw_output *o, const struct tw_thread_info *thread);

/* Nothing more comes of this thread. */
void tw_output_thread_ends(struct tw_output *o, uint32_t serial);

/*
 * Called by the drain loop when it has nothing to do. If many descriptors have arrived at once, as kept ones do
 * before anything has run, a thread starts to write them, and a lane is made: otherwise a short program would have
 * ended by the time this is done.
 */
void tw_output_prepare(struct tw_output *o);

/*
 * This many threads of programs are working. As long as there is room in the spool they get as many processors: fewer
 * lanes work, but always one. Once the program has had to wait for a slot this does nothing. The drain loop calls it
 * now and then.
 */
void tw_output_make_way(struct tw_output *o, unsigned threads);

/* Has chunks written that have been open longer than TW_CHUNK_NS. The drain loop calls it now and then. */
void tw_output_age(struct tw_output *o);

#endif
