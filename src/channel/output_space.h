/*
 * A disk that becomes full: recording stops while there is still room for everything that has been executed, so that
 * none of it is lost. What a file system does not report (quotas, others who write a lot at the same time) shows when
 * a write fails: then the unwritten chunks are lost.
 */
#ifndef TW_OUTPUT_SPACE_H
#define TW_OUTPUT_SPACE_H

#include <stdint.h>

struct tw_output;

/* Notes how much there is to begin with. */
void tw_output_space_begin(struct tw_output *o);

/*
 * Checks whether there is room for a buffer of this many bytes, in the spool if there is one, and for everything not
 * yet written. If not, waits for chunks to be written, which take less than was expected, and free slots of the
 * spool. If none are pending recording ends: chunks that have been started are still written. By the drain loop,
 * before each buffer.
 */
void tw_output_space_look(struct tw_output *o, uint64_t bytes);

/*
 * By how much the spool grows for a buffer of this size. Which slot it will get is not known, since slots become free
 * at any time: the one with the least on the disk is assumed. Called under the output's lock.
 */
uint64_t tw_output_space_growth(const struct tw_output *o, uint64_t bytes);

#endif
