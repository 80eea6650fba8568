/*
 * The x86_64 room: everything that knows the instruction set.
 *
 * It decodes (decode.h) and emits (emit.h). It has the state map of emitted code (state.h), and the assembly between
 * the application's code and the engine's C (glue.h). It knows nothing of fragments and records.
 *
 * Its files, each of which stands on those before it only: glue; operand, block, decoding, shape, decode_cache,
 * references, updates, decode; state, emit, encoding.
 *
 * It owns the forms of machine code, and nothing of a thread or the process. It may call the base.
 */
#ifndef TW_X86_64_ROOM_H
#define TW_X86_64_ROOM_H

#include "engine/engine.h"

struct insn;

/* What this room calls of those above it: filled in wiring.c. The first four are called by glue.S, on the engine stack, and return the host address to go on at. */
struct tw_x86_64_calls {
	u64 (*left)(struct thread *t);      /* the cache was left by t->exit */
	u64 (*resume)(struct thread *t);    /* the cache is to be entered at t->pc with t->regs */
	u64 (*call_made)(struct thread *t); /* the clean call at t->cc_info */
	u64 (*stopped)(
	    struct thread *t); /* an entry was stopped by a signal: registers as the glue saved them, t->resume_host where it was headed */

	bool (*stops_at)(u64 pc);                   /* does a block end before this address, whatever stands there? */
	bool (*stands_alone)(const struct insn *i); /* is this instruction a block of its own? */
	u64 (*behind_inserted)(u64 pc);             /* the program's own instruction that runs at pc (code/inserted.h) */
};
extern const struct tw_x86_64_calls tw_x86_64_calls;

#define TW_CALLS_AT(field, offset) _Static_assert(offsetof(struct tw_x86_64_calls, field) == (offset), #field " is where layout.h says")
TW_CALLS_AT(left, CALLS_LEFT);
TW_CALLS_AT(resume, CALLS_RESUME);
TW_CALLS_AT(call_made, CALLS_CALL_MADE);
TW_CALLS_AT(stopped, CALLS_STOPPED);

#endif
