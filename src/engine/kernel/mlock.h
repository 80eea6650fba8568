/*
 * mlockall: what is locked, and counts against the limit (RLIMIT_MEMLOCK), is the program's memory without the
 * engine's. The kernel's own call would lock everything in the process. So existing mappings are locked one by one,
 * and later ones as they are made.
 *
 * Under tw_engine.lock, except tw_mlock_forget.
 */
#ifndef TW_MLOCK_H
#define TW_MLOCK_H

#include "engine/kernel/room.h"

/* The calls; results as the kernel's. TW_MLOCK_PASS: the kernel has the answer. */
#define TW_MLOCK_PASS (-1000)
i64 tw_mlock_all(u64 flags);
void tw_munlock_all(void);

/* Locks what the program has just mapped, if everything is to be locked. False: this failed, and the mapping should not exist. */
bool tw_mlock_mapped(u64 start, u64 length);

/* A process that was attached to had the kernel lock its memory; one that is detached from has it do so again. Flags of mlockall. */
void tw_mlock_found(u64 later);
void tw_mlock_give_back(void);

/* A forked child: nothing of it is locked. */
void tw_mlock_forget(void);

#endif
