/*
 * Verification: replay against a log of what really happened.
 *
 * In a recording made with TW_FLAG_VERIFY every fragment is followed by one REFS event with its references, computed
 * in the simple way from live registers. A verifier replays a chunk from its values and compares, fragment by
 * fragment: the same code ran, and it made the same references in the same order. It keeps the first difference it
 * finds.
 *
 * One verifier serves one thread; chunks may come in any order.
 */
#ifndef TW_VERIFY_H
#define TW_VERIFY_H

#include <stdio.h>
#include <trackway/recording.h>

struct tw_verify;

/* `lookup` gives a descriptor by number, or NULL; descriptors must live as long as there are chunks in which they are used. *xstate is copied. NULL: no memory. */
struct tw_verify *tw_verify_new(const struct tw_xstate *xstate, const struct tw_descriptor *(*lookup)(void *ctx, uint32_t number),
                                void *ctx);
void tw_verify_free(struct tw_verify *v);

/*
 * Verifies a chunk that still has its REFS events. Returns 0 while everything matches. Once a mismatch was found, or
 * a chunk did not replay, returns nonzero for this and every later chunk without looking at those.
 */
int tw_verify_chunk(struct tw_verify *v, const struct tw_chunk *chunk);

/* One line with what was compared; or the first mismatch: thread, reference, pc, disassembly, expected and found. */
void tw_verify_report(struct tw_verify *v, FILE *out);

#endif
