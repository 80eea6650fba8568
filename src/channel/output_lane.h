/*
 * A lane: a thread that compares, encodes and compresses the buffers of one chunk after another, and writes each chunk when it is whole and its turn has come.
 */
#ifndef TW_OUTPUT_LANE_H
#define TW_OUTPUT_LANE_H

struct tw_output;

/* One lane more, o->most_lanes at the most. Its thread ends when nothing more will be put and its queue is empty. Called under the lock, by the drain loop. `ahead`: there is
 * nothing to do for it yet, and it makes ready what its first chunk takes. */
int tw_output_lane_start(struct tw_output *o, int ahead);

/* The program has ended: lanes have the priority of the calling thread from here on. Not under the lock; by one thread, when the drain loop has ended. */
void tw_output_hasten(struct tw_output *o);

/* All chunks have got what they will get. Called under the lock. */
void tw_output_end_feeding(struct tw_output *o);

/* Encoding is what is waited for: as many lanes are at work as there are processors, from here on. Called under the lock. */
void tw_output_run_all(struct tw_output *o);

/* When no lane is at work any more. */
void tw_output_free_places(struct tw_output *o);

#endif
