/*
 * Descriptors: the static facts of one fragment of translated code.
 *
 * A fragment is a translation of one or more basic blocks. Its descriptor holds everything that does not change from
 * one execution to the next. What does change (that it ran, and a few register values) is in the C and M streams.
 * Replay walks descriptors and never decodes an instruction (Zhao et al., PACT 2006, section 3).
 *
 * The same bytes are used in the shared memory between engine and collector and in the `code` file of a recording
 * (docs/format.md). All fields are little endian. A descriptor starts at a multiple of 8 bytes and its length is a
 * multiple of 8.
 *
 * Freestanding: the engine, which has no libc, includes this header.
 */
#ifndef TRACKWAY_DESCRIPTOR_H
#define TRACKWAY_DESCRIPTOR_H

#include <stddef.h>
#include <stdint.h>

/* Register numbers are the hardware's: rax rcx rdx rbx rsp rbp rsi rdi r8..r15. */
enum tw_reg {
	TW_RAX,
	TW_RCX,
	TW_RDX,
	TW_RBX,
	TW_RSP,
	TW_RBP,
	TW_RSI,
	TW_RDI,
	TW_R8,
	TW_R9,
	TW_R10,
	TW_R11,
	TW_R12,
	TW_R13,
	TW_R14,
	TW_R15,
	TW_NREGS,
	TW_NOREG = 0xff,
};

enum tw_seg { TW_SEG_NONE, TW_SEG_FS, TW_SEG_GS, TW_NSEGS };

/* What a reference does. MODIFY is one read and one write of the same bytes by one instruction. */
enum tw_ref_type { TW_READ = 1, TW_WRITE = 2, TW_MODIFY = 3 };

/* How a block ends. */
enum tw_end {
	TW_END_FALL,    /* runs into the next instruction (a cut, or the next instruction starts another fragment) */
	TW_END_JUMP,    /* direct jump to `target` */
	TW_END_COND,    /* conditional branch: `target` or the next instruction */
	TW_END_CALL,    /* direct call of `target` */
	TW_END_RETURN,  /* return */
	TW_END_IJUMP,   /* indirect jump */
	TW_END_ICALL,   /* indirect call */
	TW_END_SYSCALL, /* system call */
	TW_END_TRAP,    /* an instruction that always faults, or one the engine emulates */
	TW_END_UNKNOWN, /* not known: the recording was made from an address stream */
	TW_NENDS
};

/*
 * Operations of a descriptor, in the order replay performs them. `insn` says which instruction of the fragment each belongs to;
 * operations are sorted by it, so a fragment of which only the first K instructions ran is replayed by stopping at insn >= K.
 *
 * EA below is: (seg base) + R[base] + (R[index] << scale) + disp, where an absent register counts 0; with TW_OPF_ADDR32 everything
 * but the segment base is cut to 32 bits; with TW_OPF_INDEX8 the index is the low 8 bits of R[index] (xlat).
 * value(n) is the n-th 8-byte slot of this execution's record in the M stream.
 */
enum tw_op_kind {
	TW_OP_RECORD,  /* R[base] = value(value) */
	TW_OP_SET,     /* R[count] = EA (no segment), cut to 32 bits with TW_OPF_ADDR32: a computable update (mov, add, lea, push...) */
	TW_OP_REF,     /* one reference {pc, EA, size, type} */
	TW_OP_BIT,     /* as REF; the operand is a bit string: with w = size*8, EA += size * (signed R[count] >> log2(w)), the
	                  register first cut to w bits and sign-extended (bt, bts, btr, btc with a register) */
	TW_OP_REP,     /* a string instruction with a repeat prefix; see below for its fields */
	TW_OP_LANES,   /* gather, scatter, masked or packed vector access: one reference for each active lane */
	TW_OP_XSAVE,   /* as REF; value(value) is rax; size = tw_xsave_size(xcr0 & (uint32_t)rax, compact), where
	                  compact is: flags & TW_OPF_COMPACT, or with TW_OPF_SECOND (xrstor) bit 63 of value(mask_value) */
	TW_OP_WRITTEN, /* registers written, as bits of `count`: in dep06 they are unknown from here on; ignored by replay */
	TW_OP_CALC,    /* update: R[count] = R[base] `type` (R[index], or disp if none), enum tw_calc; ADDR32: all of 32 bits */
	TW_NOPS
};

/* The operation of a CALC. SX and ZX: R[base] sign- or zero-extended from its low bits. */
enum tw_calc {
	TW_CALC_AND,
	TW_CALC_OR,
	TW_CALC_XOR,
	TW_CALC_SUB,
	TW_CALC_MUL,
	TW_CALC_SHL,
	TW_CALC_SHR,
	TW_CALC_SAR,
	TW_CALC_SX8,
	TW_CALC_SX16,
	TW_CALC_SX32,
	TW_CALC_ZX8,
	TW_CALC_ZX16,
	TW_NCALCS
};

enum tw_op_flags {
	TW_OPF_ADDR32 = 1,     /* address size 32 */
	TW_OPF_INDEX8 = 2,     /* index is 8 bits, zero-extended */
	TW_OPF_PACKED = 4,     /* LANES: active lanes are adjacent in memory (expand, compress) */
	TW_OPF_COMPACT = 8,    /* XSAVE: compacted format (xsavec, xsaves) */
	TW_OPF_SECOND = 16,    /* REP: a second reference follows each first one (movs: write, cmps: read of [rdi]) */
	TW_OPF_BROADCAST = 32, /* LANES: all lanes read the one element at EA (embedded broadcast): one reference if any lane is active */
	TW_OPF_LINE = 128,     /* REF: the address is rounded down to a multiple of 64 (clzero) */
	TW_OPF_ANY = 64,       /* LANES: one reference of `size` bytes for the whole operand if any lane is active */
};

struct tw_op {
	uint8_t kind;        /* enum tw_op_kind */
	uint8_t insn;        /* index of the instruction in the fragment */
	uint8_t base, index; /* enum tw_reg, or TW_NOREG */
	uint8_t scale;       /* shift: 0..3 */
	uint8_t seg;         /* enum tw_seg */
	uint8_t type;        /* enum tw_ref_type; CALC: enum tw_calc */
	uint8_t flags;       /* enum tw_op_flags */
	uint32_t size;       /* bytes of one reference (LANES: of one lane in memory) */
	uint16_t count;      /* LANES: number of lanes; SET, CALC: destination register; BIT: bit-offset register; WRITTEN: registers */
	uint16_t value;      /* M slot: RECORD, XSAVE: the value; LANES: the index vector (if index_width); REP: register before */
	int64_t disp;
	uint16_t mask_value; /* LANES: M slot of the mask; REP: M slot of the register after */
	uint8_t index_width; /* LANES: bytes of one index in the index vector, signed; 0: lanes are adjacent, lane i at EA + i*size */
	uint8_t mask_width; /* LANES: 0: the mask is a bit mask in one slot; else bytes per mask element, active where its top bit is set */
	uint32_t reserved;  /* 0 */
};
/*
 * REP. The counting register (rdi; rsi for lods and outs) is recorded before, slot `value`, and after, slot
 * `mask_value`. The number of iterations is |after - before| / size; the sign of the difference is the direction.
 * R[base] is the first reference's pointer register, R[index] the second's (TW_OPF_SECOND) or TW_NOREG; each moves by
 * size per iteration. `type` is the first reference's type, `count` the second's. References come in iteration order:
 * first, second, first, second... `seg` and TW_OPF_ADDR32 apply to the first pointer only if it is rsi. The engine
 * ensures, by RECORD operations before it, that R[base] and R[index] are known. Replay leaves both registers as the
 * iterations left them; rcx becomes unknown. If the instruction was interrupted (a PARTIAL event), the register after
 * is the one of the event.
 */

/* Is it a computable update? */
static inline int tw_op_is_update(const struct tw_op *op)
{
	return op->kind == TW_OP_SET || op->kind == TW_OP_CALC;
}

/*
 * Upper limit for the size of a reference: an xsave area with every existing component takes a sixth of it.
 * Recordings that exceed it are damaged.
 */
#define TW_REF_MOST 65536

/* Does it make references? */
static inline int tw_op_is_ref(const struct tw_op *op)
{
	return !tw_op_is_update(op) && op->kind != TW_OP_RECORD && op->kind != TW_OP_WRITTEN;
}

/* One basic block of a fragment. Instructions of a block are adjacent in memory. */
struct tw_block {
	uint64_t pc;         /* address of the first instruction */
	uint64_t target;     /* JUMP, COND, CALL: the branch target; otherwise 0 */
	uint16_t first_insn; /* index in the fragment of its first instruction */
	uint16_t n_insns;
	uint16_t bytes; /* length of its code */
	uint8_t end;    /* enum tw_end */
	uint8_t reserved;
};

/*
 * A descriptor is this header, followed without gaps by blocks[n_blocks], ops[n_ops], insn_bytes[n_insns] (length of
 * each instruction), code[code_bytes] (the application's bytes, for disassembly only), and zeros up to a multiple of
 * 8.
 */
struct tw_descriptor {
	uint32_t number; /* the fragment's number, >= TW_TAG_FIRST in its lower half; unique in a recording */
	uint32_t bytes;  /* of the whole descriptor */
	uint32_t pid;    /* the process that made it; its forks, and other forks of the same program, may run it too */
	uint16_t n_blocks, n_ops;
	uint16_t n_insns, n_values; /* n_values: 8-byte slots one execution writes to the M stream */
	uint16_t code_bytes;
	uint8_t format;   /* enum tw_format */
	uint8_t flags;    /* enum tw_descriptor_flags */
	uint16_t context; /* known-register set at entry (bit per enum tw_reg) */
	uint16_t program; /* the program of the recording that it belongs to (lower half of a serial number); 0 in formats without tags */
	uint32_t tag;     /* formats dep06, dep06-c, cf_bit: its tag in the program's buffers (docs/format.md); otherwise 0 */
};

/* What a recording contains to tell what ran. */
enum tw_format {
	TW_FORMAT_NONE,
	TW_FORMAT_DEP,            /* tags of fragments, values of registers */
	TW_FORMAT_CALL,           /* tags of fragments, references as logged by function calls */
	TW_FORMAT_DEP_C,          /* tags of fragments: control flow only */
	TW_FORMAT_BB_PC,          /* the same, for single blocks, in 4 bytes */
	TW_FORMAT_MEM_ADDR,       /* tags of blocks, effective addresses */
	TW_FORMAT_BB_PC_MEM_ADDR, /* the same, with 4 bytes per block */
	TW_FORMAT_DEP06,          /* addresses of blocks, values of registers by status flags: the paper's */
	TW_FORMAT_DEP06_C,        /* the same, control flow only */
	TW_FORMAT_CF_BIT,         /* one bit per conditional branch, and the targets of indirect ones */
	TW_FORMAT_DEP_S, /* tags of fragments, values of the stack pointer: control flow, and where calls put their return addresses */
	TW_NFORMATS
};

/* Do recordings of this format tell which addresses were referenced? */
static inline int tw_format_has_refs(uint32_t format)
{
	return format == TW_FORMAT_DEP || format == TW_FORMAT_CALL || format == TW_FORMAT_MEM_ADDR || format == TW_FORMAT_BB_PC_MEM_ADDR ||
	       format == TW_FORMAT_DEP06;
}

/* Do they tell the number of references, and the addresses at which calls put and returns took return addresses? */
static inline int tw_format_has_stack(uint32_t format)
{
	return tw_format_has_refs(format) || format == TW_FORMAT_DEP_S;
}

enum tw_descriptor_flags {
	TW_DESC_DYNAMIC = 1,   /* has REP or LANES operations: the number of references depends on the values */
	TW_DESC_ANNOUNCED = 2, /* formats with tags: earlier, other code of the program had its address */
	TW_DESC_TICK = 4,      /* cf_bit: each execution writes a bit, since otherwise there would be a loop that writes nothing */
	TW_DESC_LOOP = 8,      /* one record stands for value(0) executions in a row without values of their own; maybe for none */
	TW_DESC_INSERTED = 16, /* not code of the program: a jump between two versions of a function (trackway cc) */
};

static inline const struct tw_block *tw_descriptor_blocks(const struct tw_descriptor *d)
{
	return (const struct tw_block *)(d + 1);
}

static inline const struct tw_op *tw_descriptor_ops(const struct tw_descriptor *d)
{
	return (const struct tw_op *)(tw_descriptor_blocks(d) + d->n_blocks);
}

static inline const uint8_t *tw_descriptor_insn_bytes(const struct tw_descriptor *d)
{
	return (const uint8_t *)(tw_descriptor_ops(d) + d->n_ops);
}

static inline const uint8_t *tw_descriptor_code(const struct tw_descriptor *d)
{
	return tw_descriptor_insn_bytes(d) + d->n_insns;
}

/* Bytes of a descriptor with these counts. */
static inline uint32_t tw_descriptor_size(uint32_t n_blocks, uint32_t n_ops, uint32_t n_insns, uint32_t code_bytes)
{
	uint32_t n = (uint32_t)(sizeof(struct tw_descriptor) + n_blocks * sizeof(struct tw_block) + n_ops * sizeof(struct tw_op));
	return (n + n_insns + code_bytes + 7u) & ~7u;
}

/* Layout of the extended state components, from CPUID leaf 0xD of the recording machine. */
struct tw_xstate {
	uint64_t xcr0;
	struct {
		uint32_t offset, size, align64, reserved;
	} component[32];
};

/*
 * Bytes that an xsave-family instruction may touch. Trackway counts this as one reference: from the start of the area
 * to the end of the last requested component (always at least the legacy region and header, 576 bytes). `rfbm` is the
 * requested-feature bitmap, XCR0 & edx:eax.
 */
static inline uint32_t tw_xsave_size(const struct tw_xstate *x, uint64_t rfbm, int compact)
{
	uint32_t end = 576, at = 576;
	for (int i = 2; i < 32; i++) {
		if (!(rfbm >> i & 1) || !x->component[i].size)
			continue;
		if (compact) {
			if (x->component[i].align64)
				at = (at + 63u) & ~63u;
			at += x->component[i].size;
			end = at;
		} else if (x->component[i].offset + x->component[i].size > end) {
			end = x->component[i].offset + x->component[i].size;
		}
	}
	return end;
}

_Static_assert(sizeof(struct tw_op) == 32, "tw_op is part of the format");
_Static_assert(sizeof(struct tw_block) == 24, "tw_block is part of the format");
_Static_assert(sizeof(struct tw_descriptor) == 32, "tw_descriptor is part of the format");
#endif
