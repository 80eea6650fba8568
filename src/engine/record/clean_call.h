/*
 * The clean call: C code that sees every application register in thread.regs, called from a fragment (x86_64/glue.h); and what it is for, the log of references.
 *
 * Each reference is computed from the live registers at the moment it is made, with nothing remembered from before, and logged; a fragment's log is
 * written as one REFS event when it leaves. This is format `call`, and what --verify compares any other with.
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
	bool plain;   /* BEFORE: every op is TW_OP_REF, or another that the address alone tells */
	bool found;   /* the two below are known: from the first call on */
	u8 buf;       /* register with the buffer pointer */
	struct register_places places;
	u32 bound; /* ENTRY: the most bytes of REFS events and records this fragment can write; 0: there is room */
};

/* Are references logged by clean calls in this process? */
bool tw_logs(void);

/* At the start of the fragment, part 0, or tagged form: of another part; record_bytes: of the whole fragment. */
void tw_call_entry(struct emit *e, const struct block *b, struct tw_recorded *f, u16 part, u32 record_bytes);
void tw_call_before(struct emit *e, const struct block *b, struct tw_recorded *f, unsigned i);
void tw_call_after(struct emit *e, const struct block *b, struct tw_recorded *f, unsigned i);
void tw_call_close(struct emit *e, struct tw_recorded *f);

/* Tells the record of this path, which is complete (engine/record/tally.h). */
void tw_call_tell(struct emit *e, struct tw_recorded *f, u8 path);

/* (tw_call_close ends the log when the record is closed.) */
/* Called by glue for the clean call at t->cc_info. Returns the host address to go on at. */
u64 tw_call_made(struct thread *t);

/* Writes the log of the fragment that has just run as a REFS event; nothing if there is none. */
void tw_call_flush(struct thread *t);

/* Takes back the REFS event that has just been written; its references are those of the log again. */
void tw_call_take_back_event(struct thread *t);

/*
 * The record stops before instruction number `insn`, with the program's registers in t->regs: takes back what was logged of it and of any behind it, and logs
 * what a string instruction before it did, if it was stopped between that and the call that logs it.
 */
void tw_call_take_back(struct thread *t, u32 insn);

#endif
