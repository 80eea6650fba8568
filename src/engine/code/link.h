/*
 * Links: exits that lead directly to another fragment's entry, and lookups for indirect branches in their table.
 *
 * What must hold: whatever leads to a fragment is in that fragment's lists (incoming, lookups), so that it can be
 * undone (stale.h). If the current upper half differs from the one with which the fragment must be entered, the link
 * writes it (lookup.h).
 *
 * Under tw_engine.lock.
 */
#ifndef TW_LINK_H
#define TW_LINK_H

#include "engine/code/fragment.h"

/* Links x, which may be NULL, to f, a plain fragment, or to the superblock that is best for it; where it can be linked and is not. */
void tw_link_exit(struct exit *x, struct fragment *f);

/* Those of the exits linked to `from` that s is better for lead to s from now on. */
void tw_link_take_exits(struct fragment *from, struct fragment *s);

/* Likewise the indirect branches that land at `from`. */
void tw_link_take_lookups(struct fragment *from, struct fragment *s);

/* f's entry becomes a jump to s, for the fragment that falls into it; only where nobody else can be running it. */
void tw_link_replace_entry(struct fragment *f, struct fragment *s);

#endif
