/*
 * The engine in a process that was running before it (`trackway record --pid`, base/attach.h): it takes over memory, signals and threads as they are.
 *
 * What must hold:
 *  - All threads stand, each with all signals blocked in the kernel, from before the first of the functions below until the recorder lets it go: nothing of what is
 *    found changes meanwhile.
 *  - Nothing of the process's is changed before all that can fail has been done: until then the recorder can take the engine out again.
 *  - A thread goes on as if it had not been stopped. A system call that the stop has broken off is made again here, before the program's code runs, since only so it
 *    is known whether a signal came before it: then it ends, or not, as in the kernel.
 *  - A thread has no restartable sequences while it is the engine's (rseq.h).
 */
#ifndef TW_ENGINE_ATTACH_H
#define TW_ENGINE_ATTACH_H

#include "base/attach.h"
#include "engine/kernel/room.h"

/* Takes executable memory and files mapped shared for the program's, and leaves brk to the kernel. */
void tw_attach_memory(const struct tw_attach *a);

/* Makes a thread for each. Before tw_action_init. False: there is no room. */
bool tw_attach_threads(struct tw_attach *a);

/* The calling thread is the first of them from now on: tells the recording of the process, and the recorder that it is done, and goes on. */
void tw_attach_begin(const struct tw_attach *a, char *const *argv) __attribute__((noreturn));

/* A thread of the engine's that had ended its recording, and given back what is the kernel's, goes on in the engine where it stands. */
void tw_attach_again(struct thread *t) __attribute__((noreturn));

/* The recorder reads why in *a, and takes the engine out. */
void tw_attach_fail(void) __attribute__((noreturn));

#endif
