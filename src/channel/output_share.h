/*
 * Work that idle lanes take over from others when nothing more will be put: a short program has only few chunks, so
 * the last one would be encoded on one processor while all others are idle.
 */
#ifndef TW_OUTPUT_SHARE_H
#define TW_OUTPUT_SHARE_H

struct tw_output;
struct tw_lane;

/* Enables this from now on. With a spool, after tw_output_end_feeding. Called under the lock. */
void tw_output_begin_sharing(struct tw_output *o);

/*
 * Has the lane, whose queue is empty and which has no open chunk, got something: a chunk that another lane has not
 * started, or the rest of the last chunk of a thread, which becomes a separate chunk? Called under the lock.
 */
int tw_output_share(struct tw_output *o, struct tw_lane *l);

#endif
