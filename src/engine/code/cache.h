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
 * Where f's code goes: room for MAX_FRAGMENT_BYTES, and behind a lookup for a fragment that it falls into. NULL: cache full. When exit x (else NULL)
 * is one of the fragment that the calling thread made last, f takes the place of the jump at that one's end, its condition turned round if need be:
 * the path taken first has no jumps in it.
 */
u8 *tw_cache_room(struct fragment *f, struct exit *x);

/* Takes f->code_bytes at f->code, and enters f among those that are found by address. */
void tw_cache_commit(struct fragment *f);

/* The fragment whose code holds this host address, or NULL. Safe in a signal handler. */
struct fragment *tw_fragment_at(u64 host);

/* Gives back what is left of the piece that is the last of those in use. */
void tw_cache_trim(void);

#endif
