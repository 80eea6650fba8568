/*
 * Exits and their stubs: the code that leaves the cache and says by which exit. An unlinked exit jumps to its stub.
 *
 * Under tw_engine.lock. Stubs stay in place until all translations are discarded.
 */
#ifndef TW_STUB_H
#define TW_STUB_H

#include "engine/code/fragment.h"
#include "engine/x86_64/emit.h"

/* An exit that leaves `from`, or NULL, with the current upper half of that. It has no stub yet. */
struct exit *tw_exit_new(u8 kind, u64 pc, struct fragment *from);

/* x leads to its stub again. It is in no list of incoming exits (any more). */
void tw_exit_unlink(struct exit *x);

/* The stub of x. */
u8 *tw_stub_new(struct exit *x);

/*
 * The same if something must be done first: emitted between tw_stub_begin and tw_stub_end, which returns its address.
 * Ends the process if there is no more room.
 */
struct emit *tw_stub_begin(void);
u8 *tw_stub_end(const struct emit *e);

#endif
