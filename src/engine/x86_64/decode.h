/*
 * Decoding: basic blocks of the application as the rest of the engine sees them.
 *
 * Zydis decodes; this module boils each instruction down to what matters here: how control leaves it, which general registers it reads and
 * writes, which references it makes (as tw_op, with register operands still symbolic), which registers it changes in a way replay can compute
 * (SET), and what in its bytes depends on where it stands.
 */
#ifndef TW_DECODE_H
#define TW_DECODE_H

#include "engine/x86_64/block.h"

/* Once, before the first block. */
void tw_decode_init(void);

/*
 * The register that the instruction gives a value, all 64 bits of it, that does not depend on what it held before; its encoding must be one of the plain
 * ones that compilers use for this, without a legacy prefix. TW_NOREG: none that is known.
 */
u8 tw_decode_defines(const struct insn *i);

/* A general register below r8, not rsp or rbp, that the instruction does not touch and that is not `avoid1` or `avoid2`. */
u8 tw_scratch(const struct insn *i, u8 avoid1, u8 avoid2);

/*
 * Does the instruction overwrite OF, SF, ZF, AF and PF with values that do not depend on the old ones, and cannot fault? It may read the carry. Only the
 * encodings that compilers use are known here.
 */
bool tw_decode_overwrites_flags(const struct insn *i);

/*
 * Decodes the block at pc; `limit` is the end of the executable range it stands in (no byte at or beyond is looked at). Always gives at least one
 * instruction: what does not decode, or is cut by the limit, is INSN_BAD, and stands alone. Must be called under tw_with_decoder.
 */
void tw_decode_block(struct block *b, u64 pc, u64 limit);

/* Likewise, as a further part. False: there is no room for it, and nothing has changed. */
bool tw_decode_part(struct block *b, u64 pc, u64 limit);

/* Takes the parts from number n on (n > 0) off again. */
void tw_decode_cut(struct block *b, u16 n);

/* Does the instruction at `code` (in the cache) access memory through this register? Callable anywhere but from under tw_with_decoder. */
bool tw_decode_uses_base(const u8 *code, u8 reg);

/* Runs fn(arg) with the vector registers saved and a thread pointer the decoder can use. */
void tw_with_decoder(void (*fn)(void *), void *arg);

#endif
