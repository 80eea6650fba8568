/*
 * Buffers outside the channel. They are located after the threads' blocks, where memory is reserved for them, since
 * the program may have taken everything else.
 *
 * First the spare ones, for threads that are not recorded. Nobody reads them, so several threads may share one, and
 * there can be any number of such threads. There are enough buffers that threads which run at the same time rarely
 * write to the same memory. The first is in the engine's image, so that there is always one. Then one for each thread
 * that counts for itself (tally.h).
 *
 * After them come two pages that make four unused mappings: a fork of a program that has made all the mappings that
 * the kernel allows gets these for its buffers.
 */
#ifndef TW_SPARE_H
#define TW_SPARE_H

#include "engine/record/room.h"

/* Bytes for all of this (tw_thread_init). */
u64 tw_spare_set_aside(void);

/* Before the first thread. False: there are too many mappings. */
bool tw_spare_init(void);

/* One for a thread that is not recorded. */
u8 *tw_spare_buffer(const struct thread *t);

/* Makes sure that t, which counts for itself, has its own. False: there is no memory. */
bool tw_spare_own(struct thread *t);

/* Gives it up, if there is one; a fork has none of its parent's. */
void tw_spare_disown(struct thread *t);

/* The unused mappings are released while buffers are made for a thread, and made again, as far as the kernel allows. */
void tw_spare_lend_mappings(bool lend);

#endif
