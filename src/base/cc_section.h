/*
 * What an instrumented object says about its code: the section `trackway_cc`, which the linker concatenates. The
 * rewriter writes it (describe.c). It is completed after the link (finish.c). The run-time part in the program reads
 * it and makes descriptors of it (runtime/module.c). The engine reads it to leave inserted code out
 * (engine/code/inserted.h).
 *
 * Nothing refers to it except by the linker's names for its ends. So it is marked to be kept (flag R) when the linker
 * drops unreferenced sections.
 *
 * The section is a sequence of *parts*, one for each stretch of instrumented code in one section; each is a struct
 * tw_cc_part with its blocks. A part for code in a COMDAT group is in the same group. Places are relative to the
 * field that holds them, so nothing here is relocated when the program is loaded.
 *
 * What must hold:
 *  - Block n of a part has tag first_tag + n, stored by a `movw $tag, ...` whose constant is at the block's `site`.
 *    Both are 0 until the module has been linked and completed; a module that was not completed is never recorded.
 *  - Tags of one module run from TW_TAG_FIRST to below 65536: a module has one upper half of fragment numbers, drawn
 *    when it is loaded. A large module has several *groups* of files, each with an upper half and tags of its own.
 *    The parts of a file are adjacent.
 *  - Addresses are those of the linked code. Inserted instructions count to the instruction before them: so
 *    instructions are adjacent, and each begins where the compiler's own begins.
 *
 * Freestanding: the run-time part includes this header.
 */
#ifndef TW_CC_SECTION_H
#define TW_CC_SECTION_H

#include <stdint.h>

#define TW_CC_SECTION "trackway_cc"
/* For functions with two versions: the distance from here to the byte they test, 4 bytes. */
#define TW_CC_SECTION_TWICE    "trackway_cc_twice"
#define TW_CC_SECTION_TURNINGS "trackway_cc_turnings" /* struct tw_cc_turnings, one after another: of functions in two versions */
#define TW_CC_SECTION_GUARD    "trackway_cc_guarded"  /* not empty if code relies on the page after each buffer */
#define TW_CC_SECTION_WORDS    "trackway_cc_words" /* struct tw_cc_word_place, one after another: the module's words that handlers preserve */
/* The code without what was inserted, followed by a struct tw_cc_plain; only in the file. */
#define TW_CC_SECTION_PLAIN "trackway_cc_plain"
#define TW_CC_SECTION_PLACE "trackway_cc_place" /* the same struct, in the program */
/*
 * Assembly after the directive that starts a section. The run-time part refers to the names of its ends, weakly,
 * since a module need not have all sections. If nothing else refers to them GNU ld lets a shared library export them,
 * and then a program with two such libraries and no such section cannot be linked. So the objects that have it refer
 * to them, too.
 */
#define TW_CC_SECTION_ENDS(name)                                                                                                           \
	"\t.hidden __start_" name ",__stop_" name "\n\t.reloc .,R_X86_64_NONE,__start_" name "\n"                                          \
	"\t.reloc .,R_X86_64_NONE,__stop_" name "\n"
#define TW_CC_MAGIC   0x63635754u /* "TWcc" */
#define TW_CC_VERSION 19u

#define TW_CC_BORROWED 1ull /* flag in a pointer, which is even, that a check passes in a borrowed register */

struct tw_cc_word_place {
	int32_t at;     /* of a function, from here, that returns the offset of the word from the thread pointer */
	uint32_t flags; /* TW_CC_WORD_FORGOTTEN: handlers begin with 0 in it */
};
#define TW_CC_WORD_FORGOTTEN 1u

/*
 * For a function in two versions: where its first version may reach unknown code (twice/known.c). Places follow, 4
 * bytes each and relative to themselves: n_tests of tests of the switch; n_branches of conditional branches, 6 bytes
 * long, each with the place after the same branch in the second version; n_rooms of 5-byte no-ops, each with the
 * start of the same block in the second version.
 */
struct tw_cc_turnings {
	uint32_t magic;
	uint32_t bytes;       /* of all this */
	int32_t second, cold; /* start of its second version, and of the part that was split off; 0: there is none */
	uint32_t n_tests, n_branches, n_rooms;
};
#define TW_CC_TURNINGS_MAGIC 0x74635754u /* "TWct" */

/*
 * Among them: blocks of a second version that may be entered from the first, with the pointer in the slot, without
 * checking whether that is the thread's.
 */
struct tw_cc_way_in {
	uint32_t magic;
	uint32_t bytes;
	int32_t pc, entry;
};
#define TW_CC_WAY_IN_MAGIC 0x77635754u /* "TWcw" */

/* The 5 bytes: an instruction that neither compilers nor linkers generate. */
#define TW_CC_ROOM_BYTES 0x0f, 0x1f, 0x44, 0x00, 0x77

/*
 * Code in which everything inserted has been replaced by no-ops: all bytes of the module's executable segment. The
 * program uses it if nothing is recorded (runtime/plain.c). The linker does not know of it: it is made when the link
 * is finished (plain.c).
 */
struct tw_cc_plain {
	uint64_t id;    /* of these contents; 0: there is no such code */
	int64_t code;   /* start of the segment, relative to the struct in the program */
	uint64_t bytes; /* of it */
};

struct tw_cc_part {
	uint32_t magic;
	uint32_t version;
	uint32_t bytes; /* of the part, this included */
	uint32_t n_blocks;
	uint32_t first_tag; /* 0: not finished */
	int32_t
	    word; /* of its file, 8 bytes: if the file is large, what it writes when entered from another: TW_TAG_UPPER and the upper half */
	uint32_t large; /* its code writes that at function entries and at returns from calls */
	uint32_t group; /* of files whose tags have an upper half in common, from 0 */
};

/* Followed by n_insns lengths of one byte each, then the operations (enum tw_cc_field). `bytes` is the distance to the next block. */
struct __attribute__((packed)) tw_cc_block {
	uint16_t bytes;
	int32_t pc;     /* of the first instruction */
	int32_t site;   /* of the two bytes of the tag */
	int32_t target; /* of a direct jump or branch to code of the same part or file; 0: none, or it is read from the instruction */
	uint16_t n_values;
	uint16_t context; /* registers known at entry */
	uint8_t n_insns, n_ops;
	uint8_t end;   /* enum tw_end */
	uint8_t flags; /* enum tw_descriptor_flags; TW_CC_GLUED, TW_CC_GLUED_FOUR */
	/* For a faulting write: its record, and registers whose own values are saved meanwhile (TW_NOREG: none): */
	uint8_t reg, offset; /* the record begins so far from the register */
	uint8_t spilled, counter;
	uint8_t lead; /* bytes inserted before the first instruction, which are not in any length of the previous block */
};

/* The last instructions are a call of __tls_get_addr in a form that linkers may replace: two, or four with the 64 bits of its address. */
#define TW_CC_GLUED      0x80
#define TW_CC_GLUED_FOUR 0x40

/*
 * An operation: kind, insn, fields (16 bits: which of the members follow), then those in this order, little endian. Members that do not follow are 0, registers
 * TW_NOREG.
 */
enum tw_cc_field {
	TW_CC_BASE = 1,      /* u8 */
	TW_CC_INDEX = 2,     /* u8 index, u8 scale */
	TW_CC_SEG = 4,       /* u8 */
	TW_CC_TYPE = 8,      /* u8 type, u16 size */
	TW_CC_FLAGS = 16,    /* u8 */
	TW_CC_COUNT = 32,    /* u16 */
	TW_CC_VALUE = 64,    /* u16 */
	TW_CC_DISP8 = 128,   /* i8 */
	TW_CC_DISP64 = 256,  /* i64 */
	TW_CC_LANES = 512,   /* u16 mask_value, u8 index_width, u8 mask_width */
	TW_CC_PATCHED = 1024 /* u8 enum tw_cc_patch, u8 at, u8 opcode: the displacement is in the code, at that byte of the instruction */
};

enum tw_cc_patch {
	TW_CC_RELATIVE, /* 4 bytes, to the end of the instruction itself, whose length is the byte `opcode` in this case */
	TW_CC_SIGNED,   /* 4 bytes */
	TW_CC_WIDE,     /* 8 bytes */
	TW_CC_GOT = 4, /* with RELATIVE: the linker may have removed the reference; so if the byte two before is not `was`, one more byte */
};

#endif
