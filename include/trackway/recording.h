/*
 * Recordings: what `trackway record` leaves on disk (docs/format.md), and how to read them.
 *
 * A recording is a directory. Per thread it holds a sequence of chunks; each chunk is what one buffer held, split into three streams
 * (C: tags, M: values, E: events), and starts with a keyframe of all registers, so it can be replayed alone. The descriptors of all fragments
 * stand in one file beside them.
 *
 * Every function that can fail returns 0 or a negative enum tw_error; tw_error_text() gives the sentence, tw_recording_detail() what it was
 * about (file, chunk, offset). Nothing here prints or exits. A recording may be read by many threads at once after tw_recording_open().
 */
#ifndef TRACKWAY_RECORDING_H
#define TRACKWAY_RECORDING_H

#include <stdint.h>
#include <stddef.h>
#include <trackway/descriptor.h>

/* One chunk, in memory. In the C stream a value >= TW_TAG_FIRST is the lower half of a fragment number; TW_TAG_EVENT stands where the next event
 * of the E stream happened; TW_TAG_UPPER is followed by the new upper half. (The tags and the events are those of src/channel/channel.h.) */
struct tw_chunk {
	uint32_t thread;      /* serial number of the thread in the recording */
	uint32_t sequence;    /* 0, 1, 2... within the thread */
	uint32_t upper;       /* upper half of the fragment numbers at the start */
	uint32_t flags;       /* enum tw_chunk_flags */
	uint64_t first_insn;  /* instructions, blocks and references of this thread before this chunk */
	uint64_t first_block;
	uint64_t first_ref;
	uint64_t insns, blocks, refs, reads, writes; /* in this chunk; a modify counts as one reference, one read and one write */
	uint16_t *c;          /* C stream */
	size_t n_c;           /* in 2-byte units */
	uint64_t *m;          /* M stream */
	size_t n_m;           /* in 8-byte units */
	uint8_t *e;           /* E stream: struct tw_event_header and payload, each event padded with zeros to a multiple of 8 */
	size_t n_e;           /* bytes */
};

enum tw_chunk_flags {
	TW_CHUNK_TORN = 1,   /* recovered from a thread that was killed: it ends with the last fragment known to be whole */
	TW_CHUNK_LAST = 2,   /* the thread's last chunk */
};

#endif
