/*
 * The logs of DIME* (Arafa, Kashif, Fischmeister: Redundancy suppression in time-aware dynamic binary
 * instrumentation, section 3.2), for comparison, behind one interface. Each is asked whether a trace, a run of code
 * with one entry, has been instrumented before, and is told when it has been.
 *
 *     hash     the start addresses of traces. A trace that begins in the middle of another is instrumented again; a longer trace
 *              with the same address is not.
 *     tree     a search tree of ranges: a trace is known if its first byte is in a range. So the rest of a trace that reaches
 *              farther is never instrumented.
 *     merging  the same, but a trace is known only if it ends before the end of the range; adjacent ranges become one. A trace
 *              that ends exactly with a range is instrumented again.
 *     exact    ours: which bytes are known. A trace is known if all its bytes are.
 *
 * So hash and tree miss code (false negatives), and hash and merging instrument known code again (false positives).
 */
#ifndef TW_LEARN_LOG_H
#define TW_LEARN_LOG_H

#include <stddef.h>
#include <stdint.h>

struct tw_log;

/* NULL: no log of that name, or no memory. The names follow one another; NULL follows the last. */
struct tw_log *tw_log_new(const char *name);
void tw_log_free(struct tw_log *l);
const char *tw_log_name(unsigned k);

/* Is the trace at this address, of so many bytes, known? */
int tw_log_knows(const struct tw_log *l, uint64_t address, uint64_t bytes);

/* It has been instrumented. 0 or TW_ERR_MEMORY. */
int tw_log_add(struct tw_log *l, uint64_t address, uint64_t bytes);

/* Number of entries, and their bytes; if entries are not merged, a byte may be in several. */
size_t tw_log_entries(const struct tw_log *l);
uint64_t tw_log_bytes(const struct tw_log *l);

#endif
