/*
 * The kernel room: what the kernel does for the program.
 *
 * It has system calls, 64- and 32-bit ones (syscall.h and the groups of rows named there, int80.h), and their filters
 * (seccomp.h, user_dispatch.h); threads and processes (clone.h, process.h, exec.h, ptrace.h, traced.h); the start of
 * the program (loader.h, identity.h), or of the engine in a running process (attach.h); limits; and what a processor
 * leaves to the kernel: segments (emulate.h, selector.h). It refuses restartable sequences (rseq.h).
 *
 * Its files, each of which stands on those before it only: exit, loader, mlock; process, limits, traced, ptrace,
 * identity; bpf, seccomp, user_dispatch; segment, selector, emulate, status; exec, clone; pass, rseq, memory_calls,
 * signal_calls, process_calls, wait_calls, file_calls, syscall_tell, syscall, int80; attach, leave.
 *
 * It owns the data of threads and the process below. It may call all other rooms of the engine; they call it only
 * through tables of theirs that wiring.c fills in.
 */
#ifndef TW_KERNEL_ROOM_H
#define TW_KERNEL_ROOM_H

#include "engine/engine.h"

struct tw_filter;

/* Which system calls a thread may make: see seccomp.h. */
struct tw_seccomp {
	const struct tw_filter *filter; /* the newest; NULL: none */
	bool strict;
};

/* Which system calls a thread has sent to itself: see user_dispatch.h. */
struct tw_user_dispatch {
	bool on;
	u64 offset, length; /* of the code whose calls are made */
	u64 selector;       /* address of the byte that says so of the others, or 0 */
};

/* In which stop at a system call a traced thread stands: see traced.h. */
enum tw_traced_stop { TW_TRACED_NOT, TW_TRACED_ENTRY, TW_TRACED_EXIT };

/* Of a thread that another recorded one traces. `stops` and the registers are written by the tracer's engine, while it has stopped. */
struct tw_traced {
	bool stops; /* before and after each system call */
	bool replaced;
	u8 stop;
	i64 number;         /* of the call, in a stop */
	u64 regs[TW_NREGS]; /* with pc and flags, what it is to go on with, if `replaced` */
	u64 pc, flags;
};

/* Of a thread that was there before the engine: see attach.h. */
struct tw_found {
	u32 call;     /* enum tw_attach_call: what was broken off when it was stopped */
	bool shorter; /* it is in there again, for the rest of the time, which is in the place of `as_given` in register `reg` */
	u8 reg;
	u64 as_given;
	u64 waited_ms; /* for how long it had been in there */
	u64 rseq;      /* its restartable sequences, which it has not while it is the engine's: the area, or 0 */
	u32 rseq_bytes, rseq_signature;
};

/* What of a thread is this room's. */
struct tw_kernel_thread {
	u64 call;            /* number of the application's system call, or of the 64-bit one that it is like... */
	bool call32;         /* ...made with int 0x80 */
	bool clear_handlers; /* CLONE_CLEAR_SIGHAND */
	struct tw_seccomp seccomp;
	struct tw_user_dispatch user_dispatch;
	struct tw_traced traced;
	struct tw_found found;
};

/* What of the process is this room's. */
struct tw_kernel_process {
	char engine_path[512]; /* what execve executes in the place of a program */
};
extern struct tw_kernel_process tw_kernel;

#endif
