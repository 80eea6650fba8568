/*
 * Fragments by what stands for them in buffers: in the plain form each way out of one has a number, in the other forms it has a tag.
 *
 * What must hold: these are read without the lock, in signal handlers too (records.h). So a fragment can be found here only when all that is read of it is there.
 */
#ifndef TW_NUMBERS_H
#define TW_NUMBERS_H

#include "engine/code/fragment.h"

/* f, just made, can be found. Under the lock. */
void tw_numbers_enter(struct fragment *f);

/* The fragment of one block with this tag, in the tagged form; NULL: none of this process. A lossy table: of two that meet, the newer one is found. */
struct fragment *tw_fragment_tagged(u32 tag);

/* The fragment one of whose ways out has this number; NULL: none of this process. */
struct fragment *tw_fragment_numbered(u32 number);

/* Where fragments of this upper half are found by number: 65536 pointers; NULL: there are none. A snapshot has these. */
struct fragment ***tw_numbers_row(u32 upper);

/* Translations are thrown away: none can be found any more. */
void tw_numbers_forget(void);

#endif
