/*
 * Private fragments. While there are several threads, a new fragment is private to the thread that made it (struct
 * tw_private). It stays private as long as that thread enters the dispatcher only for fragments into which the last
 * one can fall. The end of a private fragment may be rewritten, since no other thread runs it.
 *
 * What must hold: no other thread can enter a private fragment. No exit is linked to it, no lookup of it is in a
 * table, and other threads do not find it; they make their own if they need one. Fragments of formats with
 * superblocks are not private: a superblock could not replace a fragment into which another falls.
 */
#ifndef TW_PRIVATE_H
#define TW_PRIVATE_H

#include "engine/code/fragment.h"

/* The thread to which a fragment made by the calling one now is private, or NULL. */
struct thread *tw_private_owner(void);

/* f, just made because of x, which may be NULL, with this lookup or NULL, is private to the calling thread. Under the lock. */
void tw_private_keep(struct fragment *f, struct exit *x, struct fragment *lookup);

/* Makes everything private to t public. Under the lock. */
void tw_private_end(struct thread *t);

/* The same for the calling thread: takes the lock if there is anything. */
void tw_private_publish(struct thread *t);

/* The same of all threads. Under the lock. */
void tw_private_publish_all(void);

#endif
