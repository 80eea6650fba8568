/*
 * What the output writes, and how it fails. Descriptors reach the disk before the chunks that need them; blocks are
 * written as they are reported. Everything is written under `writing`, by any thread.
 *
 * If writing fails the output says so once on stderr and then discards, so that the program is not delayed.
 */
#ifndef TW_OUTPUT_WRITE_H
#define TW_OUTPUT_WRITE_H

#include <stddef.h>
#include <stdint.h>

struct tw_output;
struct tw_value_family;

/* Is what comes still stored? */
int tw_output_stores(const struct tw_output *o);

/* The first failure is kept, and reported if possible: a full disk is full for standard error, too. */
void tw_output_fail(struct tw_output *o, int error);

/* That recording has stopped, and why. Once. */
void tw_output_say(struct tw_output *o, int error);

/* Is the chunk with this number stored? */
int tw_output_keeps(const struct tw_output *o, uint32_t id);

/* A program has written something invalid: recording continues, and reports it at its end. */
void tw_output_note_odd(struct tw_output *o, int error);

/*
 * Valid descriptors of one family (recording/value_map.h), back to back: those of chunks that are put later. They
 * must stay valid until they have been written; `stay`: they do until the writer is closed. `first`: none of this
 * stretch of numbers is needed any more; nor is `number`. By the drain loop only.
 */
void tw_output_describe(struct tw_output *o, struct tw_value_family *family, const uint8_t *bytes, size_t n, int stay);
void tw_output_forget(struct tw_output *o, uint32_t first);
void tw_output_forget_one(struct tw_output *o, uint32_t number);

/* Writes all that are not written yet. */
void tw_output_write_descriptors(struct tw_output *o);

/* The same for those that are described first, up to this many bytes. Under `writing`. */
void tw_output_write_up_to(struct tw_output *o, uint64_t end);

/* With a spool: writes what is new, now and then. */
void tw_output_write_new_descriptors(struct tw_output *o);

/* A block of the code file, of one module, say: to disk, and to the feed. Frees the bytes; NULL: there was no memory for them. */
void tw_output_block(struct tw_output *o, uint32_t kind, void *bytes, size_t n);

/* The same without the feed. Under `writing`. */
void tw_output_write_block(struct tw_output *o, uint32_t kind, void *bytes, size_t n);

/* With a ring: writes what is in it. */
void tw_output_write_ring(struct tw_output *o);

#endif
