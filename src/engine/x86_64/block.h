/* A basic block, or a path of several, in decoded form (decode.h). */
#ifndef TW_BLOCK_H
#define TW_BLOCK_H

#include "engine/lib.h"
#include <trackway/descriptor.h>

#define PART_MAX_INSNS   64
#define PART_MAX_OPS     480
#define BLOCK_MAX_PARTS  16
#define BLOCK_MAX_INSNS  240 /* tw_op counts them in 8 bits */
#define BLOCK_MAX_OPS    960
#define BLOCK_MAX_VALUES 200 /* 8-byte slots: with the tag below TW_MAX_RECORD */

enum insn_kind {
	INSN_PLAIN,
	INSN_JUMP, /* direct */
	INSN_COND, /* jcc */
	INSN_LOOP, /* loop, loope, loopne, jrcxz, jecxz: short form only */
	INSN_CALL, /* direct */
	INSN_RETURN,
	INSN_IJUMP,
	INSN_ICALL,
	INSN_SYSCALL,  /* syscall, int 0x80 */
	INSN_EMULATED, /* done by the engine: segment bases, far returns (emulate.c) */
	INSN_BAD,      /* does not decode: copied, will fault */
};

/* Vector register operands of a LANES reference that must be stored in the M stream. */
enum vec_kind { VEC_NONE, VEC_XMM, VEC_YMM, VEC_ZMM, VEC_K, VEC_MMX };

struct memop {
	struct tw_op op;          /* REF, BIT, REP, LANES, XSAVE or SET; slots not yet assigned; `insn` set */
	u8 index_kind, index_reg; /* LANES with index_width */
	u8 mask_kind, mask_reg;   /* LANES */
	bool xcomp;               /* XSAVE: the area itself determines the format (xrstor) */
};

struct insn {
	u64 pc;
	u64 target; /* JUMP, COND, LOOP, CALL; or the absolute address of a rip-relative operand (disp_at != 0) */
	u8 raw[16];
	u8 len;
	u8 span;        /* its bytes plus those inserted after it and left out (code/inserted.h) */
	u8 kind;        /* enum insn_kind */
	u8 disp_at;     /* offset of the disp32 of a rip-relative operand; 0: none */
	u8 modrm_at;    /* offset of ModRM, if disp_at */
	u8 rex_at;      /* 1 + offset of the REX, VEX or EVEX prefix; 0: none */
	u8 prefix_kind; /* enum prefix_kind */
	u8 n_prefixes;  /* legacy prefixes, which come first */
	bool uses_gs;   /* a memory operand is relative to %gs */
	bool cut;       /* BAD: it goes on behind the limit */
	u8 cc;          /* COND: condition code */
	u16 pop_bytes;  /* RETURN: bytes released beyond the address */
	u16 uses, defs; /* general registers read (addresses included) and written, by bit */
	u16 lost;       /* registers written with a value replay cannot compute */
	u16 first_op, n_ops;
	u8 order;   /* enum tw_stamp_kind; 0: neither locked nor a fence */
	u8 lea_reg; /* rip-relative lea of a 32- or 64-bit register: that register, else TW_NOREG */
	bool lea32;
	struct tw_op ea; /* IJUMP, ICALL: the operand: REF from memory, or base only from a register (kind SET) */
};

static inline bool tw_is_int(const struct insn *i)
{
	return i->raw[0] == 0xcd;
}

enum prefix_kind { PREFIX_NONE, PREFIX_REX, PREFIX_VEX2, PREFIX_VEX3, PREFIX_EVEX };

/* One basic block; in a superblock control goes from each part to the next. */
struct part {
	u64 pc;
	u64 target, next; /* direct target; what runs after the last instruction */
	u32 bytes;
	u32 lead; /* of them, those before the first instruction: inserted, and left out */
	u16 first_insn, n_insns;
	u8 end;  /* enum tw_end */
	u32 tag; /* tagged form: what stands for it; else 0 */
};

/* What becomes one fragment: a basic block, or a superblock's path of several. */
struct block {
	u64 pc;
	u32 bytes;
	u16 n_insns, n_ops;
	u16 n_parts;
	struct part part[BLOCK_MAX_PARTS];
	u16 uses;       /* general registers any instruction touches */
	u64 unrecorded; /* an instruction whose references cannot be recorded, or 0 */
	struct insn insn[BLOCK_MAX_INSNS];
	struct memop op[BLOCK_MAX_OPS];
};

#endif
