/*
 * What bare code tells, for --learn: each new fragment, and the target of each exit that is followed for the first
 * time (LEARNED events).
 */
#ifndef TW_LEARNED_H
#define TW_LEARNED_H

#include "engine/code/fragment.h"

/*
 * f is reached, for the first time at all if it is `new`, or by x (NULL: none), which is not linked to it: tells what
 * is new about that. Under the lock. False: nothing was told.
 */
bool tw_learned_tell(struct fragment *f, struct exit *x, bool new);

/*
 * Was something not told in this process, or in those it is a fork of, because the budget was spent? Translated code
 * does not reach it again.
 */
bool tw_learned_left_out(void);

#endif
