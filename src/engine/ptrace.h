/*
 * A thread that traces others of the same memory, as the leak sanitizer's does to find what their registers and stacks point to: it is to see the
 * application's registers, where the kernel shows it the engine's. (What a process of its own traces it sees as the kernel has it.)
 */
#ifndef TW_PTRACE_H
#define TW_PTRACE_H

#include "engine/engine.h"

/* Request `request` to the thread `tid` has been answered: makes what is at `data` the application's, if it shows registers of a thread of this memory. */
void tw_ptrace_show(u64 request, u32 tid, u64 address, u64 data);

/* `tid`, which is being attached to, if it is of this memory: waits until it has stopped. Under the engine's lock, which no stopped thread is to hold. */
void tw_ptrace_await(u32 tid);

#endif
