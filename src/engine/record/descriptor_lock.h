/*
 * The lock under which descriptors are appended and searched: one for all processes of a recording (base/channel.h
 * says who holds it).
 *
 * What must hold: nobody waits for a process that does not run. A process that is killed while it holds the lock
 * loses it to another. So does one that is stopped: by SIGSTOP, by a debugger, or by a tracer that is itself recorded
 * and may be the one that waits. When the stopped process is continued it must not go on where it was. Hence work
 * under the lock is a restartable sequence (rseq(2), x86_64/glue.h), which the kernel restarts after a stop: it makes
 * no system call, it has no effect outside shared memory before its last store, which releases the lock (except for
 * harmless notes, heap.h), and it may be done in part, or twice. If the kernel has no restartable sequences, or
 * processes number each other differently, a stopped holder is waited for.
 */
#ifndef TW_DESCRIPTOR_LOCK_H
#define TW_DESCRIPTOR_LOCK_H

#include "engine/record/room.h"

/*
 * Runs section(arg) under the lock, the last time to completion, with the table mapped as far as it is used plus this
 * many bytes; does not run it if there is no memory to map that. False: there is no table, or the collector has died,
 * and nobody reads descriptions.
 */
bool tw_with_descriptors(void (*section)(void *arg), void *arg, u32 bytes);

/* The thread leaves the engine: next, its own restartable sequences are registered with the kernel. */
void tw_descriptor_lock_leave(struct thread *t);

#endif
