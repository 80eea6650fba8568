/*
 * The code cache: where fragments are placed, and which fragment is at an address.
 *
 * Each thread places its fragments in its own piece of the cache (a few threads may share one), one after another. So
 * a fragment can fall through into the next one that its thread makes, whatever other threads make meanwhile.
 *
 * What must hold: the end of a fragment is rewritten only while no thread can be running it except the one that makes
 * the next fragment, and that one is in the dispatcher. This is so while there is one thread; with several, while the
 * fragment is private (private.h).
 *
 * Everything here is called under tw_engine.lock, except tw_fragment_at.
 */
#ifndef TW_CACHE_H
#define TW_CACHE_H

#include "engine/code/fragment.h"

#define MAX_FRAGMENT_BYTES 32768u /* the most that one takes */

/*
 * A place for f's code: room for MAX_FRAGMENT_BYTES, and after a lookup for a fragment that it falls into. NULL:
 * cache full. If exit x (else NULL) belongs to the fragment that the calling thread made last, f replaces the jump at
 * the end of that fragment, with its condition inverted if needed: the path taken first has no jumps in it.
 */
u8 *tw_cache_room(struct fragment *f, struct exit *x);

/* Takes f->code_bytes at f->code, and makes f findable by address. */
void tw_cache_commit(struct fragment *f);

/* The fragment whose code holds this host address, or NULL. Safe in a signal handler. */
struct fragment *tw_fragment_at(u64 host);

/* Returns the rest of the piece that is the last one in use. */
void tw_cache_trim(void);

#endif
