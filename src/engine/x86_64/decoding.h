/*
 * An instruction during decoding, shared by decode.c, references.c and updates.c. The result is in decode.h.
 */
#ifndef TW_DECODING_H
#define TW_DECODING_H

#include "engine/x86_64/block.h"
#define ZYDIS_STATIC_BUILD
#include <Zydis/Zydis.h>

struct decoding {
	struct block *b;
	struct insn *i;
	const ZydisDecodedInstruction *z;
	const ZydisDecodedOperand *o;
	u16 computed; /* registers covered by a SET */
};

/* The general register that this is a part of, or TW_NOREG. */
static inline u8 tw_decoding_gpr(ZydisRegister r)
{
	if (r == ZYDIS_REGISTER_NONE)
		return TW_NOREG;
	ZydisRegister big = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, r);
	if (big < ZYDIS_REGISTER_RAX || big > ZYDIS_REGISTER_R15)
		return TW_NOREG;
	return (u8)(big - ZYDIS_REGISTER_RAX);
}

/* Its bit in a mask of registers; 0 of TW_NOREG. */
static inline u16 tw_decoding_bit(u8 r)
{
	return r < TW_NREGS ? (u16)(1u << r) : 0;
}

/* A new operation of the instruction, without registers. */
struct memop *tw_decoding_op(struct decoding *w, u8 kind);

/* SET dst = base + disp, to which an index may be added. */
struct tw_op *tw_decoding_set(struct decoding *w, u8 dst, u8 base, i64 disp, bool is32);

/* The address part of an operand. Rip-relative ones become absolute: pc and disp are both static. */
void tw_decoding_address(struct tw_op *op, const struct decoding *w, const ZydisDecodedOperand *o);

/* references.c: adds the references that the instruction makes, in order, and the new value of rsp if it moves that implicitly. */
void tw_decoding_references(struct decoding *w);

/* updates.c: adds the register values that replay can compute. */
void tw_decoding_updates(struct decoding *w);

#endif
