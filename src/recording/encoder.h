/*
 * The state of an encoder, shared by encode.c and the machine code of encode_code.c. No one else includes this.
 */
#ifndef TW_ENCODER_H
#define TW_ENCODER_H

#include "recording/predictor.h"
#include "recording/transform.h"

/* A piece being encoded: what is left of it, and where what comes of it goes. */
struct tw_encoder_piece {
	const uint16_t *c, *c_end;
	const uint64_t *m, *m_end;
	uint8_t *runs, *codes, *literals;
	uint64_t run;              /* values predicted since the last that was not */
	uintptr_t literals_before; /* and `literals`: bytes of literals of the chunk so far */
};

struct tw_encoder {
	struct tw_value_predictor values;
	struct tw_encoder_piece piece;
	struct tw_records records;    /* being encoded */
	uint16_t *tags_end;           /* of all_tags, where the next one goes */
	struct tw_encoder_code *code; /* NULL: there is none */
	struct tw_tag_predictor tags;
	uint8_t tag_after
	    [1
	     << TW_CONTEXT_BITS]; /* of the tag that tags.after leads to a few bits, as tags themselves are far away; 0: they are not known */
	size_t tags_coded;        /* of all_tags */
	uint32_t n_slots;         /* that values.slot has */
	uint64_t tag_run, value_run; /* predicted since the last that was not */
	uintptr_t literals;          /* bytes of them, of the chunk so far */
	uint32_t thread;             /* that the last chunk was of, or TW_NO_THREAD */
	uint8_t generation;          /* of what encode_records.c knows of fragments: it stays as long as chunks are of one thread */
	size_t n_heads;              /* fragments whose records encode_records.c has known in this chunk */
	int odd;                     /* values did not fit the tags of a piece: it must be the last */
	struct tw_bytes all_tags;    /* of the chunk so far */
	struct tw_coded coded;
};

/* Generations, none of which is a register's number. */
enum { TW_FIRST_GENERATION = TW_SLOT_NO_REGISTER + 1, TW_LAST_GENERATION = UINT8_MAX };

/* A slot's values are literals no more when so many in a row would have been predicted. */
enum { TW_MOST_PREDICTED = 12 };

/* Whether they would have been is looked at where these bits of the bytes of literals so far are 0, an eighth of the time: it takes as long as all else. */
enum { TW_NOT_LOOKED_AT = 7 << 16 };

/* The slots of the fragment with this tag, ready for an execution, and how many. NULL: it is not known. */
struct tw_value_slot *tw_encoder_slots(struct tw_encoder *e, uint16_t tag, uint32_t *n);

/* A value that is not what the slot's way says: says what it is, by the way that would have predicted it if it is looked for, or as a literal. */
void tw_encoder_miss(struct tw_encoder *e, struct tw_value_slot *s, uint64_t value, int look);

/* The next value, of this slot, `run` values as predicted after the last that was not. Returns that number behind it. */
uint64_t tw_encoder_value(struct tw_encoder *e, struct tw_value_slot *slot, uint64_t value, uint64_t run);

#endif
