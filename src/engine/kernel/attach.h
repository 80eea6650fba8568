/*
 * The engine in a process that was already running (`trackway record --pid`, base/attach.h): it takes over memory,
 * signals and threads as they are.
 *
 * What must hold:
 *  - All threads are stopped, each with all signals blocked in the kernel, from before the first of the functions
 *    below until the recorder releases it: the state that is found does not change meanwhile.
 *  - Nothing of the process is changed before everything that can fail has been done: until then the recorder can
 *    remove the engine again.
 *  - A thread continues as if it had not been stopped. A system call that the stop interrupted is made again here,
 *    before any of the program's code runs, since only then it is known whether a signal came first: then it ends, or
 *    not, as in the kernel.
 *  - A thread has no restartable sequences of its own while it is in the engine (rseq.h).
 */
#ifndef TW_ENGINE_ATTACH_H
#define TW_ENGINE_ATTACH_H

#include "base/attach.h"
#include "engine/kernel/room.h"

/* Takes executable memory and shared file mappings as the program's, and leaves brk to the kernel. */
void tw_attach_memory(const struct tw_attach *a);

/* Makes a thread for each. Before tw_action_init. False: there is no room. */
bool tw_attach_threads(struct tw_attach *a);

/*
 * The calling thread is the first of them from now on: reports the process to the recording, tells the recorder that
 * it is done, and continues.
 */
void tw_attach_begin(const struct tw_attach *a, char *const *argv) __attribute__((noreturn));

/* A thread of the engine that had ended its recording, and given everything back to the kernel, continues in the engine where it is. */
void tw_attach_again(struct thread *t) __attribute__((noreturn));

/* The recorder reads the reason in *a, and removes the engine. */
void tw_attach_fail(void) __attribute__((noreturn));

#endif
