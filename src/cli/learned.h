/* What `trackway record --learn` does with a recording: its facts go to the learn file. */
#ifndef TW_CLI_LEARNED_H
#define TW_CLI_LEARNED_H

#include "learn/facts.h"

/* blocks, branches, calls. 0: there is none of that name. */
unsigned tw_learned_what(const char *name);

/* Says what a function of learn/file.h has just returned. */
void tw_learned_error(const char *command, const char *file, int error);

/* Is the file one of another program than this path, or can it not be written? Then it is said, and the exit status is returned; else 0. */
int tw_learned_check(const char *file, const char *program);

struct tw_learn_saved;

/* Takes what the recording in `dir` tells. Says what is new, unless `quiet`, and what went wrong. 0, or an error that has been said. */
int tw_learned_take(const char *dir, const char *file, unsigned what, int quiet, struct tw_learn_saved *saved);

/* How many facts the file has; 0 where there is none. */
uint64_t tw_learned_count(const char *file);

#endif
