/*
 * The signal room: the program's signals.
 *
 * It has the program's dispositions (action.h); the engine's handlers (signal.h), which distinguish the program's
 * faults from those that the engine causes (synchronous.h); the program's exact state where a signal struck
 * (interrupt.h); pending signals (pending.h); frames (frame.h); and death by a signal (death.h).
 *
 * Its files, each of which stands on those before it only: signal (what holds for all); show, fault, frame,
 * interrupt, pending, death, action; mask, deliver; context, synchronous, handler.
 *
 * It owns the kernel's handlers, mask and alternate stack of each thread, and the data of threads below. It may call
 * code, record, x86_64 and the base.
 */
#ifndef TW_SIGNAL_ROOM_H
#define TW_SIGNAL_ROOM_H

#include "engine/engine.h"
#include <asm/siginfo.h>
#include <asm/signal.h>

/* The signals the kernel must never block: a mask bit is 1 << (signo - 1). */
#define TW_SYNC_SIGNALS (1ull << (SIGSEGV - 1) | 1ull << (SIGBUS - 1) | 1ull << (SIGFPE - 1) | 1ull << (SIGILL - 1) | 1ull << (SIGTRAP - 1))

/* Those that nothing blocks. */
#define TW_UNBLOCKABLE_SIGNALS (1ull << (SIGKILL - 1) | 1ull << (SIGSTOP - 1))

static inline bool tw_signal_is_sync(int signo)
{
	return TW_SYNC_SIGNALS >> (signo - 1) & 1;
}

/* uapi has these in a header that does not go with the rest of asm/signal.h. */
#ifndef SS_ONSTACK
#define SS_ONSTACK 1
#define SS_DISABLE 2
#endif
#define SS_AUTODISARM_BIT 0x80000000u

/* In the error code of a page fault. */
enum tw_fault_bits { FAULT_PRESENT = 1, FAULT_WRITE = 2, FAULT_USER = 4, FAULT_FETCH = 16 };

/* A disposition as the kernel has it, and the table of them by signal number. */
struct ksigaction {
	u64 handler;
	u64 flags;
	u64 restorer;
	u64 mask;
};

struct tw_actions {
	struct ksigaction of[65];
	u64 ignored;         /* synchronous signals that are dropped when they come, and not blocked */
	u64 sig_ign, caught; /* sets of signals: ignored as such; with a handler */
	bool spared;         /* by default no signal ends the process that is sent to it: the first of a namespace (death.h) */
};

/*
 * A signal taken while the engine was at work, to be delivered when it is done. At most one: all others are blocked from then on, or pending (pending.h).
 */
struct tw_deferred {
	u32 signo; /* 0: none */
	siginfo_t info;
};

/* Synchronous signals that were sent while blocked: see pending.h. */
struct tw_pending {
	u64 set; /* of signal numbers, as a mask */
	siginfo_t info[5];
};

/* The application's alternate stack: size 0: there is none. The flags are what the application gave last, as the kernel keeps them. */
struct tw_altstack {
	u64 sp, size;
	u32 flags;
};

/* What of a thread is this room's. */
struct tw_signal_thread {
	struct tw_deferred deferred;
	struct tw_pending pending;
	struct tw_pending *shared, own_shared;   /* of its process; NULL: of the first one in this memory */
	u64 shut;                                /* not 0: in a call of the application's, with these blocked in the kernel (pending.h) */
	u64 dropped;                             /* of those: what of them the kernel has is to be dropped */
	u64 directed;                            /* on their way to this thread, not to its process */
	struct tw_actions *actions, own_actions; /* dispositions: see action.h */
	u64 mask;                                /* the application's, as it believes it to be */
	u64 wait_mask;        /* instead of it, while `waiting`: in sigsuspend, ppoll and the like, till the handler runs */
	u64 kernel_wait_mask; /* as the kernel has it then */
	bool waiting;
	bool broken_off; /* the call that is to be made again had begun */
	struct tw_altstack altstack;
	struct {
		u64 err, trapno, cr2;
	} fault;            /* of the kernel's frame, for the application's */
	int engine_fault;   /* the signal of the last fault that the engine expected, such as one of tw_copy */
	u64 code_step;      /* stepping over a store that changes code of its own fragment, from this address (0: none)... */
	u64 code_step_last; /* ...to this one */
	bool traced;        /* (ptrace) by a thread that is recorded too: faults that the engine finds are sent, for that one to see */
	int own_signal;     /* it is sending itself this one, for its tracer to see; 0 once it has come */
	int dies_of;        /* it is about to send itself this one once more, to die of it: its tracer has seen it. 0: it is not */
	u64 interrupted; /* on the alternate stack: 0: its registers are in struct thread; else in this struct tw_ucontext, as in the cache */
	bool settling;   /* stepping to where the state is the application's again */
	bool unaligned_step; /* stepping over a store of the engine's own with alignment checks off */
	u64 trapped_pc;      /* while the application has TF set: it has had its trap for getting here... */
	bool traps;          /* ...and it has had some */
};

/* The mask in force. */
static inline u64 tw_signal_mask(const struct thread *t)
{
	return t->signal->waiting ? t->signal->wait_mask & ~TW_UNBLOCKABLE_SIGNALS : t->signal->mask;
}

#endif
