/*
 * A lane: a thread that compares, encodes and compresses the buffers of one chunk after another, and writes each chunk when it is whole and its turn has come.
 */
#ifndef TW_OUTPUT_LANE_H
#define TW_OUTPUT_LANE_H

struct tw_output;

/*
 * Adds a lane, at most o->most_lanes. Its thread ends when nothing more will be put and its queue is empty. Called
 * under the lock, by the drain loop. `ahead`: it has no work yet, and prepares what its first chunk needs.
 */
int tw_output_lane_start(struct tw_output *o, int ahead);

/*
 * The program has ended: lanes have the priority of the calling thread from now on. Not under the lock; by one
 * thread, when the drain loop has ended.
 */
void tw_output_hasten(struct tw_output *o);

/* All chunks have received everything they will get. Called under the lock. */
void tw_output_end_feeding(struct tw_output *o);

/* Only encoding is being waited for: from now on as many lanes work as there are processors. Called under the lock. */
void tw_output_run_all(struct tw_output *o);

/* When no lane is at work any more. */
void tw_output_free_places(struct tw_output *o);

#endif
