/*
 * mlockall: what is locked, and counts against the limit on that (RLIMIT_MEMLOCK), is the program's memory without the engine's. The kernel's own call would lock all there is
 * in the process. So what is mapped now is locked mapping by mapping, and what is mapped from then on when that happens.
 *
 * Under tw_engine.lock, but for tw_mlock_forget.
 */
#ifndef TW_MLOCK_H
#define TW_MLOCK_H

#include "engine/kernel/room.h"

/* The calls; results as the kernel's. TW_MLOCK_PASS: the kernel has the answer. */
#define TW_MLOCK_PASS (-1000)
i64 tw_mlock_all(u64 flags);
void tw_munlock_all(void);

/* What the program has mapped just now is locked if all is to be. False: it cannot be, and should not be there. */
bool tw_mlock_mapped(u64 start, u64 length);

/* A process that the engine came into had the kernel do so; and one that the engine leaves has it do so again. Flags of mlockall. */
void tw_mlock_found(u64 later);
void tw_mlock_give_back(void);

/* A forked child: nothing of it is locked. */
void tw_mlock_forget(void);

#endif
