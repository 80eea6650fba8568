/*
 * The code of clean calls (clean_call.h) in a fragment: where a record starts and is closed, and before and after
 * each reference. Each call has a struct call_site in the heap.
 */
#ifndef TW_CALL_CODE_H
#define TW_CALL_CODE_H

#include "engine/record/recorded.h"
#include "engine/x86_64/emit.h"

struct block;

/* At the start of the fragment (part 0), or, in the tagged form, of another part; record_bytes: of the whole fragment. */
void tw_call_entry(struct emit *e, const struct block *b, struct tw_recorded *f, u16 part, u32 record_bytes);
void tw_call_before(struct emit *e, const struct block *b, struct tw_recorded *f, unsigned i);
void tw_call_after(struct emit *e, const struct block *b, struct tw_recorded *f, unsigned i);
void tw_call_close(struct emit *e, struct tw_recorded *f);

/* Tells the complete record of this path (engine/record/tally.h). */
void tw_call_tell(struct emit *e, struct tw_recorded *f, u8 path);

#endif
