/*
 * Limits on memory (RLIMIT_AS, RLIMIT_DATA). What the engine takes counts against them like the application's own, so the kernel's limits of a
 * recorded process are higher by that; `trackway record` raises them before the first program, and here they are translated where the
 * application sets or reads them.
 */
#ifndef TW_LIMITS_H
#define TW_LIMITS_H

#include "engine/kernel/room.h"

/* prlimit64, as which setrlimit and getrlimit (pid 0) can be made too. Result as the kernel's. */
i64 tw_limits_prlimit(u32 pid, u32 resource, u64 set, u64 old);

/*
 * The kernel's limits become the program's own, before it executes something natively; again, if nothing came of that. The hard ones only where they can be raised again.
 */
void tw_limits_leave(void);
void tw_limits_return(void);

/*
 * While the program's address space or data are limited: takes what is left of the engine's share, so that the program does not get it. What the engine may still need
 * it has mapped from its start on.
 */
void tw_limits_fill(void);

/* What it has taken so. */
void tw_limits_filled(u64 *start, u64 *end);

#endif
