/*
 * Machine code for the demultiplexer: for each frequent plain fragment a piece of code that takes one of its records.
 * The length of the record is a constant there, so the processor can continue with the next one before looking
 * anything up. Any number of threads may run it and add to it.
 */
#ifndef TW_DEMUX_CODE_H
#define TW_DEMUX_CODE_H

#include <stddef.h>
#include <stdint.h>

/* A part of a buffer being walked, and where what is in it goes. */
struct tw_demux_plain {
	const uint8_t *p;     /* the next record */
	const uint8_t *limit; /* records that start after this are not taken: TW_DEMUX_CODE_MARGIN before the end of the part */
	uint16_t *c;          /* room as for any buffer */
	uint64_t *m;
	uint64_t insns_blocks; /* sums, in halves: insns, blocks << 32; */
	uint64_t refs_reads;   /* refs, reads << 32 */
	uint64_t writes;
	uint32_t upper;
};

/* What one execution counts for, in the same form. */
struct tw_demux_sums {
	uint64_t insns_blocks, refs_reads;
	uint32_t writes;
};

enum { TW_DEMUX_CODE_VALUES = 64, TW_DEMUX_CODE_MARGIN = 8 + 8 * TW_DEMUX_CODE_VALUES };

struct tw_demux_code;

struct tw_demux_code *tw_demux_code_new(void); /* NULL: no memory */
void tw_demux_code_free(struct tw_demux_code *c);

/* Continues to a record without code, or to the limit. */
void tw_demux_code_run(struct tw_demux_code *c, struct tw_demux_plain *w);

/* The fragments of this stretch of numbers no longer run. */
void tw_demux_code_forget(struct tw_demux_code *c, uint32_t first);
void tw_demux_code_forget_one(struct tw_demux_code *c, uint32_t number);

/* A plain fragment, whose record is `head` bytes and n values, has run once more without code. */
void tw_demux_code_ran(struct tw_demux_code *c, uint32_t number, unsigned head, unsigned n, const struct tw_demux_sums *each);

#endif
