/*
 * Lookups and bridges: small fragments in front of another's entry. An indirect branch finds a lookup in its table
 * (tables.h); the lookup checks that the target is its own. A bridge is between a direct exit and a fragment with
 * another upper half: it writes the change.
 *
 * Under tw_engine.lock.
 */
#ifndef TW_LOOKUP_H
#define TW_LOOKUP_H

#include "engine/code/fragment.h"

/*
 * Code that enters `to` from an indirect branch like x that found it in its table; `next` is the lookup to try if the
 * target differs. `adjacent`: `to` will follow it directly. NULL: the cache is full.
 */
struct fragment *tw_lookup_make(struct fragment *to, const struct exit *x, const u8 *next, bool adjacent);

/* Code that writes the change of upper half, then enters `to`. NULL: the cache is full. */
struct fragment *tw_bridge_make(struct fragment *to);

#endif
