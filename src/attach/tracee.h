/*
 * A running process, stopped completely (ptrace): its threads' registers and signal masks, its memory, and system
 * calls that it makes for the tracer.
 *
 * What must hold:
 *  - A thread released as it was found continues as if it had not been stopped: the kernel repeats an interrupted
 *    system call with the rest of its time, or lets it fail with EINTR if a signal handler runs. So it is released
 *    from a stop in which the kernel still makes that decision.
 *  - All calls are made by the one thread that stopped the process (ptrace).
 *  - If tw_tracee_stop fails, the process is unchanged.
 *
 * Functions return 0, or -1 with one sentence in `why`.
 */
#ifndef TW_TRACEE_H
#define TW_TRACEE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

struct tw_tracee_thread {
	pid_t tid;
	int stopped;                   /* else it runs, has ended, or has been let go */
	int gone;                      /* it has ended */
	int worked;                    /* it has made calls for us: the kernel decides nothing about its own call any more */
	int in_call;                   /* ... before one that tw_tracee_run has come to */
	struct user_regs_struct found; /* as it was stopped */
	int followed;                  /* it is in a call, after which a register gets its value back: */
	size_t register_at;            /* ... where in struct user_regs_struct */
	uint64_t value;
	uint64_t mask; /* of signals */
	double ran;    /* when it last ran, by the scheduler clock of this processor, in ms; 0: unknown */
	int processor;
};

struct tw_tracee {
	pid_t pid;
	struct tw_tracee_thread *thread; /* the first has the process's number, if it still exists */
	size_t n, room;
	uint64_t call_at; /* address of a system call instruction */
	char why[512];
};

/*
 * For stopping threads one at a time while others run (t->pid must be set): tw_tracee_follow attaches to all new
 * threads (*more: there were some). The others stop one thread, with its registers in `found` (1: it has ended), and
 * let it run on, with these registers unless NULL.
 */
int tw_tracee_follow(struct tw_tracee *t, int *more);
int tw_tracee_interrupt(struct tw_tracee *t, size_t thread);
int tw_tracee_resume(struct tw_tracee *t, size_t thread, const struct user_regs_struct *regs);

/* Stops all threads; all signals of each are blocked from then on. */
int tw_tracee_stop(struct tw_tracee *t, pid_t pid);

/* Releases all threads as they were found, and forgets them. Threads that have ended meanwhile are not an error. */
void tw_tracee_release(struct tw_tracee *t);

/* Releases one with these registers and this mask: if it is in a system call, the kernel continues that. */
void tw_tracee_go(struct tw_tracee *t, size_t thread, const struct user_regs_struct *regs, uint64_t mask);

/*
 * The same before a system call that must be made with another value in one register, at this offset of struct
 * user_regs_struct. The thread is still traced during the call; afterwards tw_tracee_await_calls restores the
 * register. That waits for all such calls, but at most `ms`: after that, when the calling thread ends, the register
 * keeps the new value.
 */
void tw_tracee_go_through(struct tw_tracee *t, size_t thread, const struct user_regs_struct *regs, uint64_t mask, size_t register_at,
                          uint64_t value);
void tw_tracee_await_calls(struct tw_tracee *t, unsigned ms);

/* Releases one stopped by tw_tracee_interrupt, with its mask as it is. */
void tw_tracee_resume_free(struct tw_tracee *t, size_t thread, const struct user_regs_struct *regs);

/* Finds a place for making system calls: once, before the first. tw_tracee_stop does it. */
int tw_tracee_find_call(struct tw_tracee *t);

/* Forgets all threads, wherever they are. */
void tw_tracee_free(struct tw_tracee *t);

/* Releases one to continue where it is now. */
void tw_tracee_leave(struct tw_tracee *t, size_t thread);

/* Memory. */
int tw_tracee_read(struct tw_tracee *t, uint64_t at, void *to, size_t bytes);
int tw_tracee_write(struct tw_tracee *t, uint64_t at, const void *from, size_t bytes);

/* A system call with up to six arguments that a thread makes. *result: the kernel's. */
struct tw_tracee_call {
	long number;
	uint64_t a[6];
};
int tw_tracee_call(struct tw_tracee *t, size_t thread, const struct tw_tracee_call *call, int64_t *result);

/*
 * Runs a thread with these registers, in code that is not its program's, until it is about to make system call
 * `number` with `first` as its first argument. *second: its second argument.
 */
int tw_tracee_run(struct tw_tracee *t, size_t thread, const struct user_regs_struct *regs, long number, uint64_t first, uint64_t *second);

/* How long ago it last ran before it was stopped, in ms, approximately; 0: unknown. Nothing else tells since when it has been waiting. */
uint64_t tw_tracee_waited(const struct tw_tracee_thread *thread);

#endif
