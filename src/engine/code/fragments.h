/*
 * All existing fragments: found by key, (pc, context), and by the pages of their code.
 *
 * Under tw_engine.lock. Stale fragments are not found. Those of a module that is not mapped (module.h), and those
 * private to another thread, are skipped.
 */
#ifndef TW_FRAGMENTS_H
#define TW_FRAGMENTS_H

#include "engine/code/fragment.h"

/* f, just made, can be found from now on: by who wants to run its code, by who changes that, and by what stands for it in buffers. */
void tw_fragment_admit(struct fragment *f);

/* f is not found by what it is of any more. */
void tw_fragment_take_out(const struct fragment *f);

/* The fragment of one block for pc, or the superblock that begins there; NULL: there is none. */
struct fragment *tw_fragment_find(u64 pc, u32 context, bool superblock);

/* The fragment of one block for pc in what is used now, if there is one. */
struct fragment *tw_fragment_plain(u64 pc);

/* All for pc, one after another, under whatever context: NULL ends them. */
struct fragment *tw_fragment_first(u64 pc);
struct fragment *tw_fragment_other(const struct fragment *f);

/* What to enter where f would do: the superblock there that knows most of what is known; f if there is none. */
struct fragment *tw_fragment_best(struct fragment *f, u32 context);

/*
 * Would a thread that runs f, the code at f->pc, come by it again and again by way of fragments that there are, without a conditional or indirect branch or a
 * system call between?
 */
bool tw_fragment_loops(const struct fragment *f);

/* Is no thread but the calling one, which is in the dispatcher, in f, or on its way there? */
bool tw_fragment_is_alone(const struct fragment *f);

/* The list of those (struct on_page) that have code on this page, among others: its head. Who takes one out changes it. */
u32 *tw_fragment_pages(u64 page);

#endif
