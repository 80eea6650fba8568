/*
 * The values of a chunk, decoded one execution at a time from its M section (transform.h), in the order of executions
 * in the C stream.
 *
 * Predicted values, and literals in slots of such, can be computed by others too: replay makes machine code for it
 * (replay/compile_values.c), on the state below, and calls tw_value_reader_miss() for the rest. A reader serves one
 * thread at a time, one chunk after another.
 */
#ifndef TW_VALUE_READER_H
#define TW_VALUE_READER_H

#include "recording/predictor.h"

/* One part of a section, as far as it is not read. */
struct tw_section_part {
	const uint8_t *at, *end;
};

struct tw_value_reader {
	struct tw_value_predictor p; /* a slot's epoch is 1 once its fragment has run in this chunk */
	int64_t
	    run; /* predicted values (whose literals are there) before tw_value_reader_miss() must be called; negative: section not valid */
	uint64_t more; /* those that come as predicted after them */
	struct tw_section_part runs, codes, literals;
	uint32_t n_slots;
};

/* `map` must stay; fragments added to it later have no values here. So must `slots`, room for as many as tw_value_map_slots() said: n. */
void tw_value_reader_init(struct tw_value_reader *r, const struct tw_value_map *map, struct tw_value_slot *slots, uint32_t n);

/* Begins with a chunk, whose M section must stay. TW_ERR_DAMAGED. */
int tw_value_reader_begin(struct tw_value_reader *r, const uint8_t *section, size_t n);

/* A keyframe sets all registers. */
void tw_value_reader_keyframe(struct tw_value_reader *r, const uint64_t *regs);

/*
 * The n values of the next execution, which is of fragment `number`. TW_ERR_DAMAGED: the section has none, or the
 * fragment has not that many.
 */
int tw_value_reader_take(struct tw_value_reader *r, uint32_t number, uint32_t n, uint64_t *m);

/* A value that no execution takes. */
int tw_value_reader_take_odd(struct tw_value_reader *r, uint64_t *m);

/* The chunk must have no more values. TW_ERR_DAMAGED. */
int tw_value_reader_end(const struct tw_value_reader *r);

/* ---- for who works values out himself ---- */

/* The slots of a fragment that runs for the first time: its slots' epoch is 0 before, 1 afterwards. */
void tw_value_reader_start(struct tw_value_reader *r, uint32_t number);

/* The value of this slot, `run` being 0: mispredicted, or the first of `more`. `run` is 0 or more again unless the section is not valid. */
uint64_t tw_value_reader_miss(struct tw_value_reader *r, uint32_t slot);

/*
 * The value of this slot, which is as its mode predicts: `run` was more than 0, and has been counted down. `run` is
 * negative if there is no literal.
 */
uint64_t tw_value_reader_hit(struct tw_value_reader *r, uint32_t slot);

/* Parts a section into n parts, which fill it. TW_ERR_DAMAGED. */
int tw_section_split(const uint8_t *section, size_t n, struct tw_section_part *part, unsigned n_parts);

/* The next run; -1: there is none. */
int64_t tw_section_run(struct tw_section_part *runs);

#endif
