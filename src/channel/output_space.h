/*
 * A disk that fills: recording stops while there is still room for what has been executed, so that none of it is lost. What a file system does not tell of (quotas, others who
 * write much at the same moment) is met by the write that fails: then the chunks that are not written are lost.
 */
#ifndef TW_OUTPUT_SPACE_H
#define TW_OUTPUT_SPACE_H

#include <stdint.h>

struct tw_output;

/* Notes how much there is to begin with. */
void tw_output_space_begin(struct tw_output *o);

/*
 * Looks whether there is room for a buffer of so many bytes, in the spool if there is one, and for all that is not written yet. If not, waits for chunks to be written, which take less than was
 * expected, and leave slots of the spool; if there are none recording ends: chunks that have begun are still written. By the drain loop, before each buffer.
 */
void tw_output_space_look(struct tw_output *o, uint64_t bytes);

#endif
