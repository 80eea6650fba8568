/*
 * From a host address in the cache to the application's state there: where its registers are, its pc, and what is
 * missing of the current record.
 */
#ifndef TW_INTERRUPT_H
#define TW_INTERRUPT_H

#include "engine/code/fragment.h"

/*
 * The thread is at `host` in the cache, with the machine's registers in t->regs: makes t->regs and t->pc the
 * application's, and closes the record as one that stopped there.
 */
void tw_interrupt(struct thread *t, u64 host);

/* The application's pc in this state; `rcx` and `rsp` as the machine has them. */
u64 tw_state_pc(const struct fragment *f, const struct state_entry *s, u64 rcx, u64 rsp);

#endif
