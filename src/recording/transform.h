/*
 * The transform: it turns the C and M streams of a chunk into what a predictor got wrong, which is little and
 * compresses well.
 *
 * Tags are expected in the order in which they occurred before. Values are predicted from the last value of the same
 * register, of the same slot, and from what followed the slot's last value before. Encoder and decoder run the same
 * predictor (predictor.h), which is reset for every chunk, so that each chunk can be decoded alone. docs/format.md
 * describes the bytes. The E stream is unchanged.
 *
 * An encoder serves one thread at a time; any number of encoders and decoders may share a value map.
 */
#ifndef TW_TRANSFORM_H
#define TW_TRANSFORM_H

#include "recording/value_map.h"
#include <trackway/recording.h>

/* A growing run of bytes. */
struct tw_bytes {
	uint8_t *at;
	size_t n, room;
	size_t ready; /* bytes that have pages; more may */
};

/* The parts of the sections of an encoded chunk, in order: two of C, three of M, one of E. */
enum tw_part { TW_PART_TAG_RUNS, TW_PART_SYMBOLS, TW_PART_VALUE_RUNS, TW_PART_CODES, TW_PART_LITERALS, TW_PART_EVENTS, TW_NPARTS };

/* One chunk, as far as it has been encoded. */
struct tw_coded {
	uint64_t raw[TW_NSTREAMS];       /* bytes before */
	struct tw_bytes part[TW_NPARTS]; /* and after. Between calls any part may be taken away: its `n` set to 0 */
};

/* The parts of this stream's section: *first and how many. */
unsigned tw_section_parts(unsigned stream, enum tw_part *first);

/* Makes room for n more. */
int tw_bytes_reserve(struct tw_bytes *b, size_t n);
int tw_bytes_append(struct tw_bytes *b, const void *bytes, size_t n);

/* Appends the section of a stream, all of whose parts are there, to *to. TW_ERR_MEMORY. */
int tw_coded_section(const struct tw_coded *coded, unsigned stream, struct tw_bytes *to);

struct tw_encoder;
struct tw_encoder_code;

/* `map` must stay, and `code` (encode_code.h), which all encoders of the map may share; NULL: none. NULL: no memory. */
struct tw_encoder *tw_encoder_new(const struct tw_value_map *map, struct tw_encoder_code *code);
void tw_encoder_free(struct tw_encoder *e);

/*
 * A chunk is encoded in any number of pieces, each with whole executions and events: begin, add, add, ..., end. All
 * fragments must be in the map. `upper` is of the first piece; `thread` is the serial number of the chunk's thread,
 * so that what is known of its fragments' records is kept for its next chunk, or TW_NO_THREAD. After a failure only
 * tw_encoder_begin may follow. Values that no execution takes are kept if they are in the last piece.
 * TW_ERR_FRAGMENT: no descriptor. TW_ERR_STREAM: values that do not fit the tags of a piece that is not the last.
 */
#define TW_NO_THREAD UINT32_MAX
void tw_encoder_begin(struct tw_encoder *e, uint32_t upper, uint32_t thread);
int tw_encoder_add(struct tw_encoder *e, const struct tw_chunk *piece);
int tw_encoder_end(struct tw_encoder *e);

/*
 * A piece may also come in the form in which programs write it, as records: a tag, directly followed by its values.
 * Then: tw_encoder_open with room for the maximum that it may hold; tw_encoder_records, tw_encoder_record and
 * tw_encoder_more as often as needed, in execution order; tw_encoder_close.
 */

/* What executions count for: instructions, plus blocks << 32; references, plus reads << 32; writes. */
struct tw_record_sums {
	uint64_t insns_blocks, refs_reads, writes;
};

/* The same for records that stand for many executions in a row. */
struct tw_turn_sums {
	uint64_t insns, blocks, refs, reads, writes;
};

/* Records of the same shape: TW_RECORD_HEAD bytes, then as many values as the fragment has. */
enum { TW_RECORD_HEAD = 2 };
struct tw_records {
	const uint8_t *p;           /* the next */
	const uint8_t *limit;       /* the last place where one may start: all of it is there */
	struct tw_record_sums sums; /* of those taken */
	struct tw_turn_sums turns;  /* of those of loops */
};

int tw_encoder_open(struct tw_encoder *e, size_t n_c, size_t n_m, size_t n_e);

/* Takes records as far as there is machine code. Returns the current upper half of the numbers. */
uint32_t tw_encoder_records(struct tw_encoder *e, struct tw_records *r);

/*
 * Takes the next one, which is whole, and each execution of which counts for `each`; a loop has as many as its first
 * value says. TW_ERR_FRAGMENT.
 */
int tw_encoder_record(struct tw_encoder *e, struct tw_records *r, const struct tw_record_sums *each, int is_loop);

/* Takes everything that is not such a record, as streams: tags, their values and events. */
int tw_encoder_more(struct tw_encoder *e, const struct tw_chunk *streams);

/* 0 or TW_ERR_MEMORY. */
int tw_encoder_close(struct tw_encoder *e);

/* What has been encoded since tw_encoder_begin; it belongs to the encoder. */
struct tw_coded *tw_encoder_coded(struct tw_encoder *e);

/*
 * Decodes a C section of `n` bytes into exactly n_c tags. The previous contents of `p` do not matter. TW_ERR_DAMAGED
 * if it does not hold them.
 */
struct tw_tag_predictor;
int tw_decode_tags(struct tw_tag_predictor *p, const uint8_t *section, size_t n, uint16_t *c, size_t n_c);

/*
 * Decodes an M section of `n` bytes into chunk->m, where there is room for chunk->n_m values; C, E and `upper` of the
 * chunk are already there. The values end at a fragment without a descriptor, and chunk->n_m becomes smaller.
 * TW_ERR_DAMAGED, TW_ERR_MEMORY.
 */
int tw_decode_values(const struct tw_value_map *map, const uint8_t *section, size_t n, struct tw_chunk *chunk);

#endif
