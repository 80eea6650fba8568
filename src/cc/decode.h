/*
 * One instruction, decoded for the rewriter: the engine's view of it (references, updates), and the registers and flags it
 * reads and writes.
 */
#ifndef TW_CC_DECODE_H
#define TW_CC_DECODE_H

#include "cc/code.h"

/* Bytes of the instruction at p, of which there are n; 0: it is none. */
unsigned tw_cc_decode_length(const uint8_t *p, uint64_t n);

/* The same for an instruction that continues with the next one, or returns; 0: not an instruction, or another kind. */
unsigned tw_cc_decode_plain(const uint8_t *p, uint64_t n, int *returns);

/* Only no-operations in these n bytes? */
int tw_cc_decode_padding(const uint8_t *p, uint64_t n);

/* Fills in what the bytes at p say about i, and appends its operations to c->op. -1: no memory, or not an instruction. */
int tw_cc_decode(struct tw_cc_code *c, struct tw_cc_insn *i, const uint8_t *p, uint64_t n);

#endif
