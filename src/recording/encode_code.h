/*
 * Machine code for the encoder: for each frequent fragment a piece that takes its values, works out what was predicted for each and compares the two. Each
 * value has branches of its own there, predicted by what came of it before. Encoders share the code; any number may run and add it.
 */
#ifndef TW_ENCODE_CODE_H
#define TW_ENCODE_CODE_H

#include <stddef.h>
#include <stdint.h>

struct tw_encoder;
struct tw_encoder_code;
struct tw_record_sums;
struct tw_value_slot;

/*
 * Encodes the next value, of this slot, `run` values as predicted after the last that was not, as code does that is not there: tw_encoder_value. Returns that
 * number behind it.
 */
typedef uint64_t (*tw_encoder_value_function)(struct tw_encoder *e, struct tw_value_slot *slot, uint64_t value, uint64_t run);

struct tw_encoder_code *tw_encoder_code_new(tw_encoder_value_function value); /* NULL: no memory */
void tw_encoder_code_free(struct tw_encoder_code *c);

/* Encodes the values of e->piece as far as code goes: to the end of the tags, or before a tag without code, an event, a fragment whose values are not
 * all there. e->values.upper and row are of that place. */
void tw_encoder_code_run(struct tw_encoder_code *c, struct tw_encoder *e);

/* Likewise the records of e->records, whose tags it writes: up to their limit, or before one without code. */
void tw_encoder_code_run_records(struct tw_encoder_code *c, struct tw_encoder *e);

/* Whether a record with this tag has code that tw_encoder_code_run_records would begin with. */
int tw_encoder_code_has_record(const struct tw_encoder_code *c, const struct tw_encoder *e, uint16_t tag);

/* Whether records are to be taken by code: from when few fragments turn out to run often, till so many have code that the caches do not hold it. */
int tw_encoder_code_takes_records(const struct tw_encoder_code *c);

/* Of a chunk so many tags have been taken so far, of so many fragments. */
void tw_encoder_code_saw(struct tw_encoder_code *c, size_t tags, size_t fragments);

/* The fragments of this stretch of numbers do not run any more. */
void tw_encoder_code_forget(struct tw_encoder_code *c, uint32_t first);
void tw_encoder_code_forget_one(struct tw_encoder_code *c, uint32_t number);

/* What a record counts for: so much for each execution; of a loop there are as many as its first value says. */
struct tw_code_sums {
	const struct tw_record_sums *each;
	int is_loop;
};

/* Fragment `number`, with n slots from `first` on, has run once more without code; as a record: `sums` is not NULL. */
void tw_encoder_code_ran(struct tw_encoder_code *c, const struct tw_encoder *e, uint32_t number, uint32_t first, uint32_t n,
                         const struct tw_code_sums *sums);

#endif
