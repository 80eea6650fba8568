/*
 * Buffers outside the channel. Their places are behind the threads' blocks, where memory is set aside for them: the program may have taken all else.
 *
 * First the spare ones, which are what threads that are not recorded write to. Nobody reads them, so several threads may have the same one, and there can be any number
 * of such threads; as many buffers as it takes that threads that run at the same time seldom write to the same memory. The first of them is in the engine's image, so
 * that there is always one. Then one for each thread that counts for itself (tally.h).
 *
 * Behind them all are two pages that make four mappings of no use: a fork of a program that has made all the mappings which the kernel allows has these for its buffers.
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

/* The mappings of no use are given up while buffers are made for a thread, and taken again, as far as the kernel allows. */
void tw_spare_lend_mappings(bool lend);

#endif
