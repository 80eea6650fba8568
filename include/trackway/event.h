/*
 * Events: what happened to a thread other than executing code. The same bytes are used in the shared memory between
 * engine and collector, in the E stream of a chunk (each event padded with zeros to a multiple of 8), and in the
 * batches of <trackway/analyzer.h>.
 *
 * Freestanding: the engine includes this header.
 */
#ifndef TRACKWAY_EVENT_H
#define TRACKWAY_EVENT_H

#include <trackway/descriptor.h>

enum tw_event_type {
	TW_EVENT_KEYFRAME = 1, /* struct tw_keyframe: every register, before the next fragment */
	TW_EVENT_PARTIAL,      /* struct tw_partial, right before a fragment record that stopped early */
	TW_EVENT_SYSCALL,      /* struct tw_syscall */
	TW_EVENT_SIGNAL,       /* struct tw_signal: a handler is about to run; a KEYFRAME follows */
	TW_EVENT_SIGRETURN,    /* no payload; a KEYFRAME follows */
	TW_EVENT_SEGBASE,      /* struct tw_segbase */
	TW_EVENT_MAP,          /* struct tw_map, then the path, NUL-terminated (empty: anonymous) */
	TW_EVENT_UNMAP,        /* struct tw_unmap */
	TW_EVENT_THREAD_START, /* struct tw_thread_start: the first event of a thread */
	TW_EVENT_THREAD_END,   /* struct tw_thread_end: the last event, if the end was orderly */
	TW_EVENT_FORK,         /* struct tw_fork: this thread created a process or a thread */
	TW_EVENT_EXEC,         /* path, NUL-terminated: this process is about to run another program */
	TW_EVENT_GAP,          /* struct tw_gap, then a sentence, NUL-terminated: something was not recorded here */
	TW_EVENT_REFS,         /* struct tw_refs, then its references: those of the fragment before it, logged as they happened */
	TW_EVENT_PROGRAM,   /* struct tw_program_start, then path and arguments, each NUL-terminated: what this process runs from now on */
	TW_EVENT_CHILD_END, /* struct tw_child_end: a child was waited for */
	TW_EVENT_WINDOW,    /* struct tw_window: recording stops or resumes here; if it resumes a KEYFRAME follows */
	TW_EVENT_STAMP,     /* struct tw_stamp: the time at a locked instruction or a fence (record --order) */
	TW_EVENT_FAULT,     /* struct tw_fault: an access that faulted, or what the process dies of */
	TW_EVENT_CALL,      /* struct tw_called: entry into a function whose calls are recorded (record --calls) */
	TW_EVENT_RETURN,    /* struct tw_returned: control is where such a function returns to */
	TW_EVENT_LEARNED,   /* struct tw_learned: a block that ran while nothing was recorded (record --learn) */
	TW_EVENT_STACK,     /* struct tw_stack, then bytes: the stack, where recording resumes in the middle (record --learn-what=cct) */
	TW_NEVENTS
};

struct tw_event_header {
	uint16_t tag;   /* TW_TAG_EVENT */
	uint16_t type;  /* enum tw_event_type */
	uint32_t bytes; /* payload after this header */
};

struct tw_keyframe {
	uint64_t regs[TW_NREGS]; /* by enum tw_reg */
	uint64_t seg_base[TW_NSEGS];
	uint64_t tsc;
	uint32_t upper;   /* upper half of the fragment numbers that follow */
	uint32_t program; /* in a program's buffer: the program of the recording that runs; in recordings 0 */
};

/*
 * Only the first `insns` instructions of the next fragment record ran. The one at index `insns` may be a REP that
 * made some iterations: its registers at the stop are in `regs`. After the record, replay takes all registers from
 * `regs`.
 */
struct tw_partial {
	uint32_t insns;
	uint32_t in_rep; /* 1: instruction `insns` is a REP that was interrupted between iterations */
	uint64_t regs[TW_NREGS];
};

/*
 * `began` and `tsc` are the times before the call was made and after it returned. A call that a signal interrupted
 * before it did anything is reported once, when it has been restarted. A call that does not return (exit, execve) is
 * not reported. Since version 7 the file names among its arguments follow, in order, each NUL-terminated, as they
 * were when it returned; of a name longer than 255 bytes the beginning. Since version 8 calls that take a list of
 * buffers (readv, sendmsg and similar), or a buffer whose size is in memory (accept), are followed by struct
 * tw_syscall_piece instead: the first TW_SYSCALL_PIECES.
 */
#define TW_SYSCALL_INT80 0x80000000u /* flag in the number: a call of 32-bit Linux, made with int 0x80 */
struct tw_syscall {
	uint64_t number, args[6];
	int64_t result;
	uint64_t tsc;
	uint64_t began;
	uint64_t pc; /* of the instruction */
};
/* Memory that the kernel read or filled for the call, no more than the result says. */
struct tw_syscall_piece {
	uint64_t addr, bytes;
};
enum { TW_SYSCALL_PIECES = 64 };
struct tw_signal {
	uint32_t number;
	int32_t code;
	uint64_t pc, handler, address;
};
/*
 * The instruction at pc was not completed: its access faulted, it is illegal, or it divides by zero; a SIGNAL
 * follows. Or (`fatal`) a signal ends the process there. For faults other than page faults the kernel gives neither
 * address nor access: a non-canonical or misaligned address.
 */
enum tw_access { TW_ACCESS_UNKNOWN, TW_ACCESS_READ, TW_ACCESS_WRITE, TW_ACCESS_EXECUTE };
struct tw_fault {
	uint32_t number;  /* the signal */
	int32_t code;     /* si_code: the kind of fault; 0 or less: the signal was sent */
	uint64_t pc;      /* of the instruction; for a signal that was sent, the next instruction */
	uint64_t address; /* of the access; 0: not known, or there was none */
	uint32_t access;  /* enum tw_access */
	uint32_t fatal;   /* 1: the process dies of it; THREAD_END follows */
	uint32_t sender;  /* for a signal that was sent: the sending process */
	uint32_t reserved;
	uint64_t regs[TW_NREGS]; /* by enum tw_reg */
};
struct tw_segbase {
	uint32_t seg;
	uint32_t reserved;
	uint64_t base;
};
struct tw_map {
	uint64_t address, length, offset;
	uint32_t prot, flags;
};
struct tw_unmap {
	uint64_t address, length;
};
struct tw_thread_start {
	uint32_t pid, tid, parent_pid, parent_tid;
	uint64_t tsc;
};
/* What ended. */
enum tw_ended {
	TW_ENDED_THREAD,
	TW_ENDED_PROCESS,
	TW_ENDED_EXEC, /* neither: the process continues with another program, as another thread of the recording */
	TW_ENDED_LEFT, /* neither: it continues natively, since recording was ended (trackway stop) */
};
struct tw_thread_end {
	int32_t status; /* as from waitpid(2) */
	uint32_t what;  /* enum tw_ended */
	uint64_t tsc;
};
struct tw_fork {
	uint32_t child_pid, child_tid;
	uint64_t flags;    /* of clone(2) */
	uint32_t followed; /* 0: a process that is not recorded (--follow=none) */
	uint32_t reserved;
	uint64_t tsc;
};
struct tw_program_start {
	uint32_t pid;
	uint32_t n_args; /* arguments after the path; if there are too many, the first ones */
	uint64_t tsc;
};
/* Why what follows a WINDOW event is not recorded. */
enum tw_left_out {
	TW_LEFT_OUT_WINDOW, /* it is outside of the window (record --start, --stop) */
	TW_LEFT_OUT_BUDGET, /* the budget of the period is spent (record --budget) */
	TW_LEFT_OUT_BUFFER, /* also with a budget: the collector had to catch up first */
};
struct tw_window {
	uint32_t open;   /* 1: what follows is recorded; 0: it is not, until the next WINDOW */
	uint32_t reason; /* enum tw_left_out; if it opens: why what came before it was not recorded */
	uint64_t pc;     /* of the next instruction */
	uint64_t tsc;
};
/* The bare engine reports a block when it reaches it in a new way; the block may have run any number of times. */
struct tw_learned {
	uint64_t pc;
	uint32_t bytes;    /* 0: nothing is reported of the block except that the edge leads there */
	uint32_t from_end; /* how the block before it ended: enum tw_end */
	uint64_t from;     /* end address of that block; 0: it is not known from where it was reached */
};
/*
 * A copy of the stack where recording starts or resumes, in one or several events: the bytes from address `at` on. In
 * the first of them `sp` equals `at`, which marks the start of another stack. The registers are those that functions
 * preserve; with debug information they suffice to find the open calls.
 */
struct tw_stack {
	uint64_t at, pc, sp, rbx, rbp, r12, r13, r14, r15;
};
/* What is stamped, and how. */
enum tw_stamp_kind {
	TW_STAMP_LOCK = 1, /* a lock prefix, or xchg with memory */
	TW_STAMP_MFENCE,
	TW_STAMP_LFENCE,
	TW_STAMP_SFENCE,
	TW_STAMP_KINDS
};
/*
 * Each execution of such an instruction is a block of its own between two stamps: the instruction took effect after
 * the time of the first and before that of the second. If the intervals of two executions overlap, the stamps do not
 * tell which was first. docs/format.md says what else follows. An instruction that faults, or that a signal stops
 * before it takes effect, has only the first stamp. A second stamp belongs to the nearest first one before it.
 */
struct tw_stamp {
	uint64_t tsc;   /* 0: the program has the counter disabled (PR_SET_TSC) */
	uint64_t pc;    /* of the instruction */
	uint32_t kind;  /* enum tw_stamp_kind */
	uint32_t after; /* 0: the first, 1: the second */
};
/*
 * A function of <trackway/called.h> is about to execute its first instruction, with these arguments. Its RETURN is
 * the thread's next one with pc equal to `back` and a stack pointer above `sp`. (Control may reach such a place in
 * other ways, too; and a function that is left by longjmp, or never, has no RETURN.) A CALL may be reported again, if
 * a signal came before the first instruction. What was done before a call happened before its time; what is done
 * after a return happens after its time.
 */
struct tw_called {
	uint64_t pc, tsc;
	uint64_t back;    /* its return address */
	uint64_t sp;      /* where it is on the stack */
	uint64_t args[8]; /* rdi, rsi, rdx, rcx, r8, r9, and the two words above the return address */
	uint32_t function;
	uint32_t reserved;
};
struct tw_returned {
	uint64_t pc, tsc;
	uint64_t sp;
	uint64_t result; /* rax */
	uint64_t stored; /* of posix_memalign: what it stored at the place its first argument names; otherwise 0 */
};
struct tw_child_end {
	uint32_t pid;
	int32_t status; /* as from waitpid(2) */
	uint64_t tsc;
};
/* What is missing at a GAP. */
enum tw_gap_kind {
	TW_GAP_WITHIN,  /* something that does not change where the thread continues: references of one instruction, another program */
	TW_GAP_STRETCH, /* everything the thread did since what was recorded before (since 2026-11-26; earlier recordings say WITHIN) */
};
struct tw_gap {
	uint32_t kind; /* enum tw_gap_kind */
	uint32_t reserved;
};
struct tw_refs {
	uint64_t pc;
	uint32_t n;
	uint32_t reserved;
}; /* pc: the fragment's first instruction; then n struct tw_logged_ref */
struct tw_logged_ref {
	uint64_t addr;
	uint32_t size;
	uint8_t type;   /* enum tw_ref_type */
	uint8_t insn;   /* index in the fragment */
	uint16_t count; /* 1; or TW_LOGGED_RUN */
};
/*
 * A repeated string instruction of many iterations is logged as a run of two entries marked TW_LOGGED_RUN: {first
 * address, size, type}, then {addr: number of iterations, size: signed step}. If a second run for the same
 * instruction follows, their references alternate.
 */
#define TW_LOGGED_RUN 0xffff

/* May something that is not recorded have run at an event of this type? Then what comes next need not follow what came before. */
static inline int tw_event_breaks(uint32_t type)
{
	return type == TW_EVENT_GAP || type == TW_EVENT_WINDOW;
}

/* Likewise, and calls may have been made and returned: the call stack is unknown afterwards. */
static inline int tw_event_breaks_calls(uint32_t type, const void *payload)
{
	return type == TW_EVENT_WINDOW || (type == TW_EVENT_GAP && ((const struct tw_gap *)payload)->kind == TW_GAP_STRETCH);
}

#endif
