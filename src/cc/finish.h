/*
 * The last step after a program or library has been linked: the blocks of all its objects get their tags
 * (base/cc_section.h).
 */
#ifndef TW_CC_FINISH_H
#define TW_CC_FINISH_H

#include "base/channel.h"

#include <stdint.h>

/* Maximum number of blocks of one file: the numbers available as tags. */
enum { TW_CC_MOST_TAGS = 65536, TW_CC_MOST_BLOCKS = TW_CC_MOST_TAGS - TW_TAG_FIRST };

/* 0: done, or nothing in it is instrumented; otherwise an error. */
const char *tw_cc_finish(const char *path);

/* Bytes of thread-local memory that each thread has for the file. */
uint64_t tw_cc_thread_memory(const char *path);

/* Does the file have instrumented code? And that in two versions (twice.h)? Compiled with --full=guard? */
int tw_cc_is_instrumented(const char *path);
int tw_cc_is_switchable(const char *path);
int tw_cc_is_guarded(const char *path);

/* Was the file, which has instrumented code, compiled by this version of trackway cc? */
int tw_cc_is_current(const char *path);

#endif
