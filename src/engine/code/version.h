/*
 * The switches of DIME (record --switch): each fragment starts with a test whether its thread is to switch to the
 * other version of the code (record/budget.h).
 *
 * thread.count grows to TW_COUNT_END, where its upper half is no longer 0, so it can be tested without flags. A
 * thread that finds this enters the dispatcher before the fragment. Recording code adds the bytes of its record; bare
 * fragments, all or few of them, detect in this way that a timer has expired.
 */
#ifndef TW_VERSION_H
#define TW_VERSION_H

#include "engine/x86_64/decode.h"
#include "engine/x86_64/emit.h"

struct exit;

/*
 * Emits just the test of thread.count: a thread whose count has reached its end leaves by x, otherwise `add` is
 * added. Changes neither flags nor registers.
 */
void tw_count_test(struct emit *e, struct exit *x, u32 add);

/* Emits the test, at the fragment's beginning. */
void tw_version_test(struct emit *e, const struct block *b);

#endif
