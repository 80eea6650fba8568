/*
 * Fragments by what identifies them in buffers: in the plain form each exit has a number, in the other forms a
 * fragment has a tag.
 *
 * What must hold: these tables are read without the lock, also in signal handlers (records.h). So a fragment is
 * entered here only when everything that readers use is in place.
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
