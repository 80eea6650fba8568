/*
 * Emitting x86-64 code into the cache: plain encoders. Each writes at e->at and advances it. None checks for room:
 * the caller has reserved more than a fragment can take.
 */
#ifndef TW_EMIT_H
#define TW_EMIT_H

#include "engine/engine.h"
#include "engine/x86_64/state.h"

struct tw_recorded;
struct fragment;

struct emit {
	u8 *start, *at;
	struct tw_recorded *rec; /* what is being made, for the emitting code: nothing here uses these two */
	struct fragment *f;
	u8 buf;                 /* register that holds the buffer pointer here */
	i32 values;             /* offset of the record's value slots from the buffer pointer */
	u8 path;                /* the exit being emitted (struct side_exit); 0: the whole path */
	u16 defs;               /* registers that the fragment's instructions write, as a mask */
	u32 passed;             /* STATE_TALLIED, STATE_TURNS: of the path being emitted */
	struct state_entry now; /* state in force */
	u32 n_states;
	struct state_entry state[STATE_MOST];
};

void emit_bytes(struct emit *e, const void *p, u32 n);
void emit_8(struct emit *e, u8 v);
void emit_32(struct emit *e, u32 v);
void emit_mov_gs_reg(struct emit *e, u32 slot, u8 reg); /* gs:[slot] = reg */
void emit_mov_reg_gs(struct emit *e, u8 reg, u32 slot);
void emit_mov_gs_imm(struct emit *e, u32 slot, u32 imm); /* 32-bit store */
void emit_inc_gs(struct emit *e, u32 slot);              /* a quadword; flags but the carry are lost */
void emit_mov_mem_reg(struct emit *e, u8 base, i32 disp, u8 reg);
void emit_mov_reg_mem(struct emit *e, u8 reg, u8 base, i32 disp);
void emit_mov_reg_reg(struct emit *e, u8 dst, u8 src);
void emit_mov_reg_imm(struct emit *e, u8 reg, u64 imm);
void emit_mov_mem32_imm(struct emit *e, u8 base, i32 disp, u32 imm);
void emit_mov_mem16_imm(struct emit *e, u8 base, i32 disp, u16 imm);
void emit_lea(struct emit *e, u8 reg, u8 base, i32 disp);
void emit_lea_sum(struct emit *e, u8 dst, u8 reg);                                /* dst += reg, which is not rsp */
void emit_load_address(struct emit *e, u8 reg, const struct tw_op *a, bool load); /* reg = EA, or the quadword there; no %gs */
void emit_store_vector(struct emit *e, u8 base, i32 disp, u8 kind, u8 reg);       /* kind: enum vec_kind */
void emit_jmp(struct emit *e, const u8 *target);
u8 *emit_jmp_patchable(struct emit *e); /* jmp rel32 whose displacement can be stored atomically; returns its address */
u8 *emit_jcc_patchable(struct emit *e, u8 cc);
void emit_patch(u8 *rel32, const u8 *target);

/* From here on the state is `flags` (t_reg as in the fragment) before instruction `insn`. */
void emit_state(struct emit *e, u8 insn, u32 flags);

/*
 * Makes a register free, with its value in thread.slot_s; and restores it. Before instruction `insn`; `flags`: the
 * rest of the state, which is emitted again when the register has its value.
 */
void emit_spill(struct emit *e, u8 insn, u8 reg, u32 flags);
void emit_unspill(struct emit *e, u8 insn, u8 reg, u32 flags);

#endif
