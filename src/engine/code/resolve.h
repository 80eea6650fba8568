/*
 * From an address to the fragment to continue with: found, or made now.
 */
#ifndef TW_RESOLVE_H
#define TW_RESOLVE_H

#include "engine/code/fragment.h"

/*
 * The fragment for (pc, context), translated now if needed, and from then on reachable by exit x (which may be NULL)
 * without leaving the cache. NULL: the instruction at pc is not, or not entirely, in executable memory. Called under
 * the lock.
 */
struct fragment *tw_resolve(u64 pc, u32 context, struct exit *x);

#endif
