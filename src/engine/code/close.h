/*
 * What all exits of a fragment have in common: the record is closed, registers are restored, and a jump leads to the
 * exit's stub until the exit is linked.
 *
 * What must hold: after the close the state map says CLOSED, and all registers are the application's except r11, the
 * buffer pointer (apart from STATE_PC_... and the slots of indirect branches).
 */
#ifndef TW_CLOSE_H
#define TW_CLOSE_H

#include "engine/x86_64/emit.h"

/* State flags while a register's application value is elsewhere for the whole fragment. */
u32 tw_close_swapped(const struct emit *e);

/* Restores all registers but r11 and closes the record, with `insn` next. `flags`: the rest of the state, which stays. */
void tw_close_record(struct emit *e, u8 insn, u32 flags);

/* An exit to code at pc, under `context`, whose jump, already emitted, has its displacement at rel32. It leads to the exit's stub. */
struct exit *tw_close_exit(struct emit *e, u8 *rel32, u64 pc, u8 kind, u32 context);

/* jmp to the fragment at pc, or as the exit's `kind` says; `done`: instructions that have run. The record is closed. */
void tw_close_jump(struct emit *e, u8 done, u64 pc, u8 kind, u32 context, u32 flags);

#endif
