/*
 * The state of an expansion, shared by its parts: what is written (expand_state.c), how blocks are found (expand_units.h), and the forms (expand_forms.h).
 * No one else includes this.
 */
#ifndef TW_EXPAND_STATE_H
#define TW_EXPAND_STATE_H

#include "channel/demux.h"
#include "recording/recording.h"

#include <string.h>

/* What the values of a block's record are. */
enum tw_value_kind {
	TW_VALUE_PLACED, /* in any case */
	TW_VALUE_TESTED, /* of register `reg`, if its status is UPDATED */
	TW_VALUE_AFTER,  /* likewise, stored behind its instruction; of register `reg` */
	TW_VALUE_END,    /* none: the last step */
};

/* One value; before it the registers in `written` become UPDATED. */
struct tw_value_step {
	uint8_t kind, reg;
	uint16_t written;
};

/* A run of tested values: first some registers become UPDATED, then these are tested. */
struct tw_value_span {
	uint16_t written, tested;
};

/* A block. */
struct tw_unit {
	const struct tw_descriptor *descriptor;
	struct tw_value_step *step;
	struct tw_unit *next; /* of its program */
	uint32_t tag;
	/* what counting looks at, close together */
	uint64_t ran;      /* executions that were only counted */
	uint16_t n_placed; /* values in any case */
	uint16_t n_spans;  /* 0: nothing is tested or written */
	uint8_t dynamic;   /* TW_DESC_DYNAMIC */
	struct tw_value_span span[];
};

/* What was looked up last, by tag. */
struct tw_unit_cache {
	uint32_t tag, program;
	struct tw_unit *unit;
};
enum { TW_UNIT_CACHE = 16384 };

/* Units by a key; open addressing. */
struct tw_unit_map {
	struct tw_unit **slot;
	size_t n, size; /* size: 0, or a power of two */
};

/* The blocks of one program. */
struct tw_unit_program {
	struct tw_unit *units;
	struct tw_unit_map by_tag;
	struct tw_unit_map by_pc; /* those that their address stands for, but not their tag */
};

enum { TW_UNIT_PROGRAMS = 65536 };

struct tw_expand {
	uint32_t format;
	int logged;
	struct tw_unit_program *programs[TW_UNIT_PROGRAMS]; /* by the lower half of the serial number; NULL: nothing is known of it */
	struct tw_unit_cache cache[TW_UNIT_CACHE];
	int count_only; /* plain blocks are counted where they stand, and not written */
	/* the buffer */
	const uint8_t *data, *data_end, *slack;
	const uint8_t *p, *end; /* in the data, or in the slack */
	uint32_t slack_bytes;
	int torn, ended;
	uint32_t upper, program;
	uint16_t updated; /* registers whose status is UPDATED */
	uint64_t value[TW_NREGS];
	/* the walk: format cf_bit */
	int walks;
	const struct tw_unit *unit; /* the block that comes next; NULL: the one at */
	uint64_t pc;
	uint32_t group; /* bits: the lowest n_bits of it are still to be used, the upper ones first */
	unsigned n_bits;
	int complete;       /* it was, and so there is another */
	uint8_t *confirmed; /* what is written up to here has run for certain */
	/* the piece being written */
	uint8_t *piece[2];
	unsigned turn;
	uint8_t *to;
	uint32_t to_upper;
	struct tw_keyframe keyframe; /* the last one, its registers taken out */
	int has_keyframe;
};

/* A block and what goes with it takes no more in a piece; with its REFS event no more than the second. */
enum { TW_EXPAND_MARGIN = 12288, TW_EXPAND_LOGGED = 540 * 1024 };

/* Is there room for a block, and what goes with it, in this piece? */
int tw_expand_room(const struct tw_expand *x);

/* Begins the record of a unit: its number, and what has to come before that. Its values are to be written at x->to. */
void tw_expand_put_number(struct tw_expand *x, const struct tw_unit *u);

/* The whole event at p, or NULL where none is before `end`. */
const struct tw_event_header *tw_expand_event(const uint8_t *p, const uint8_t *end, struct tw_event_header *head);

/* Writes a KEYFRAME of the state of now, with what *k has besides. */
void tw_expand_put_keyframe(struct tw_expand *x, const struct tw_keyframe *k);

/* Writes the event whose header, of which *h is an aligned copy, begins at p; a KEYFRAME sets the state. */
void tw_expand_put_event(struct tw_expand *x, const struct tw_event_header *h, const uint8_t *p);

#endif
