/*
 * The logs of DIME* (Arafa, Kashif, Fischmeister: Redundancy suppression in time-aware dynamic binary instrumentation, section 3.2), behind one small interface, to compare with: each is asked whether
 * a trace, a run of code with one entry, has been instrumented before, and is told when it has been.
 *
 *     hash     the addresses that traces begin at. One that begins in the middle of another is instrumented again; one that is longer than that of the same address is not.
 *     tree     a search tree of ranges: a trace is known when its first byte is in one. So the rest of one that reaches farther is never instrumented.
 *     merging  the same, but a trace is known only when all of it ends before the end of one range; ranges that touch become one. One that ends just where a range does is instrumented again.
 *     exact    ours: which bytes are known. A trace is known when all of them are.
 *
 * So hash and tree miss code (false negatives), and hash and merging instrument again what is known (false positives).
 */
#ifndef TW_LEARN_LOG_H
#define TW_LEARN_LOG_H

#include <stddef.h>
#include <stdint.h>

struct tw_log;

/* NULL: there is no log of that name, or no memory. Names, one after another: the last is followed by NULL. */
struct tw_log *tw_log_new(const char *name);
void tw_log_free(struct tw_log *l);
const char *tw_log_name(unsigned k);

/* Is the trace at this address, of so many bytes, known? */
int tw_log_knows(const struct tw_log *l, uint64_t address, uint64_t bytes);

/* It has been instrumented. 0 or TW_ERR_MEMORY. */
int tw_log_add(struct tw_log *l, uint64_t address, uint64_t bytes);

/* How many entries it has, and of how many bytes; where they do not merge, the same byte may be in several. */
size_t tw_log_entries(const struct tw_log *l);
uint64_t tw_log_bytes(const struct tw_log *l);

#endif
