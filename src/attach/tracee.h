/*
 * A process that runs, stopped as a whole (ptrace): its threads' registers and signal masks, its memory, and system calls that it makes for who stopped it.
 *
 * What must hold:
 *  - A thread that is let go as it was found goes on as if it had not been stopped: a system call that the stop has broken off is made again by the kernel, with
 *    what is left of its time, or fails with EINTR where a signal's handler runs. So it is let go from a stop in which the kernel still decides that.
 *  - All calls are made by the one thread that stopped it (ptrace).
 *  - Nothing is done to the process if tw_tracee_stop fails.
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
	int worked;                    /* it has made calls for us: it stands where the kernel decides nothing any more */
	int in_call;                   /* ... before one that tw_tracee_run has come to */
	struct user_regs_struct found; /* as it was stopped */
	int followed;                  /* it is in a call, behind which a register gets its value back: */
	size_t register_at;            /* ... where in struct user_regs_struct */
	uint64_t value;
	uint64_t mask; /* of signals */
	double ran;    /* when it last ran, by the clock of the scheduler of this processor, in ms; 0: not known */
	int processor;
};

struct tw_tracee {
	pid_t pid;
	struct tw_tracee_thread *thread; /* the first has the number of the process, if it is there still */
	size_t n, room;
	uint64_t call_at; /* address of a system call instruction */
	char why[512];
};

/*
 * For threads that are to be stopped one at a time, while others run: follows all that are not followed yet (*more: there were some), t->pid being set; stops one, with its
 * registers in `found` (1: it has ended); and lets it run on, with these registers if they are not NULL.
 */
int tw_tracee_follow(struct tw_tracee *t, int *more);
int tw_tracee_interrupt(struct tw_tracee *t, size_t thread);
int tw_tracee_resume(struct tw_tracee *t, size_t thread, const struct user_regs_struct *regs);

/* Stops all threads, each with all signals blocked from then on. */
int tw_tracee_stop(struct tw_tracee *t, pid_t pid);

/* Lets all go on as they were found, and forgets them. Threads that have ended meanwhile are no error. */
void tw_tracee_release(struct tw_tracee *t);

/* Lets one go with these registers and this mask: where it stands in a system call, the kernel goes on with that. */
void tw_tracee_go(struct tw_tracee *t, size_t thread, const struct user_regs_struct *regs, uint64_t mask);

/*
 * The same, before a system call that is to be made with another value in one of its registers, at this place of struct user_regs_struct. The thread is still traced in the call;
 * tw_tracee_await_calls gives the register its value back behind it. That waits for all such calls, but no longer than `ms`: then the register stays what it is when the calling thread ends.
 */
void tw_tracee_go_through(struct tw_tracee *t, size_t thread, const struct user_regs_struct *regs, uint64_t mask, size_t register_at,
                          uint64_t value);
void tw_tracee_await_calls(struct tw_tracee *t, unsigned ms);

/* Lets one go that has been stopped by tw_tracee_interrupt, its mask as it is. */
void tw_tracee_resume_free(struct tw_tracee *t, size_t thread, const struct user_regs_struct *regs);

/* Finds where system calls can be made from: once, before the first. tw_tracee_stop does it. */
int tw_tracee_find_call(struct tw_tracee *t);

/* Forgets all threads, wherever they are. */
void tw_tracee_free(struct tw_tracee *t);

/* Lets one go that is to go on where it stands now. */
void tw_tracee_leave(struct tw_tracee *t, size_t thread);

/* Memory. */
int tw_tracee_read(struct tw_tracee *t, uint64_t at, void *to, size_t bytes);
int tw_tracee_write(struct tw_tracee *t, uint64_t at, const void *from, size_t bytes);

/* A thread makes a system call with up to six arguments. *result as the kernel's. */
struct tw_tracee_call {
	long number;
	uint64_t a[6];
};
int tw_tracee_call(struct tw_tracee *t, size_t thread, const struct tw_tracee_call *call, int64_t *result);

/*
 * A thread goes on with these registers, in code that is no part of its program, until it makes system call `number` with `first` as its first argument. Its second is
 * *second then. It stands before that call.
 */
int tw_tracee_run(struct tw_tracee *t, size_t thread, const struct user_regs_struct *regs, long number, uint64_t first, uint64_t *second);

/* How long ago it last ran before it was stopped, in ms, about; 0 where that is not known. Nothing else says since when it waits. */
uint64_t tw_tracee_waited(const struct tw_tracee_thread *thread);

#endif
