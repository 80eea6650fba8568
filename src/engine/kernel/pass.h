/*
 * Passing the application's system calls to the kernel.
 *
 * What must hold: a signal that arrives around a call finds the application before or after it, never in between
 * (glue.h). A call that may wait is made with those synchronous signals blocked that the application blocks or
 * ignores, so that none of these interrupts it (signal/pending.h). A read of a signalfd also returns what is pending
 * in the engine.
 */
#ifndef TW_PASS_H
#define TW_PASS_H

#include "engine/kernel/room.h"

/* What these and the rows of the table (syscall.h) return if the kernel is not asked. */
#define ENGINE_EINTR  (-4)
#define ENGINE_E2BIG  (-7)
#define ENGINE_EAGAIN (-11)
#define ENGINE_ENOMEM (-12)
#define ENGINE_EFAULT (-14)
#define ENGINE_EEXIST (-17)
#define ENGINE_EINVAL (-22)
#define ENGINE_ENOSYS (-38)

/* Makes the call with the registers that the application made it with. */
i64 tw_pass_as_made(struct thread *t);

/*
 * The same, and repeats the call if the kernel could not write to the application because of a watched page of code.
 * A row of the table: ignores `a`.
 */
i64 tw_pass(struct thread *t, const u64 *a);

/* Passes on call `nr` with these arguments instead. */
i64 tw_pass_with(struct thread *t, u64 nr, const u64 *a);

#endif
