/*
 * What all kinds of fragments under construction have in common: their structure, their place in the cache, and their
 * state map. What is emitted between begin and finish is up to the caller (translate.h, lookup.h).
 *
 * One fragment at a time, under tw_engine.lock.
 */
#ifndef TW_MAKE_H
#define TW_MAKE_H

#include "engine/code/fragment.h"
#include "engine/x86_64/emit.h"

struct block;

/* A fragment of this kind, of code at pc, with nothing emitted. */
struct fragment *tw_make_new(u8 kind, u64 pc);

/* Begins f's code where the cache has room, best so that exit x (which may be NULL) falls into it. NULL: nowhere. */
struct emit *tw_make_begin(struct fragment *f, struct exit *x);

/* f's code and state map are where they stay, and it is found by address. `b`: the block that it is of; NULL: f has no instructions of the application's. */
void tw_make_finish(struct fragment *f, const struct block *b);

#endif
