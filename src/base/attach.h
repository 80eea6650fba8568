/*
 * What `trackway record --pid` passes to the engine that it has put into a running process, and what it gets back. It
 * is in memory of the process, which the engine releases after use.
 *
 * The recorder has stopped all threads (ptrace). It starts the engine in the first of them as the kernel would start
 * a program, with TW_ENV_ATTACH in place of TW_ENV_PROGRAM. The engine takes over the process's state, makes a thread
 * of its own for each of `thread`, and makes a system call (TW_ATTACH_CALL). The recorder starts each of the other
 * threads at `entry` with its `block`, and then lets the first continue after the call.
 *
 * Freestanding: the engine includes this header.
 */
#ifndef TW_ATTACH_H
#define TW_ATTACH_H

#include <stdint.h>

#define TW_ENV_ATTACH "TRACKWAY_ATTACH="

/* The system call that reports to the recorder: getpid, with this and one of enum tw_attach_word as arguments. Others see a getpid. */
#define TW_ATTACH_CALL 39
#define TW_ATTACH_SAYS 0x7477617474616368ull
enum tw_attach_word { TW_ATTACH_DONE = 1, TW_ATTACH_FAILED = 2 };

/* The system call that the stop interrupted, and how it continues: as the kernel would do it. */
enum tw_attach_call {
	TW_ATTACH_NO_CALL,
	TW_ATTACH_AGAIN,      /* made again, whatever signal came (ERESTARTNOINTR) */
	TW_ATTACH_IF_RESTART, /* made again, but behind a handler without SA_RESTART (ERESTARTSYS) */
	TW_ATTACH_IF_QUIET,   /* repeated if no handler ran (ERESTARTNOHAND; and calls that fail with EINTR just because of the stop) */
	TW_ATTACH_REST,       /* likewise; the kernel knows the rest of its time (ERESTART_RESTARTBLOCK) */
};

struct tw_attach_thread {
	uint32_t tid, call; /* enum tw_attach_call */
	uint64_t regs[16];  /* by enum tw_reg */
	uint64_t pc, flags; /* pc: behind the system call, if there is one */
	uint64_t gs;        /* base of %gs */
	uint64_t mask;      /* of signals */
	uint64_t waited_ms; /* about how long it had been in the call */
	uint64_t rseq;      /* restartable sequences: where its area is, or 0 */
	uint32_t rseq_bytes, rseq_signature;
	uint64_t block, stack; /* the engine's: its struct thread, and the stack pointer that it begins with */
};

struct tw_attach_map {
	uint64_t start, end, offset, device, inode;
	uint32_t prot, flags; /* as mmap has them; MAP_GROWSDOWN: the first thread's stack */
	uint64_t path;        /* address of its name; "" if it has none */
};

struct tw_attach {
	uint64_t bytes; /* of this and everything that belongs to it, which follows */
	uint64_t thread, n_threads;
	uint64_t map, n_maps;     /* all of its memory */
	uint64_t engine, program; /* addresses of the paths of both */
	uint64_t
	    lock_later; /* MCL_FUTURE, and perhaps MCL_ONFAULT, if the program locks later mappings (mlockall); the kernel no longer does */
	uint64_t entry; /* the engine's: where threads begin */
	char failure[256]; /* the engine's: why it cannot be */
};

#endif
