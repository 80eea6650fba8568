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

/*
 * The fragment of one block with this tag, in the tagged form; NULL: none in this process. A lossy table: if two
 * collide, the newer one is found.
 */
struct fragment *tw_fragment_tagged(u32 tag);

/* The fragment that has an exit with this number; NULL: none in this process. */
struct fragment *tw_fragment_numbered(u32 number);

/* The table of fragments by number for this upper half: 65536 pointers; NULL: there is none. Part of snapshots. */
struct fragment ***tw_numbers_row(u32 upper);

/* Translations are discarded: none can be found any more. */
void tw_numbers_forget(void);

#endif
