/*
 * A lane: a thread that compares, encodes and compresses the buffers of one chunk after another, and writes each chunk when it is whole and its turn has come.
 */
#ifndef TW_OUTPUT_LANE_H
#define TW_OUTPUT_LANE_H

struct tw_output;

/* The thread; `lane` is a struct tw_lane of the output. It ends when nothing more will be put and its queue is empty. */
void *tw_output_lane_run(void *lane);

#endif
