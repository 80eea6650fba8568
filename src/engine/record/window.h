/*
 * Windows: recording starts and stops at a place in the code, a time, or a count of instructions. In between, the bare engine runs.
 *
 * A process is in one of two modes, open or closed, and tw_recorder.instr is the instrumentor of its mode. Fragments of the two have different contexts, so
 * neither is ever found, linked or landed on from the other; going from one to the other is done in the dispatcher, while no thread is in the cache.
 * With one thread that is just so, and both modes' translations stay; with several the cache is emptied for it.
 *
 * What must hold:
 *  - A block ends before a place where the mode changes, and no exit is ever linked to such a place: the dispatcher is come by there.
 *  - A thread whose mode has changed tells so in its stream (WINDOW), and, opened, writes a keyframe, before it enters the cache again.
 *  - In closed mode a thread's buffer pointer stays in thread.bufptr, and events are written that tell of modules, threads and processes.
 *
 * A time is noticed by the collector, in the control block (window_due); so is a count of recorded instructions. That notice comes late by what the buffers hold, so
 * the collector itself leaves out what was recorded after it (channel/demux.h). A thread that computes without ever coming by the
 * dispatcher is called there by a timer of its own CPU time, which cannot disturb a system call it sleeps in. A count of instructions from the start
 * is kept by the code of closed mode itself (instrument/count.c).
 */
#ifndef TW_WINDOW_H
#define TW_WINDOW_H

#include "engine/record/room.h"

/* Once, when tw_recorder.instr is that of the recording. `bare` records nothing; `counting` counts instructions up to a window's start. */
void tw_window_init(const struct instrumentor *bare, const struct instrumentor *counting);

/* Something executable was mapped from this file: functions that are waited for are looked up in it. */
void tw_window_mapped(const char *path, u64 address, u64 length, u64 offset);

/* Does the mode change at this address? Decoding and linking stop before it. */
bool tw_window_stops_at(u64 pc);

/*
 * The thread, about to enter at t->pc, looks whether the mode is to change, and whether it has. Under the lock, which it may let go of meanwhile. True: the
 * thread's mode is another than when it last entered, and what it knows of exits and contexts is void.
 */
bool tw_window_look(struct thread *t);

/* The mode never changes (any more), and the thread has followed it: there is nothing to look at. */
bool tw_window_steady(const struct thread *t);

/* A child that is not to be recorded, with memory of its own: it is closed for good. */
void tw_window_close_for_good(void);

/* The thread's stream says that it is recorded from here on, or why not (enum tw_left_out). Before it enters the cache. */
void tw_window_tell(struct thread *t, bool open, u32 reason);

/* Has a time come, or a count been reached, that this process has not followed yet? Threads are to come by the dispatcher then. */
bool tw_window_is_due(void);

#endif
