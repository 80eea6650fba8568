/*
 * From a host address in the cache to the application's state there: which registers are where, its pc, and what is missing of the record that has been begun.
 */
#ifndef TW_INTERRUPT_H
#define TW_INTERRUPT_H

#include "engine/fragment.h"

/*
 * The thread stands at `host` in the cache, with the machine's registers in t->regs: makes t->regs and t->pc the application's, and closes the record as one that
 * stopped there.
 */
void tw_interrupt(struct thread *t, u64 host);

/*
 * Where they are when the machine's, in t->regs, are those at `host` in f, which is not a return that has not popped yet. Returns which register holds
 * the buffer pointer there.
 */
u8 tw_state_places(const struct fragment *f, u64 host, struct register_places *p);

/* The application's registers themselves, at any `host`. */
u8 tw_state_registers(const struct thread *t, const struct fragment *f, u64 host, u64 *regs);

/* The application's pc in this state; `rcx` and `rsp` as the machine has them. */
u64 tw_state_pc(const struct fragment *f, const struct state_entry *s, u64 rcx, u64 rsp);

#endif
