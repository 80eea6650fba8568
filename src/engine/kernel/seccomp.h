/*
 * seccomp: system call filters that the program installs. The kernel never gets them, since they would affect the
 * engine's own calls; the engine runs them before each call of the program.
 *
 * As natively: strict mode; filters, newest first, of which the strictest answer counts; errors, SIGSYS with the
 * call's number and address, killed threads and processes; inheritance by threads, forks and, through a memfd, by
 * executed programs; SECCOMP_FILTER_FLAG_TSYNC. A child that leaves the recording (--follow=none, or a program that
 * cannot be followed) gets the filters for real. Different: a filter with a listener
 * (SECCOMP_FILTER_FLAG_NEW_LISTENER) is refused with EINVAL, as by a kernel that does not know it; /proc/PID/status
 * shows none of this.
 */
#ifndef TW_SECCOMP_H
#define TW_SECCOMP_H

#include "engine/kernel/room.h"

/*
 * Before the thread's system call, which is in t->regs and ends before t->pc. True: it may be made. Otherwise *result
 * is the value to return (SECCOMP_ANSWERED: nothing, t->regs and t->pc are where to continue), or this does not
 * return.
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

/*
 * Before the thread executes a program under the engine: a file descriptor that contains its filters, -1 if there are
 * none, or an error below -1.
 */
i64 tw_seccomp_tell(const struct thread *t);

/* In the new program: reads them and closes the descriptor. */
void tw_seccomp_inherit(struct tw_seccomp *s, int fd);

/* Gives filters to the kernel, for a program that is to run natively: nothing of the engine may be needed after that. Returns an error. */
i64 tw_seccomp_make_real(const struct tw_seccomp *s);

#endif
