/* What `trackway record --learn` does with a recording: adds its facts to the learn file. */
#ifndef TW_CLI_LEARNED_H
#define TW_CLI_LEARNED_H

#include "learn/facts.h"

/* blocks, branches, calls. 0: there is none of that name. */
unsigned tw_learned_what(const char *name);

/* Says what a function of learn/file.h has just returned. */
void tw_learned_error(const char *command, const char *file, int error);

/* Does the file belong to another program than this path, or is it not writable? Then reports it and returns the exit status; else 0. */
int tw_learned_check(const char *file, const char *program);

struct tw_learn_saved;

/*
 * Adds the facts of the recording in `dir`. Says what is new, unless `quiet`, and what went wrong. 0, or an error
 * that has been reported.
 */
int tw_learned_take(const char *dir, const char *file, unsigned what, int quiet, struct tw_learn_saved *saved);

/* Number of facts in the file; 0 if there is none. */
uint64_t tw_learned_count(const char *file);

#endif
