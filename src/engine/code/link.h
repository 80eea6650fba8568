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

/* Links x, which may be NULL, to f, a plain fragment, or to the superblock that is best for it; if it can be linked and is not yet. */
void tw_link_exit(struct exit *x, struct fragment *f);

/* Redirects to s those exits linked to `from` for which s is better. */
void tw_link_take_exits(struct fragment *from, struct fragment *s);

/* Likewise the indirect branches that land at `from`. */
void tw_link_take_lookups(struct fragment *from, struct fragment *s);

/* Turns f's entry into a jump to s, for the fragment that falls into it; only if nobody else can be running it. */
void tw_link_replace_entry(struct fragment *f, struct fragment *s);

#endif
