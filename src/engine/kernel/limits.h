/*
 * Limits on memory (RLIMIT_AS, RLIMIT_DATA). The engine's memory counts against them like the application's, so the
 * kernel's limits of a recorded process are higher by that. `trackway record` raises them before the first program;
 * this file translates them where the application sets or reads them.
 */
#ifndef TW_LIMITS_H
#define TW_LIMITS_H

#include "engine/kernel/room.h"

/* prlimit64; setrlimit and getrlimit (pid 0) can be made as this, too. Result as the kernel's. */
i64 tw_limits_prlimit(u32 pid, u32 resource, u64 set, u64 old);

/*
 * Sets the kernel's limits to the program's own, before it executes something natively; and back, if that failed.
 * Hard limits only if they can be raised again.
 */
void tw_limits_leave(void);
void tw_limits_return(void);

/*
 * While the program's address space or data are limited: takes what is left of the engine's share, so that the
 * program does not get it. Memory that the engine may still need has been mapped since its start.
 */
void tw_limits_fill(void);

/* What it has taken so. */
void tw_limits_filled(u64 *start, u64 *end);

#endif
