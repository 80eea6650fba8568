/*
 * Calls that were open when a process was forked: the child continues in them.
 *
 * The code that follows the child's calls may not have seen the parent's yet, or never see them (another state
 * follows them, perhaps on another processor). So what the child runs there is a start of its own, with a root that
 * says which process it is and what has returned since (contexts.h), until the fork has been met too. What was
 * learned of forks is shared by all states of a run, and found by its context.
 */
#ifndef TW_FORKS_H
#define TW_FORKS_H

#include "analyzers/contexts.h"

struct tw_forks;

/* Those of a run. Each user lets go of them once. NULL: no memory. From any thread, as all that follows. */
struct tw_forks *tw_forks_take(const struct tw_context *c);
void tw_forks_leave(struct tw_forks *f);

/* Process `parent` forked `child` at that time, with n open calls, the outermost first; nodes are those of `tree`. 0 or TW_ERR_MEMORY. */
int tw_forks_add(struct tw_forks *f, uint32_t parent, uint32_t child, uint64_t tsc, const struct tw_contexts *tree,
                 const struct tw_context_frame *frames, size_t n);

/* Resolves the starts whose fork was met. 0 or an error. */
int tw_forks_resolve(struct tw_forks *f, struct tw_contexts *tree);

/* As bytes, and back: what was packed is added. */
int tw_forks_pack(struct tw_forks *f, FILE *to);
int tw_forks_unpack(struct tw_forks *f, FILE *from);

#endif
