/*
 * The second half of the collector: threads that compare (--verify), encode, compress and write what the drain loop took from the buffers, so that a slow
 * disk does not hold up draining. When too much is under way the drain loop waits.
 *
 * A chunk of the recording is TW_CHUNK_BUFFERS buffers of one traced thread - its first two are of TW_FIRST_BUFFERS, the next two of twice as many, and so
 * on -, fewer where the thread ends, where more threads run than chunks can be open at once (TW_OUTPUT_LANES), or where they take longer than TW_CHUNK_NS
 * to come. Each open chunk has a lane: an encoding thread and a queue.
 *
 * With a spool (spool.h) the drain loop leaves it at that: buffers wait in a file as they are, and the lane takes them apart. A slot of the spool is free again when the
 * chunk is written, so what a collector that is killed had not written is in the spool. Only as many lanes are at work as there are processors.
 *
 * When writing fails the output says so once on stderr and goes on discarding, so that the program is not held up.
 */
#ifndef TW_OUTPUT_H
#define TW_OUTPUT_H

#include "channel/output_options.h"

struct tw_output;

/* Starts the threads. */
int tw_output_new(const struct tw_output_options *options, struct tw_output **out);

/* With a ring: writes what is in it now, and what has been put so far as far as it becomes whole in a moment. By any thread. */
void tw_output_keep(struct tw_output *o);

/* Bytes of buffers that have been put, and that wait. From any thread. */
void tw_output_waiting(struct tw_output *o, uint64_t *put, uint64_t *waiting);

/* With a spool, when nothing more will be put: what is not encoded yet stays in it, as if the collector had been killed. */
void tw_output_abandon(struct tw_output *o);

/* Nothing more will be put: waits until nothing waits any more, but no longer than `ms` milliseconds. Returns what still waits. */
uint64_t tw_output_settle(struct tw_output *o, unsigned ms);

/* How many jobs have been put, and whether so many are done: nobody needs the descriptors of their fragments any more. By the drain loop only. */
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
