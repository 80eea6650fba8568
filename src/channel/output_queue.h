/*
 * The drain loop's side of the output: a buffer is put into the chunk of its thread that is open, or begins one, and a lane gets it.
 *
 * A chunk of the recording is TW_CHUNK_BUFFERS buffers of one traced thread - its first two are of TW_FIRST_BUFFERS, the next two of twice as many, and so
 * on -, fewer where so many have more than 6 M tags, where the thread ends, where more threads run than chunks can be open at once (TW_OUTPUT_LANES), or where they take longer than TW_CHUNK_NS
 * to come.
 *
 * By the drain loop only.
 */
#ifndef TW_OUTPUT_QUEUE_H
#define TW_OUTPUT_QUEUE_H

#include "channel/demux.h"
#include "channel/far.h"
#include "channel/output_job.h"

struct tw_output;

/* An empty job, to be filled and given back with tw_output_put or tw_output_drop (output_jobs.h). Waits until one is free. */
struct tw_job *tw_output_take(struct tw_output *o);
void tw_output_put(struct tw_output *o, struct tw_job *job);

/* With a spool: a buffer as it is, of this thread. Waits until there is a slot. `flags`: TW_CHUNK_TORN and TW_CHUNK_LAST, where that is known. */
struct tw_output_buffer {
	struct tw_thread_info thread;
	uint32_t flags;
	int dead; /* 1: its process has died, with */
	int32_t wait_status;
	const struct tw_far_buffer *far; /* where it is to be read; NULL: in memory */
};
void tw_output_spool(struct tw_output *o, const struct tw_output_buffer *buffer, const struct tw_demux_input *in);

/* Before anything of this thread is put: so many chunks of it are in the recording, and in them so much. TW_ERR_MEMORY. */
int tw_output_resume(struct tw_output *o, uint32_t serial, uint32_t chunks, const struct tw_totals *before);

/* There is this thread: analyzers that run along are to know it before others come. */
void tw_output_tell_thread(struct tw_output *o, const struct tw_thread_info *thread);

/* Nothing more comes of this thread. */
void tw_output_thread_ends(struct tw_output *o, uint32_t serial);

/*
 * The drain loop calls it when it has nothing to do. Where many descriptors have come at once, as those that were kept do before anything has run, a thread begins to write them, and a lane is
 * made: a short program has ended by the time that this is done.
 */
void tw_output_prepare(struct tw_output *o);

/*
 * So many threads of programs are at work. As long as there is room in the spool they have as many processors: fewer lanes are at work, though always one. Once the program has had to wait
 * for a slot this does nothing any more. The drain loop calls it now and then.
 */
void tw_output_make_way(struct tw_output *o, unsigned threads);

/* Has chunks written that have been open for longer than TW_CHUNK_NS. The drain loop calls it now and then. */
void tw_output_age(struct tw_output *o);

#endif
