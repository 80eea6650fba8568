/*
 * Machine code for the encoder: for each frequent fragment a piece of code that takes its values, computes the
 * prediction for each and compares the two. Each value has branches of its own there, predicted by its history.
 * Encoders share the code; any number may run it and add to it.
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
 * Encodes the next value, of this slot, with `run` predicted values since the last misprediction, like code that does
 * not exist yet: tw_encoder_value. Returns the new run.
 */
typedef uint64_t (*tw_encoder_value_function)(struct tw_encoder *e, struct tw_value_slot *slot, uint64_t value, uint64_t run);

struct tw_encoder_code *tw_encoder_code_new(tw_encoder_value_function value); /* NULL: no memory */
void tw_encoder_code_free(struct tw_encoder_code *c);

/*
 * Encodes the values of e->piece as far as there is code: to the end of the tags, or before a tag without code, an
 * event, a fragment whose values are not all there. e->values.upper and row are those of that place.
 */
void tw_encoder_code_run(struct tw_encoder_code *c, struct tw_encoder *e);

/* Likewise the records of e->records, whose tags it writes: up to their limit, or before one without code. */
void tw_encoder_code_run_records(struct tw_encoder_code *c, struct tw_encoder *e);

/* Does a record with this tag have code with which tw_encoder_code_run_records could start? */
int tw_encoder_code_has_record(const struct tw_encoder_code *c, const struct tw_encoder *e, uint16_t tag);

/*
 * Should records be taken by code? From the time when few fragments turn out to run often, until so many have code
 * that it exceeds the caches.
 */
int tw_encoder_code_takes_records(const struct tw_encoder_code *c);

/* This many tags of a chunk have been taken so far, of this many fragments. */
void tw_encoder_code_saw(struct tw_encoder_code *c, size_t tags, size_t fragments);

/* The fragments of this stretch of numbers no longer run. */
void tw_encoder_code_forget(struct tw_encoder_code *c, uint32_t first);
void tw_encoder_code_forget_one(struct tw_encoder_code *c, uint32_t number);

/* What a record counts for: this much per execution; a loop has as many as its first value says. */
struct tw_code_sums {
	const struct tw_record_sums *each;
	int is_loop;
};

/* Fragment `number`, with n slots from `first` on, has run once more without code; as a record: `sums` is not NULL. */
void tw_encoder_code_ran(struct tw_encoder_code *c, const struct tw_encoder *e, uint32_t number, uint32_t first, uint32_t n,
                         const struct tw_code_sums *sums);

#endif
