/*
 * Takes a running process, with all its threads, under the engine (`trackway record --pid`). ptrace is used for that moment only.
 *
 * Threads are stopped, the first of them maps the engine's file and what it has to know (base/attach.h), and the engine begins in there; then each thread goes on in
 * the engine where it had been stopped. Where that fails, all is unmapped that was not there before, and the threads go on natively.
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

/* 0; or -1 with one sentence in `why`: the process is as it was. */
int tw_attach(const struct tw_attach_options *options, char *why, size_t size);

#endif
