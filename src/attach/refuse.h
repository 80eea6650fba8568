/*
 * Which running processes cannot be taken under the engine, and why: one sentence each.
 */
#ifndef TW_REFUSE_H
#define TW_REFUSE_H

#include "base/sizes.h"

#include <stddef.h>
#include <sys/types.h>

/* 1, with the sentence in `why`: it cannot be taken. What only the attempt can show (ptrace) is told by tw_refuse_trace. */
int tw_refuse(pid_t pid, char *why, size_t size);

/* Likewise where its memory, `sizes` of which the engine takes, is limited; else its limits are raised by that. */
int tw_refuse_limits(pid_t pid, const struct tw_sizes *sizes, char *why, size_t size);

/* The kernel does not let this process trace it, with this errno. */
void tw_refuse_trace(pid_t pid, int error, char *why, size_t size);

#endif
