/*
 * The state map of a piece of code in the cache: for each of its instructions, where the application's exact
 * registers are, and which application instruction is next. So a signal can be delivered anywhere there, at once.
 *
 * Entries are sorted by offset; the one for a host address is the last at or before it. They are rarely used and
 * there are millions of them, so they are encoded, most in a byte: if one application instruction follows another,
 * and nothing else differs, that byte is the number of bytes it takes in the cache. After the entries come the
 * lengths of the application's instructions. Equal maps are stored once: there are few different ones of lookups, and
 * of many short blocks.
 */
#ifndef TW_STATE_H
#define TW_STATE_H

#include "engine/engine.h"

#define BUF_REG TW_R11 /* the buffer pointer is there where something is recorded, unless the code has a t_reg */

enum state_flags {
	STATE_NOT_OPEN = 1,  /* the fragment's record has not been begun */
	STATE_CLOSED = 2,    /* the buffer pointer has been moved past the record */
	STATE_T_SLOT = 4,    /* the application's value of t_reg is in thread.slot_t */
	STATE_R11_LIVE = 8,  /* r11 is the application's, t_reg is the buffer pointer */
	STATE_RCX_SLOT = 16, /* the application's rcx is in thread.slot_rcx */
	STATE_R10_SLOT = 32, /* the application's r10 is in thread.slot_r10 */
	STATE_DONE = 64,     /* all instructions have run; pc: */
	STATE_PC_RCX = 128,  /*   in rcx (else with DONE: pc_fall or pc_target) */
	STATE_PC_FALL = 256,
	STATE_SPILL = 512,         /* the application's value of register `spill` is in thread.slot_s */
	STATE_SPILL2 = 1024,       /* ... and that of `spill2` in slot_s2 */
	STATE_PC_RCX_PLUS = 4096,  /* pc is rcx + the lookup's pc (mid-lookup) */
	STATE_OFF_BY_ONE = 2048,   /* with PC_RCX_PLUS: and one less */
	STATE_PC_STACK = 16384,    /* with DONE: a return that has not popped yet: pc is at [rsp] */
	STATE_IN_REP = 8192,       /* at a string instruction with a repeat prefix: some iterations may have been made */
	STATE_STAMPED = 32768,     /* the buffer pointer has been moved past the stamp before the record (NOT_OPEN), or after it (DONE) */
	STATE_C_SLOT = 1 << 16,    /* the application's value of c_reg is in thread.slot_c */
	STATE_TALLIED = 1 << 17,   /* the record, though not closed, is counted (record/tally.h) */
	STATE_TURNS = 1 << 18,     /* ... and the turns of the loop */
	STATE_UNSETTLED = 1 << 19, /* flags or a register are lost until the next cache instruction has run (record/tally_code.h) */
};

struct state_entry {
	u32 flags : 24; /* enum state_flags */
	u32 spill : 4, spill2 : 4;
	u16 offset; /* from the start of the code */
	u8 insn;    /* index of the application's instruction about to run */
	u8 path;    /* with CLOSED or DONE: by which way out */
};

#define STATE_MOST 2048 /* entries of one map */

/* Machine code in the cache and its map. */
struct state_map {
	u8 *code;       /* where it starts */
	const u8 *kept; /* entries and lengths of instructions */
	u16 code_bytes;
	u16 turned; /* from this offset on STATE_PC_FALL no longer applies (code/cache.c); 0: all is as it was stored */
	u8 t_reg;   /* substitute buffer register, or TW_NOREG */
	u8 c_reg;   /* a loop counts in it (code/loop.h); TW_NOREG: it is none */
};

/* Before any map is kept: what maps have in common is in the heap. Then, whenever maps have been thrown away. */
void tw_state_init(void);
void tw_state_forget(void);

/* Entries and the lengths of n_insns instructions, for struct state_map. There is at least one entry. Under the lock. */
const u8 *tw_state_keep(const struct state_entry *state, u32 n_states, const u8 *lengths, u32 n_insns);

/* The entry for a host address in it. */
struct state_entry tw_state_at(const struct state_map *m, u64 host);

/* The lengths of the application's instructions. */
const u8 *tw_state_lengths(const struct state_map *m);

/* Where in struct thread the application's registers are, by enum tw_reg: offsets. */
struct register_places {
	u16 at[TW_NREGS];
};

static inline u64 tw_register_in(const struct thread *t, const struct register_places *p, u8 reg)
{
	return *(const u64 *)((const u8 *)t + p->at[reg]);
}

/*
 * Their places when the machine's registers, in t->regs, are those at `host`, which is not at a return that has not
 * popped yet. `recorded`: something is, so r11 is the buffer pointer's register. Returns the register that holds the
 * buffer pointer there.
 */
u8 tw_state_places(const struct state_map *m, u64 host, bool recorded, struct register_places *p);

/* The application's registers themselves, at any `host`. */
u8 tw_state_registers(const struct thread *t, const struct state_map *m, u64 host, bool recorded, u64 *regs);

#endif
