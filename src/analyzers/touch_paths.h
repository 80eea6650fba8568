/*
 * Call paths of selected moments of an execution: a separate replay, of the threads that have such a moment, up to
 * the last of them. So an analyzer that sees only a few blocks (TW_NEEDS_NO_CODE) gets the paths of those that it
 * lists.
 */
#ifndef TW_TOUCH_PATHS_H
#define TW_TOUCH_PATHS_H

#include "analyzers/callpath.h"

/* A moment: the block of a thread that starts with its instruction number `insn`. */
struct tw_touch_moment {
	uint32_t thread;
	uint32_t path; /* out: its number in the paths */
	uint64_t insn;
};

/* Fills in the paths of n moments, and sorts them by thread and instruction. Returns what tw_replay() does; damaged parts are left out. */
int tw_touch_paths(const struct tw_context *c, struct tw_touch_moment *moments, size_t n, struct tw_callpaths *paths);

/* The path of a moment, of n that are sorted. */
uint32_t tw_touch_path_of(const struct tw_touch_moment *moments, size_t n, uint32_t thread, uint64_t insn);

#endif
