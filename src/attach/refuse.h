/*
 * Which running processes cannot be put under the engine, with one sentence why.
 */
#ifndef TW_REFUSE_H
#define TW_REFUSE_H

#include "base/sizes.h"

#include <stddef.h>
#include <sys/types.h>

/* 1, with the sentence in `why`: refused. What only the attempt can show (ptrace) is reported by tw_refuse_trace. */
int tw_refuse(pid_t pid, char *why, size_t size);

/* The same if its memory is limited, of which the engine takes `sizes`; otherwise raises its limits by that. */
int tw_refuse_limits(pid_t pid, const struct tw_sizes *sizes, char *why, size_t size);

/* The kernel does not permit tracing it, with this errno. */
void tw_refuse_trace(pid_t pid, int error, char *why, size_t size);

#endif
