/*
 * The state of an encoder, shared by encode.c and the machine code of encode_code.c. Not to be included elsewhere.
 */
#ifndef TW_ENCODER_H
#define TW_ENCODER_H

#include "recording/predictor.h"
#include "recording/transform.h"

/* A piece being encoded: the rest of it, and the place of the result. */
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
	    [1 << TW_CONTEXT_BITS];  /* a few bits of the tag to which tags.after leads, since tags themselves are far away; 0: unknown */
	size_t tags_coded;           /* of all_tags */
	uint32_t n_slots;            /* that values.slot has */
	uint64_t tag_run, value_run; /* predicted since the last that was not */
	uintptr_t literals;          /* bytes of them, of the chunk so far */
	uint32_t thread;             /* that the last chunk was of, or TW_NO_THREAD */
	uint8_t generation;          /* of what encode_records.c knows of fragments: valid while chunks belong to one thread */
	size_t n_heads;              /* fragments whose records encode_records.c has known in this chunk */
	int odd;                     /* values did not fit the tags of a piece: it must be the last */
	struct tw_bytes all_tags;    /* of the chunk so far */
	struct tw_coded coded;
};

/* Generations, none of which is a register's number. */
enum { TW_FIRST_GENERATION = TW_SLOT_NO_REGISTER + 1, TW_LAST_GENERATION = UINT8_MAX };

/* A slot's values stop being literals when this many in a row would have been predicted. */
enum { TW_MOST_PREDICTED = 12 };

/*
 * This is checked where these bits of the byte count of literals are 0, an eighth of the time: the check takes as
 * long as everything else.
 */
enum { TW_NOT_LOOKED_AT = 7 << 16 };

/* The slots of the fragment with this tag, ready for an execution, and their number. NULL: unknown. */
struct tw_value_slot *tw_encoder_slots(struct tw_encoder *e, uint16_t tag, uint32_t *n);

/*
 * A value that is not as the slot's mode predicts: writes what it is, as the mode that would have predicted it, if
 * that is looked for, or as a literal.
 */
void tw_encoder_miss(struct tw_encoder *e, struct tw_value_slot *s, uint64_t value, int look);

/* The next value, of this slot, with `run` predicted values since the last misprediction. Returns the new run. */
uint64_t tw_encoder_value(struct tw_encoder *e, struct tw_value_slot *slot, uint64_t value, uint64_t run);

#endif
