/*
 * Decoding: basic blocks of the application in the form that the rest of the engine uses.
 *
 * Zydis decodes. This module reduces each instruction to what matters here: how control leaves it, which general
 * registers it reads and writes, which references it makes (as tw_op, with register operands still symbolic), which
 * registers it changes in a way that replay can compute (SET), and which of its bytes depend on its address.
 */
#ifndef TW_DECODE_H
#define TW_DECODE_H

#include "engine/x86_64/block.h"

/* Once, before the first block. */
void tw_decode_init(void);

/*
 * The register to which the instruction assigns a value, all 64 bits of it, that does not depend on its old value.
 * Only plain encodings that compilers use for this, without a legacy prefix. TW_NOREG: none is known.
 */
u8 tw_decode_defines(const struct insn *i);

/* A general register below r8, not rsp or rbp, that the instruction does not touch and that is not `avoid1` or `avoid2`. */
u8 tw_scratch(const struct insn *i, u8 avoid1, u8 avoid2);

/*
 * Does the instruction overwrite OF, SF, ZF, AF and PF with values that do not depend on the old ones, and cannot
 * fault? It may read the carry. Only the encodings that compilers use are recognized.
 */
bool tw_decode_overwrites_flags(const struct insn *i);

/*
 * Decodes the block at pc; `limit` is the end of its executable range (no byte at or beyond it is read). Always gives
 * at least one instruction: one that cannot be decoded, or crosses the limit, is INSN_BAD and a block of its own.
 * Must be called under tw_with_decoder.
 */
void tw_decode_block(struct block *b, u64 pc, u64 limit);

/* Likewise, as a further part. False: there is no room for it, and nothing has changed. */
bool tw_decode_part(struct block *b, u64 pc, u64 limit);

/* Removes the parts from number n on (n > 0). */
void tw_decode_cut(struct block *b, u16 n);

/* Does the instruction at `code` (in the cache) access memory through this register? Callable anywhere but from under tw_with_decoder. */
bool tw_decode_uses_base(const u8 *code, u8 reg);

/* Runs fn(arg) with the vector registers saved and a thread pointer the decoder can use. */
void tw_with_decoder(void (*fn)(void *), void *arg);

#endif
