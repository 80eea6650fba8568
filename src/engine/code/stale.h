/*
 * Stale fragments: those whose code was unmapped or written.
 *
 * What must hold: a stale fragment is unreachable. It is removed from the table, the exits linked to it lead to their
 * stubs again, its lookups are removed from their tables, and the fragment that falls into it is stale, too. Its
 * entry is a breakpoint, for threads on their way there. A thread inside it continues to one of its exits. Fragments
 * are found by the pages of their code, so programs that write code all the time (JITs) are fast enough. Its bytes
 * stay until the whole cache is emptied (flush.h).
 *
 * Under tw_engine.lock.
 */
#ifndef TW_STALE_H
#define TW_STALE_H

#include "engine/code/fragment.h"

/* Together with the fragments that run into it without a jump, or through a jump in place of their entry. */
void tw_fragment_make_stale(struct fragment *f);

/* Makes every fragment with code in [start, end) stale, except for those of modules that are not mapped yet. */
void tw_fragment_invalidate(u64 start, u64 end);

#endif
