/*
 * Converts buffers of the tagged form and of bits to the plain form (channel.h), the only one that the rest of the
 * collector knows. Buffers in formats dep06, dep06-c and cf_bit say less than the plain form does. Which blocks ran
 * is found from their addresses, or by walking the code; which values a record holds is found by following the status
 * of each register. Both use the descriptors.
 *
 * The tagged form, of dep06 and dep06-c. Units of 16 bits, without alignment:
 *      L, not 0                the block with tag H << 16 | L ran; H is the upper half in force
 *      0, H >= 16              the upper half that follows
 *      0, 2, H                 the block with tag H << 16 ran
 *      0, 1, type, ...         an event, as in the plain form
 *      0, 0                    nothing written from here on
 * A KEYFRAME sets H, and makes all registers UPDATED. A block's tag is followed by its values, in the order of its
 * operations. A RECORD has one if the status of its register is UPDATED, which makes it RECORDED; other operations
 * have those that their slots require. A WRITTEN makes registers UPDATED. A block that did not run to its end is the
 * last of its buffer: then the slack begins with a PARTIAL event about it, possibly followed by other events.
 *
 * Bits, of format cf_bit. Units of 32 bits; events are as in the plain form, but padded to a multiple of 4. Either
 * the walk stands; then one of these follows:
 *      an event                one that is in the plain form too
 *      2, 0, 64-bit pc         not here: see below
 *      3, tag                  the walk begins at the block with this tag; a group follows
 *      4, tag                  the block with this tag ran, as the PARTIAL event before says
 *      0                       nothing written from here on
 * Or it walks, from block to block by the descriptors, and takes from the buffer what they do not tell, in the order
 * in which it is needed:
 *      a group                 up to 31 bits below a one, the upper ones first: for each conditional branch whether it jumps, for each block with
 *                              TW_DESC_TICK one that means nothing. After a START, and after the last of 31 bits has been used, the next group
 *                              follows; 0: never written
 *      a tag                   the target of an indirect branch
 *      2, 0, 64-bit pc         (STOP) when all bits have been used, and the walk is at this pc, or, if that is 0, needs a bit or a tag: it stands again
 * So a stop is exact unless there is a loop that needs nothing; blocks that would close one tick. At an address, the
 * walk takes the block that was there first (without TW_DESC_ANNOUNCED); others are announced by their tags. If there
 * is no room left in the data, the buffer continues at the start of the slack.
 *
 * Tags are those of descriptors of the program that the KEYFRAME names.
 */
#ifndef TW_EXPAND_H
#define TW_EXPAND_H

#include "channel/demux.h"

struct tw_expand;

/*
 * For recordings of this format. NULL: no memory. `logged`: REFS events follow the blocks (--verify). `count_only`:
 * blocks whose values need not be examined are not written but counted in the tally, if that is quick.
 */
struct tw_expand *tw_expand_new(uint32_t format, int logged, int count_only);
void tw_expand_free(struct tw_expand *x);

/*
 * Takes adjacent descriptors that tw_demux_descriptors has taken; they are used in place and must stay valid. Returns
 * 0 or TW_ERR_MEMORY.
 */
int tw_expand_descriptors(struct tw_expand *x, const uint8_t *bytes, uint64_t n);

/*
 * A program (identified by the lower half of its serial number) has ended, and none of its buffers is left: its
 * descriptors are no longer used. Adds the counts of blocks that were not written.
 */
void tw_expand_forget(struct tw_expand *x, uint32_t program, struct tw_totals *totals);

/* Begins a buffer. `torn`: its thread died in it; in->bytes is then the whole buffer. */
void tw_expand_begin(struct tw_expand *x, const struct tw_demux_input *in, int torn);

/*
 * The next piece of it as a buffer of the plain form, valid until the next call but one. Each begins with a KEYFRAME;
 * in all but the first its registers are 0, since they are unknown. *last: it is the last. Returns 1; 0 when none is
 * left; or TW_ERR_FRAGMENT or TW_ERR_STREAM if the buffer is not what the engine writes.
 */
int tw_expand_next(struct tw_expand *x, struct tw_demux_input *out, int *last);

/* Adds what was counted of all others and not written. */
void tw_expand_tally(struct tw_expand *x, struct tw_totals *totals);

/* Bytes of the buffer that were looked at. */
uint32_t tw_expand_used(const struct tw_expand *x);

#endif
