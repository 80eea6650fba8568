/*
 * From a buffer of a traced thread to a chunk of three streams, with everything in it counted. This is the
 * collector's hot loop: each tag is looked up in a flat table that the demultiplexer builds from the descriptors
 * (demux_table.c). Buffers are kept (demux_buffer.c), encoded (demux_encode.c) or only counted (demux_count.c), by
 * the same walk through their records (demux_walk.h). What a dead thread left is cut first (demux_torn.c).
 *
 * No function here touches the channel's state; the caller owns the buffers. One thread adds descriptors, forgets
 * them and counts. Meanwhile any number of threads may call tw_demux_buffer, for buffers whose descriptors have been
 * added, and tw_demux_descriptor.
 */
#ifndef TW_DEMUX_H
#define TW_DEMUX_H

#include "base/channel.h"

#include <string.h>
#include <trackway/recording.h>

/* The data part as far as it is read: if a SLACK tag fills its last two bytes, the offset follows it. */
#define TW_DEMUX_DATA (TW_BUFFER_BYTES + 2)

/* Room that a chunk needs for any buffer. E: every event grows by its padding. */
#define TW_DEMUX_C ((TW_BUFFER_BYTES + TW_SLACK_BYTES) / 2)
#define TW_DEMUX_M ((TW_BUFFER_BYTES + TW_SLACK_BYTES) / 8 + 8)
#define TW_DEMUX_E ((TW_BUFFER_BYTES + TW_SLACK_BYTES) * 2)

struct tw_demux;

/*
 * For a thread: after how many more instructions it stops, which tw_demux_buffer does not change, and whether its
 * stream says that it has (WINDOW).
 */
struct tw_demux_stop {
	uint64_t insns;
	int told;
};

/* What one buffer holds. */
struct tw_demux_input {
	const uint8_t *data, *slack;
	uint32_t bytes, slack_end; /* as in struct tw_slot; for a torn buffer, what tw_demux_torn_end found */
	/*
	 * For tw_demux_buffer, if recording stops at a count; or NULL. What comes after that is dropped, as if the window
	 * had closed there.
	 */
	struct tw_demux_stop *stop;
};

/* NULL if there is no memory. `count_refs`: count references from REFS events, not from descriptors (format `call`). */
struct tw_demux *tw_demux_new(int count_refs);
void tw_demux_free(struct tw_demux *d);

/*
 * Takes descriptors, back to back, at `bytes`; they are used in place and must stay. Returns 0; or TW_ERR_DAMAGED
 * with *used the bytes of the good ones before the damage; or TW_ERR_MEMORY.
 */
int tw_demux_descriptors(struct tw_demux *d, const uint8_t *bytes, uint64_t n, uint64_t *used);

/* The descriptors of this stretch of numbers are no longer used. */
void tw_demux_forget(struct tw_demux *d, uint32_t first);

/* Nor is that of this number. */
void tw_demux_forget_one(struct tw_demux *d, uint32_t number);

/* A descriptor by number, or NULL. Callable from any thread. */
const struct tw_descriptor *tw_demux_descriptor(const struct tw_demux *d, uint32_t number);

/*
 * Fragments with claimed numbers (base/store.h) that no buffer contained, by number, in order: a program runs only
 * part of its kept translations. Not known where buffers are only counted. For free(); NULL: there are none, or no
 * memory. Call when no buffer is walked any more.
 */
uint32_t *tw_demux_idle(const struct tw_demux *d, size_t *n);

/*
 * Fills the streams, the counts, `upper` and TW_CHUNK_LAST of *chunk, whose three arrays have the room given above.
 * The rest of *chunk stays as it is. TW_ERR_FRAGMENT or TW_ERR_STREAM if the buffer is not valid; then the chunk
 * holds what came before.
 */
int tw_demux_buffer(struct tw_demux *d, const struct tw_demux_input *in, struct tw_chunk *chunk);

/*
 * Likewise, but the contents of the buffer are encoded as it is walked. The chunk's arrays are only working space,
 * except `e`, which holds all events. n_c and n_m say how many tags and values there were. TW_ERR_MEMORY, too.
 */
struct tw_encoder;
int tw_demux_encode(struct tw_demux *d, const struct tw_demux_input *in, struct tw_chunk *chunk, struct tw_encoder *encoder);

/*
 * Counts a buffer and keeps only its events. The chunk has the counts of these and of fragments that are not plain;
 * its n_c and n_m are their numbers of tags and values. The rest is in the tally. Result as for tw_demux_buffer.
 */
int tw_demux_count(struct tw_demux *d, const struct tw_demux_input *in, struct tw_chunk *chunk);

/* What tw_demux_count has counted since the last call: insns, blocks, refs, reads, writes, raw. */
void tw_demux_tally(struct tw_demux *d, struct tw_totals *totals);

/*
 * For the buffer that a thread was writing when it died: sets in->bytes and in->slack_end to the end of its last
 * whole record. A fragment at the very end is dropped if its last value is zero, which may mean not written yet, or
 * if references are logged (`logged`) and its own are missing. Events are whole if they can be seen at all; a PARTIAL
 * without its fragment is dropped.
 */
void tw_demux_torn_end(const struct tw_demux *d, struct tw_demux_input *in, int logged);

/* 16 bits, aligned or not. */
static inline uint16_t tw_get16(const uint8_t *p)
{
	uint16_t v;
	memcpy(&v, p, sizeof v);
	return v;
}

/* Walks the events of a chunk that tw_demux_buffer made: start with *at = 0; the payload follows the header. NULL at the end. */
const struct tw_event_header *tw_demux_next_event(const struct tw_chunk *chunk, size_t *at);

/* Takes the REFS events out of a chunk. */
void tw_demux_strip_refs(struct tw_chunk *chunk);

#endif
