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

/* Starts f's code where the cache has room, if possible so that exit x (which may be NULL) falls into it. NULL: no room. */
struct emit *tw_make_begin(struct fragment *f, struct exit *x);

/*
 * f's code and state map have their final place, and f is found by address. `b`: its block; NULL: f contains no
 * application instructions.
 */
void tw_make_finish(struct fragment *f, const struct block *b);

#endif
