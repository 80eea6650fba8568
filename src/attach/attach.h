/*
 * Puts a running process with all its threads under the engine (`trackway record --pid`). ptrace is used only at that
 * moment.
 *
 * Threads are stopped; the first of them maps the engine's file and the data that it needs (base/attach.h), and the
 * engine starts there. Then each thread continues in the engine where it was stopped. If this fails, everything new
 * is unmapped, and the threads continue natively.
 */
#ifndef TW_ATTACH_TOOL_H
#define TW_ATTACH_TOOL_H

#include "base/sizes.h"

#include <stddef.h>
#include <sys/types.h>

struct tw_attach_options {
	pid_t pid;
	const char *engine, *channel; /* paths, absolute */
	const struct tw_sizes *sizes;
};

/* 0; or -1 with one sentence in `why`: the process is unchanged. */
int tw_attach(const struct tw_attach_options *options, char *why, size_t size);

#endif
