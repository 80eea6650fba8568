/*
 * Clean calls: C code that sees every application register in thread.regs, called from a fragment (x86_64/glue.h). It
 * logs references (log.h), and tells records that have no tally (tally.h). call_code.h emits the call.
 */
#ifndef TW_CLEAN_CALL_H
#define TW_CLEAN_CALL_H

#include "engine/record/recorded.h"
#include "engine/x86_64/emit.h"

struct block;
struct memop;

enum call_what { CALL_ENTRY, CALL_BEFORE, CALL_AFTER, CALL_CLOSE, CALL_TELL };

struct call_site {
	struct tw_recorded *f;
	struct memop *op; /* copies of the instruction's memops */
	u16 n_ops;
	u16 insn;
	u64 pc;       /* ENTRY: of the block */
	u8 what;      /* enum call_what */
	bool vectors; /* needs vector registers: they are saved in thread.record.xsave */
	bool plain;   /* BEFORE: every op is TW_OP_REF, or another that is determined by its address alone */
	bool found;   /* the two below are known: from the first call on */
	u8 buf;       /* register with the buffer pointer */
	struct register_places places;
	u32 bound; /* ENTRY: maximum bytes of REFS events and records of this fragment; 0: there is room */
};

/* Called by glue for the clean call at t->cc_info. Returns the host address to continue at. */
u64 tw_call_made(struct thread *t);

#endif
