/*
 * Letting a recorded process continue natively: the protocol between the recorder, which traces it for that purpose
 * (ptrace), and the engine in it.
 *
 * Each thread is brought to a place where its program's state is exact and no work of the engine is unfinished. There
 * it *parks*: it has ended its recording and waits on the word that says whether the collector lives, with
 * TW_LEAVE_SAYS as the sixth argument of futex(2), plus one of enum tw_leave_word, and the address of the message as
 * the fifth. When all have parked, one of them returns to the kernel what is the kernel's; then the engine is no
 * longer needed, and the recorder unmaps it. If the collector dies meanwhile, or finds that it is not possible,
 * threads continue in the engine.
 *
 * Freestanding: the engine includes this header.
 */
#ifndef TW_LEAVE_H
#define TW_LEAVE_H

#include <stdint.h>

#define TW_LEAVE_SAYS  0x74776c6561766500ull
#define TW_LEAVE_GO_ON 1 /* result of the wait, set by the recorder: not possible; the thread continues in the engine */

enum tw_leave_word {
	TW_LEAVE_READY = 1, /* struct tw_left, or struct tw_left_process */
	TW_LEAVE_BUSY = 2,  /* not here: it is to continue briefly as it was found */
	TW_LEAVE_NEVER = 3, /* a sentence: why this process cannot be let go */
};

/* In tw_control.leave: addresses in the engine that the recorder needs, the same in all processes. */
struct tw_leave_points {
	uint64_t here;    /* entry point, on its engine stack, of a thread found in cache or system call: a struct tw_leave_state, or 0 */
	uint64_t process; /* the last to be done, by one thread */
	uint64_t cache, cache_end;
	uint64_t behind_call, behind_call32; /* a thread found here with an interrupted call is waiting in it for its program */
	uint64_t stack_at, deferred_at;      /* in struct thread, at which %gs points */
};

/* Bit of the word at deferred_at: the thread must leave when it has its program's state. */
#define TW_DEFERRED_LEAVE 2u

struct tw_leave_state {
	uint64_t regs[16], pc, flags; /* of the machine */
};

struct tw_left {
	uint64_t regs[16], pc, flags, gs, mask; /* of the program */
	uint64_t waited_ms;                     /* in its system call, before the engine repeated that */
};

enum { TW_LEFT_AREAS = 8 };
struct tw_left_process {
	uint64_t n;
	struct {
		uint64_t start, end;
	} area[TW_LEFT_AREAS]; /* memory of the engine's */
};

#endif
