/*
 * A lane: a thread that compares, encodes and compresses the buffers of one chunk after another, and writes each
 * chunk when it is complete and its turn has come.
 */
#ifndef TW_OUTPUT_LANE_H
#define TW_OUTPUT_LANE_H

struct tw_output;

/*
 * Adds a lane, at most o->most_lanes. Its thread ends when nothing more will be put and its queue is empty. Called
 * under the lock, by the drain loop. `ahead`: there is no work yet; the lane prepares what its first chunk needs.
 */
int tw_output_lane_start(struct tw_output *o, int ahead);

/*
 * The program has ended: from now on, lanes have the priority of the calling thread. Not under the lock; by one
 * thread, after the drain loop.
 */
void tw_output_hasten(struct tw_output *o);

/* All chunks have received everything they will get. Called under the lock. */
void tw_output_end_feeding(struct tw_output *o);

/* Everything waits for encoding only: from now on, as many lanes work as there are processors. Called under the lock. */
void tw_output_run_all(struct tw_output *o);

/* When no lane is at work any more. */
void tw_output_free_places(struct tw_output *o);

#endif
