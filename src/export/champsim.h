/*
 * Traces for ChampSim, the simulator (github.com/ChampSim/ChampSim, inc/trace_instruction.h): one record of 64 bytes
 * for each instruction executed by a thread.
 *
 * Registers are numbered as by the simulator's own tracer, which takes them from Pin: rdi 3, rsi 4, rbp 5, rsp 6, rbx 7,
 * rdx 8, rcx 9, rax 10, r8 to r15 11 to 18, the flags 25, rip 26. A part of a register counts as the whole register.
 * The simulator learns the kind of a branch from the registers it reads and writes, so those of branches are listed as
 * it expects them: an indirect branch reads TW_CHAMPSIM_LOADED if no register but rsp or rip has a part in its target.
 *
 * An instruction takes further records of the same pc if it makes more references than a record holds. A repeated
 * string instruction takes one for each iteration.
 */
#ifndef TW_CHAMPSIM_H
#define TW_CHAMPSIM_H

#include <trackway/analyzer.h>
#include <trackway/recording.h>

enum { TW_CHAMPSIM_TO = 2, TW_CHAMPSIM_FROM = 4 };

/* Numbers of registers; 0 is none. */
enum tw_champsim_register {
	TW_CHAMPSIM_GENERAL = 3, /* the first of 16 */
	TW_CHAMPSIM_RSP = 6,
	TW_CHAMPSIM_FLAGS = 25,
	TW_CHAMPSIM_RIP = 26,
	TW_CHAMPSIM_VECTOR = 32, /* the first of 32: xmm, ymm and zmm */
	TW_CHAMPSIM_MASK = 64,   /* k0 */
	TW_CHAMPSIM_X87 = 72,    /* st0, the top of the stack */
	TW_CHAMPSIM_MMX = 80,
	TW_CHAMPSIM_LOADED = 96, /* no register: a target that comes from memory */
};

/* Little endian; the simulator's struct input_instr. */
struct tw_champsim_record {
	uint64_t pc;
	uint8_t is_branch, is_taken;
	uint8_t to[TW_CHAMPSIM_TO], from[TW_CHAMPSIM_FROM];       /* registers written and read */
	uint64_t written[TW_CHAMPSIM_TO], read[TW_CHAMPSIM_FROM]; /* addresses; 0: none. A modify is in both */
};

/* What does not change between executions of an instruction. */
struct tw_champsim_insn {
	uint8_t to[TW_CHAMPSIM_TO], from[TW_CHAMPSIM_FROM];
	uint8_t length;
	uint8_t flags; /* enum tw_champsim_flags */
};
enum tw_champsim_flags {
	TW_CHAMPSIM_BRANCH = 1,      /* jump, call or return */
	TW_CHAMPSIM_CONDITIONAL = 2, /* a branch that may not be taken */
	TW_CHAMPSIM_REPEATED = 4,    /* a string instruction with a repeat prefix... */
	TW_CHAMPSIM_PAIRS = 8,       /* ...of which an iteration makes two references */
};

struct tw_champsim;

/* The instructions of all fragments. NULL: no memory. */
struct tw_champsim *tw_champsim_new(const struct tw_recording *r);
void tw_champsim_free(struct tw_champsim *c);

/* The instructions of a fragment of that recording. */
const struct tw_champsim_insn *tw_champsim_insns(const struct tw_champsim *c, const struct tw_descriptor *d);

/* A record of that instruction, at that address, without references. A branch is taken until it is known not to be. */
struct tw_champsim_record tw_champsim_record(const struct tw_champsim_insn *insn, uint64_t pc);

/* Adds a reference. 0: there is no room. */
int tw_champsim_add(struct tw_champsim_record *record, const struct tw_ref *ref);

#endif
