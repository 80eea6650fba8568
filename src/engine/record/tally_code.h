/*
 * The code that counts a record (tally.h), in the fragment that wrote it.
 *
 * Right before an instruction that overwrites all flags except the carry, an `inc` of nine bytes counts. Elsewhere
 * flags must be preserved, so it is a load, `lea` and a store, in a borrowed register: preferably one that the next
 * instruction overwrites, so that it need not be restored.
 *
 * What must hold: what is overwritten is not saved if the instruction that overwrites it cannot fault. Until that has
 * run the state is not the application's (STATE_UNSETTLED) and nothing interrupts: a signal is delivered once the
 * instruction has run, in single steps (signal/context.h).
 */
#ifndef TW_TALLY_CODE_H
#define TW_TALLY_CODE_H

#include "engine/x86_64/decode.h"
#include "engine/x86_64/emit.h"

/*
 * A register to borrow, which takes a few cycles until it has its value again: one that has had it for long if there is such, of those that
 * functions keep. None in which the state, or the buffer pointer, is.
 */
u8 tw_tally_borrow(const struct emit *e, u32 flags);

/* Where path 0 is counted before it is left: at an instruction behind its last branch. */
struct tw_tally_place {
	u16 insn; /* right before it; that of no instruction: where the record is closed */
	u8 how;   /* enum tw_tally_how */
	u8 reg;   /* that insn defines */
};

enum tw_tally_how {
	TALLY_INC,      /* insn overwrites flags */
	TALLY_LOST,     /* insn defines reg and cannot fault */
	TALLY_SAVED,    /* insn defines reg, which is saved: it could fault */
	TALLY_BORROWED, /* a register is saved, and given back before insn */
};
struct tw_tally_place tw_tally_place(const struct emit *e, const struct block *b);

/* Emits what counts path 0 there. Returns the state flags in force until insn has run. */
u32 tw_tally_emit_early(struct emit *e, struct tw_tally_place place, u32 flags);

/* Emits what counts the path being left, whose record is about to be closed. `flags`: of the state in force. */
void tw_tally_emit(struct emit *e, u8 insn, u32 flags);

/* Emits what counts the turns of the loop that is left; its number of turns is in its register still. */
void tw_tally_emit_turns(struct emit *e, u8 insn, u32 flags);

#endif
