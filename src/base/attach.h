/*
 * What `trackway record --pid` hands the engine that it has put into a running process, and what it gets back. It stands in memory of the process, which the
 * engine gives back when it has taken what it needs.
 *
 * The recorder has stopped all threads (ptrace). It starts the engine in the first of them as the kernel would start a program, with TW_ENV_ATTACH in the place of
 * TW_ENV_PROGRAM. The engine takes what is the process's, makes a thread of its own for each of `thread`, and calls (TW_ATTACH_CALL). The recorder lets each of
 * the others begin at `entry` with its `block`, and then the first go on behind the call.
 *
 * Freestanding: the engine includes this header.
 */
#ifndef TW_ATTACH_H
#define TW_ATTACH_H

#include <stdint.h>

#define TW_ENV_ATTACH "TRACKWAY_ATTACH="

/* The system call that tells the recorder something: getpid, with this and one of enum tw_attach_word as arguments. Others see a getpid. */
#define TW_ATTACH_CALL 39
#define TW_ATTACH_SAYS 0x7477617474616368ull
enum tw_attach_word { TW_ATTACH_DONE = 1, TW_ATTACH_FAILED = 2 };

/* The system call that the stop has broken off, and how it goes on: as the kernel would have it. */
enum tw_attach_call {
	TW_ATTACH_NO_CALL,
	TW_ATTACH_AGAIN,      /* made again, whatever signal came (ERESTARTNOINTR) */
	TW_ATTACH_IF_RESTART, /* made again, but behind a handler without SA_RESTART (ERESTARTSYS) */
	TW_ATTACH_IF_QUIET,   /* made again where no handler came (ERESTARTNOHAND; calls that the stop itself has made fail with EINTR) */
	TW_ATTACH_REST,       /* likewise; the kernel knows what is left of its time (ERESTART_RESTARTBLOCK) */
};

struct tw_attach_thread {
	uint32_t tid, call; /* enum tw_attach_call */
	uint64_t regs[16];  /* by enum tw_reg */
	uint64_t pc, flags; /* pc: behind the system call, if there is one */
	uint64_t gs;        /* base of %gs */
	uint64_t mask;      /* of signals */
	uint64_t waited_ms; /* for how long it had been in the call, about */
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
	uint64_t bytes; /* of this and all that belongs to it, which is behind it */
	uint64_t thread, n_threads;
	uint64_t map, n_maps;     /* all of its memory */
	uint64_t engine, program; /* addresses of the paths of both */
	uint64_t
	    lock_later; /* MCL_FUTURE, and perhaps MCL_ONFAULT, if the program has locked what it maps later (mlockall); the kernel does that no more */
	uint64_t entry;    /* the engine's: where threads begin */
	char failure[256]; /* the engine's: why it cannot be */
};

#endif
