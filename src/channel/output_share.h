/*
 * What lanes that have nothing to do take from others when nothing more will be put: a short program has only few chunks, so that the last one would be encoded on one processor while all
 * others are idle.
 */
#ifndef TW_OUTPUT_SHARE_H
#define TW_OUTPUT_SHARE_H

struct tw_output;
struct tw_lane;

/* From now on they do. With a spool, after tw_output_end_feeding. Called under the lock. */
void tw_output_begin_sharing(struct tw_output *o);

/*
 * Whether the lane, whose queue is empty and which has no chunk open, has got something: a chunk that another lane has not begun, or the rest of the last chunk of a thread, which
 * becomes a chunk of its own. Called under the lock.
 */
int tw_output_share(struct tw_output *o, struct tw_lane *l);

#endif
