/*
 * All existing fragments: found by key, (pc, context), and by the pages of their code.
 *
 * Under tw_engine.lock. Stale fragments are not found. Those of a module that is not mapped (module.h), and those
 * private to another thread, are skipped.
 */
#ifndef TW_FRAGMENTS_H
#define TW_FRAGMENTS_H

#include "engine/code/fragment.h"

/*
 * Makes the new fragment f findable: by those that want to run its code, by those that change the code, and by its
 * numbers or tag in buffers.
 */
void tw_fragment_admit(struct fragment *f);

/* f is no longer found by its key. */
void tw_fragment_take_out(const struct fragment *f);

/* The fragment of one block for pc, or the superblock that begins there; NULL: there is none. */
struct fragment *tw_fragment_find(u64 pc, u32 context, bool superblock);

/* The fragment of one block for pc under the current instrumentor, if there is one. */
struct fragment *tw_fragment_plain(u64 pc);

/* All fragments for pc, one after another, under any context: NULL ends them. */
struct fragment *tw_fragment_first(u64 pc);
struct fragment *tw_fragment_other(const struct fragment *f);

/* The fragment to enter in place of f: the superblock there that uses most of what is known; f if there is none. */
struct fragment *tw_fragment_best(struct fragment *f, u32 context);

/*
 * Would a thread that runs f, the code at f->pc, return to it again and again through existing fragments, without a
 * conditional or indirect branch or a system call in between?
 */
bool tw_fragment_loops(const struct fragment *f);

/* Is no thread but the calling one, which is in the dispatcher, in f, or about to enter it? */
bool tw_fragment_is_alone(const struct fragment *f);

/* Head of the list of those (struct on_page) that have code on this page, among others. Removing one changes it. */
u32 *tw_fragment_pages(u64 page);

#endif
