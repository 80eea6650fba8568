/*
 * seccomp: filters of system calls that the program installs. The kernel never gets them, or they would hit the engine's own calls; the engine runs them
 * itself before each call of the program's.
 *
 * As natively: strict mode; filters, newest first, of which the strictest answer counts; errors, SIGSYS with the call's number and address, threads and
 * processes that are killed; inheritance by threads, forks and, through a memfd, by the programs they execute; SECCOMP_FILTER_FLAG_TSYNC. A child that
 * leaves the recording (--follow=none, or a program that cannot be followed) gets the filters for real. Not as natively: a filter with a listener
 * (SECCOMP_FILTER_FLAG_NEW_LISTENER) is refused with EINVAL, as by a kernel that does not know it; /proc/PID/status does not show any of it.
 */
#ifndef TW_SECCOMP_H
#define TW_SECCOMP_H

#include "engine/kernel/room.h"

/*
 * Before the thread's system call, which is in t->regs and ends before t->pc. True: it may be made. Else *result is what to return (SECCOMP_ANSWERED:
 * nothing, t->regs and t->pc are where to go on), or this does not return.
 */
bool tw_seccomp_allows(struct thread *t, i64 *result);
#define SECCOMP_ANSWERED (-513)

/* Is anything to be asked? */
static inline bool tw_seccomp_used(const struct thread *t)
{
	return t->kernel->seccomp.strict || __atomic_load_n(&t->kernel->seccomp.filter, __ATOMIC_RELAXED);
}

/* seccomp(2) and the two prctl's. TW_SECCOMP_PASS: the kernel may answer. */
i64 tw_seccomp(struct thread *t, u64 operation, u64 flags, u64 args);
i64 tw_seccomp_prctl(struct thread *t, u64 option, u64 mode, u64 args);
#define TW_SECCOMP_PASS (-514)

/* Nobody installs a filter meanwhile (fork). */
void tw_seccomp_lock(void);
void tw_seccomp_unlock(void);

/* Before the thread executes a program under the engine: a file descriptor that tells its filters, -1 if there are none, or an error below -1. */
i64 tw_seccomp_tell(const struct thread *t);

/* In the program: takes them back and closes the descriptor. */
void tw_seccomp_inherit(struct tw_seccomp *s, int fd);

/* Gives filters to the kernel, for a program that is to run natively: nothing of the engine may be needed after that. An error. */
i64 tw_seccomp_make_real(const struct tw_seccomp *s);

#endif
