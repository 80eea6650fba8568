/*
 * The lock under which descriptors are appended and looked for: one for all processes of a recording (base/channel.h says who holds it).
 *
 * What must hold: nobody waits for a process that does not run. One that is killed while it holds the lock has it taken over. So has one that is stopped: by SIGSTOP, by a
 * debugger, by a tracer that is recorded too and may be the very one that waits. When that one is continued it must not go on where it was. Hence what is done under the lock is a
 * restartable sequence (rseq(2), x86_64/glue.h), which the kernel has begin anew after a stop: it makes no system call, has no effect outside shared memory before its last
 * store, which gives the lock back, but for notes that do no harm (heap.h), and may be done in part, or twice. Where the kernel has no restartable sequences, or processes number each other differently, a holder that is
 * stopped is waited for.
 */
#ifndef TW_DESCRIPTOR_LOCK_H
#define TW_DESCRIPTOR_LOCK_H

#include "engine/record/room.h"

/*
 * Does section(arg) under the lock, the last time as a whole, with the table mapped as far as it is used and so many bytes more; not at all where there is no memory to map as much. False: there is no
 * table, or the collector has died, and nobody reads what is described.
 */
bool tw_with_descriptors(void (*section)(void *arg), void *arg, u32 bytes);

/* The thread is not the engine's any more: the kernel is told of its own restartable sequences next. */
void tw_descriptor_lock_leave(struct thread *t);

#endif
