/*
 * Letting a recorded process go on natively: what the recorder, which has traced it for that (ptrace), and the engine in it tell each other.
 *
 * Each thread is brought to a place where its program's state is exact and nothing of the engine's is half done. There it *parks*: it has ended its recording and waits on
 * the word that says whether the collector lives, with TW_LEAVE_SAYS as the sixth argument of futex(2), plus one of enum tw_leave_word, and the address of what it says as the
 * fifth. When all have parked, one of them gives the process back what is the kernel's; then nothing of the engine is needed any more, and the recorder unmaps it.
 * If the collector dies meanwhile, or finds that it cannot be, threads go on in the engine.
 *
 * Freestanding: the engine includes this header.
 */
#ifndef TW_LEAVE_H
#define TW_LEAVE_H

#include <stdint.h>

#define TW_LEAVE_SAYS  0x74776c6561766500ull
#define TW_LEAVE_GO_ON 1 /* result of the wait, made by the recorder: it cannot be; the thread goes on in the engine */

enum tw_leave_word {
	TW_LEAVE_READY = 1, /* struct tw_left, or struct tw_left_process */
	TW_LEAVE_BUSY = 2,  /* not here: it is to go on as it was found for a moment */
	TW_LEAVE_NEVER = 3, /* a sentence: why this process cannot be let go */
};

/* In tw_control.leave: where the engine has what the recorder needs, the same in all processes. */
struct tw_leave_points {
	uint64_t
	    here; /* a thread begins here, on its engine stack, that has been found in the cache or in a system call: with a struct tw_leave_state, or 0 */
	uint64_t process; /* the last to be done, by one thread */
	uint64_t cache, cache_end;
	uint64_t behind_call, behind_call32; /* a thread that is found here with a call broken off waits in it for its program */
	uint64_t stack_at, deferred_at;      /* in struct thread, at which %gs points */
};

/* Bit of the word at deferred_at: the thread is to leave when it has its program's state. */
#define TW_DEFERRED_LEAVE 2u

struct tw_leave_state {
	uint64_t regs[16], pc, flags; /* of the machine */
};

struct tw_left {
	uint64_t regs[16], pc, flags, gs, mask; /* of the program */
	uint64_t waited_ms;                     /* in its system call, before the engine made that again */
};

enum { TW_LEFT_AREAS = 8 };
struct tw_left_process {
	uint64_t n;
	struct {
		uint64_t start, end;
	} area[TW_LEFT_AREAS]; /* memory of the engine's */
};

#endif
