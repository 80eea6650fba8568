/*
 * Events: what happened to a thread that is not code. The same bytes are used in the shared memory between engine and collector, in the E
 * stream of a chunk (there each event is padded with zeros to a multiple of 8), and in the batches of <trackway/analyzer.h>.
 *
 * Freestanding: the engine includes this header.
 */
#ifndef TRACKWAY_EVENT_H
#define TRACKWAY_EVENT_H

#include <trackway/descriptor.h>

enum tw_event_type {
	TW_EVENT_KEYFRAME = 1, /* struct tw_keyframe: every register, before the next fragment */
	TW_EVENT_PARTIAL,      /* struct tw_partial: the next fragment record stopped early; stands right before it */
	TW_EVENT_SYSCALL,      /* struct tw_syscall */
	TW_EVENT_SIGNAL,       /* struct tw_signal: a handler is about to run; a KEYFRAME follows */
	TW_EVENT_SIGRETURN,    /* no payload; a KEYFRAME follows */
	TW_EVENT_SEGBASE,      /* struct tw_segbase */
	TW_EVENT_MAP,          /* struct tw_map, then the path, NUL-terminated (empty: anonymous) */
	TW_EVENT_UNMAP,        /* struct tw_unmap */
	TW_EVENT_THREAD_START, /* struct tw_thread_start: the first event of a thread */
	TW_EVENT_THREAD_END,   /* struct tw_thread_end: the last one, when the end was orderly */
	TW_EVENT_FORK,         /* struct tw_fork: this thread made a process or a thread */
	TW_EVENT_EXEC,         /* path, NUL-terminated: this process is about to run another program */
	TW_EVENT_GAP,          /* struct tw_gap, then a sentence, NUL-terminated: something here was not recorded */
	TW_EVENT_REFS,         /* struct tw_refs, then its references: what the fragment before it did, logged as it happened */
	TW_EVENT_PROGRAM,   /* struct tw_program_start, then path and arguments, each NUL-terminated: what this process runs from here on */
	TW_EVENT_CHILD_END, /* struct tw_child_end: a child was waited for */
	TW_EVENT_WINDOW,    /* struct tw_window: recording stops or goes on here; where it goes on a KEYFRAME follows */
	TW_EVENT_STAMP,     /* struct tw_stamp: the time at a locked instruction or a fence (record --order) */
	TW_EVENT_FAULT,     /* struct tw_fault: an access that was not made, or what the process dies of */
	TW_EVENT_CALL,      /* struct tw_called: a function is entered whose calls are told (record --calls) */
	TW_EVENT_RETURN,    /* struct tw_returned: control is where one of them returns to */
	TW_EVENT_LEARNED,   /* struct tw_learned: a block that ran outside of what is recorded (record --learn) */
	TW_EVENT_STACK,     /* struct tw_stack, then bytes: the stack, where recording goes on in the middle (record --learn-what=cct) */
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
	uint32_t program; /* in a program's buffer: which program of the recording runs; in recordings 0 */
};

/* The next fragment record ran only its first `insns` instructions. The one at index `insns` may be a REP that made some iterations: its
 * registers at the stop are in `regs`. After it, replay takes all registers from `regs`. */
struct tw_partial {
	uint32_t insns;
	uint32_t in_rep; /* 1: instruction `insns` is a REP that was interrupted between iterations */
	uint64_t regs[TW_NREGS];
};

/* `began` and `tsc`: the time before the call was made and after it had returned. A call that a signal broke off before it did anything is told once, when
 * it has been made again; one that does not return (exit, execve) is not told. Since version 7 the names of files among its arguments follow, in their order, NUL behind each, as they
 * were when it had returned; of one that is longer than 255 bytes the beginning. Since version 8 those that are given a list of buffers (readv, sendmsg and their kin), or a buffer whose size
 * stands in memory (accept), have struct tw_syscall_piece in that place: the first TW_SYSCALL_PIECES. */
#define TW_SYSCALL_INT80 0x80000000u /* in the number: of 32-bit Linux, made with int 0x80 */
struct tw_syscall {
	uint64_t number, args[6];
	int64_t result;
	uint64_t tsc;
	uint64_t began;
	uint64_t pc; /* of the instruction */
};
/* Memory that the kernel has read or filled for the call: no more of it than the result says. */
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
 * The instruction at pc was not completed: its access faulted, it is illegal, it divides by zero; a SIGNAL follows. Or (`fatal`) a signal ends the process there.
 * With a fault that is no page fault the kernel tells neither address nor access: an address that is not canonical, or not aligned.
 */
enum tw_access { TW_ACCESS_UNKNOWN, TW_ACCESS_READ, TW_ACCESS_WRITE, TW_ACCESS_EXECUTE };
struct tw_fault {
	uint32_t number;  /* of the signal */
	int32_t code;     /* si_code: what kind of fault; 0 and less: the signal was sent */
	uint64_t pc;      /* of the instruction; of a signal that was sent, the next one */
	uint64_t address; /* of the access; 0: not known, or there was none */
	uint32_t access;  /* enum tw_access */
	uint32_t fatal;   /* 1: the process dies of it; THREAD_END follows */
	uint32_t sender;  /* of a signal that was sent: the process */
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
	TW_ENDED_EXEC, /* neither: the process goes on with another program, as another thread of the recording */
	TW_ENDED_LEFT, /* neither: it goes on natively, since recording was to end there (trackway stop) */
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
	uint32_t n_args; /* arguments that follow the path; where they are too many, the first */
	uint64_t tsc;
};
/* Why what follows a WINDOW event is not recorded. */
enum tw_left_out {
	TW_LEFT_OUT_WINDOW, /* it is outside of the window (record --start, --stop) */
	TW_LEFT_OUT_BUDGET, /* the budget of the period is spent (record --budget) */
	TW_LEFT_OUT_BUFFER, /* likewise with a budget: the collector was to catch up first */
};
struct tw_window {
	uint32_t open;   /* 1: what follows is recorded; 0: it is not, until the next WINDOW */
	uint32_t reason; /* enum tw_left_out; of one that opens: why what came before it was not */
	uint64_t pc;     /* of the next instruction */
	uint64_t tsc;
};
/* The bare engine tells each block when it comes by it by a way that is new: it may have run any number of times. */
struct tw_learned {
	uint64_t pc;
	uint32_t bytes;    /* 0: of the block nothing is told but that its way leads there */
	uint32_t from_end; /* how the block before it ended: enum tw_end */
	uint64_t from;     /* behind that block; 0: it is not known from where it was reached */
};
/*
 * What of the stack is there where recording begins, in one event or several: the bytes from address `at` on. `sp` is in the first of them the same as `at`, and says by that that another stack begins.
 * The registers by which who has debug information finds the calls that are open: those that functions keep.
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
 * Each execution of such an instruction is a block of its own between two stamps: the instruction took effect after the time of the first and before
 * that of the second. Where two executions' intervals overlap, the stamps do not tell which was first. docs/format.md says what else may be concluded.
 * One that faults, or that a signal stops before it takes effect, has the first only: a second stamp belongs to the first that stands before it.
 */
struct tw_stamp {
	uint64_t tsc;   /* 0: the program has the counter disabled (PR_SET_TSC) */
	uint64_t pc;    /* of the instruction */
	uint32_t kind;  /* enum tw_stamp_kind */
	uint32_t after; /* 0: the first, 1: the second */
};
/*
 * A function of <trackway/called.h> is about to execute its first instruction, with these arguments. Its RETURN is the next one of the thread with `back` for its pc and
 * a stack pointer above `sp`: other ways lead to such a place, too, and a function that is left by longjmp, or never, has none. A CALL may be told again, when
 * a signal came before the first instruction. What was done before a call happened before its time, what is done after a return, after its time.
 */
struct tw_called {
	uint64_t pc, tsc;
	uint64_t back;    /* its return address */
	uint64_t sp;      /* where that stands */
	uint64_t args[8]; /* rdi, rsi, rdx, rcx, r8, r9, and the two words behind the return address */
	uint32_t function;
	uint32_t reserved;
};
struct tw_returned {
	uint64_t pc, tsc;
	uint64_t sp;
	uint64_t result; /* rax */
	uint64_t stored; /* of posix_memalign: what it stored where its first argument says; else 0 */
};
struct tw_child_end {
	uint32_t pid;
	int32_t status; /* as from waitpid(2) */
	uint64_t tsc;
};
/* What a GAP stands for. */
enum tw_gap_kind {
	TW_GAP_WITHIN, /* something that did not change where the thread goes on: references of one instruction, another program */
	TW_GAP_STRETCH, /* all that the thread did up to here from what was recorded before (since 2026-11-26; earlier recordings say WITHIN) */
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
 * A repeated string instruction of many iterations is logged as a run of two entries marked TW_LOGGED_RUN: {first address, size, type}, then
 * {addr: number of iterations, size: signed step}. Where a second run for the same instruction follows, the two make their references in turn.
 */
#define TW_LOGGED_RUN 0xffff

/* Whether something may have run where an event of this type stands that is not recorded: what comes next need not follow what came before. */
static inline int tw_event_breaks(uint32_t type)
{
	return type == TW_EVENT_GAP || type == TW_EVENT_WINDOW;
}

/* Likewise, and calls may have been made and returned: of those that were open nothing is known. */
static inline int tw_event_breaks_calls(uint32_t type, const void *payload)
{
	return type == TW_EVENT_WINDOW || (type == TW_EVENT_GAP && ((const struct tw_gap *)payload)->kind == TW_GAP_STRETCH);
}

#endif
