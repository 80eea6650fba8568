/*
 * The second half of the collector: threads that compare (--verify), encode, compress and write what the drain loop
 * took from the buffers, so that a slow disk does not delay draining. If too much is under way the drain loop waits.
 *
 * A chunk of the recording is TW_CHUNK_BUFFERS buffers of one traced thread; its first two chunks have
 * TW_FIRST_BUFFERS, the next two twice as many, and so on. A chunk has fewer buffers if the thread ends, if more
 * threads run than chunks can be open at once (TW_OUTPUT_LANES), or if the buffers take longer than TW_CHUNK_NS to
 * arrive. Each open chunk has a lane: an encoding thread and a queue.
 *
 * With a spool (spool.h) the drain loop only copies: buffers wait unchanged in a file, and the lane separates their
 * contents. A slot of the spool is free again when the chunk is written, so if a collector is killed, everything it
 * had not written is in the spool. Only as many lanes work as there are processors.
 *
 * If writing fails the output says so once on stderr and then discards, so that the program is not delayed.
 */
#ifndef TW_OUTPUT_H
#define TW_OUTPUT_H

#include "channel/output_options.h"

struct tw_output;

/* Starts the threads. */
int tw_output_new(const struct tw_output_options *options, struct tw_output **out);

/* With a ring: writes its present contents, and what has been put so far as far as it becomes complete soon. By any thread. */
void tw_output_keep(struct tw_output *o);

/* Bytes of buffers that have been put, and that wait. From any thread. */
void tw_output_waiting(struct tw_output *o, uint64_t *put, uint64_t *waiting);

/* With a spool, when nothing more will be put: what is not encoded yet stays in it, as if the collector had been killed. */
void tw_output_abandon(struct tw_output *o);

/* Nothing more will be put: waits until nothing is waiting, at most `ms` milliseconds. Returns what still waits. */
uint64_t tw_output_settle(struct tw_output *o, unsigned ms);

/*
 * How many jobs have been put, and whether that many are done: nobody needs the descriptors of their fragments any
 * more. By the drain loop only.
 */
uint64_t tw_output_put_so_far(const struct tw_output *o);
int tw_output_is_done(struct tw_output *o, uint64_t put);

/* What has been recorded so far (instructions and references), and bytes stored. From any thread. */
void tw_output_progress(struct tw_output *o, struct tw_totals *so_far, uint64_t *stored);

/* Adds counts that are in no chunk. */
void tw_output_add(struct tw_output *o, const struct tw_totals *totals);

/* Waits until everything is written, descriptors included, and ends the threads. Nothing but tw_output_free may be called behind it. */
void tw_output_finish(struct tw_output *o, struct tw_output_result *result);

/* After tw_output_finish, by any thread; the writer may be closed meanwhile. */
void tw_output_free(struct tw_output *o);

#endif
