/*
 * Windows: recording starts and stops at a place in the code, a time, or an instruction count. In between, the bare
 * engine runs.
 *
 * A process is in one of two modes, open or closed, and tw_recorder.instr is the instrumentor of its mode. Fragments
 * of the two have different contexts, so neither mode finds, links to or enters fragments of the other. The
 * dispatcher changes the mode while no thread is in the cache. With one thread both modes' translations stay; with
 * several the cache is emptied.
 *
 * What must hold:
 *  - A block ends before a place where the mode changes, and no exit is linked to such a place: the dispatcher is
 *    entered there.
 *  - A thread whose mode has changed says so in its stream (WINDOW), and, if it was opened, writes a keyframe, before
 *    it enters the cache again.
 *  - In closed mode a thread's buffer pointer stays in thread.bufptr, and events of modules, threads and processes
 *    are written.
 *
 * The collector notices times, and counts of recorded instructions, and sets window_due in the control block. That
 * notice is late by what the buffers hold, so the collector itself drops what was recorded after it
 * (channel/demux.h). A thread that computes without entering the dispatcher is called there by a timer of its own CPU
 * time, which cannot disturb a system call in which it sleeps. The code of closed mode itself counts instructions
 * from the start (instrument/count.c).
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
 * The thread, about to enter at t->pc, checks whether the mode must change, and whether it has. Under the lock, which
 * it may release meanwhile. True: the mode differs from that of the thread's last entry, so what the thread knows of
 * exits and contexts is invalid.
 */
bool tw_window_look(struct thread *t);

/* The mode does not change any more, and the thread has followed it: no check is needed. */
bool tw_window_steady(const struct thread *t);

/* A child that is not to be recorded, with memory of its own: it stays in closed mode. */
void tw_window_close_for_good(void);

/* The thread's stream says that it is recorded from here on, or why not (enum tw_left_out). Before it enters the cache. */
void tw_window_tell(struct thread *t, bool open, u32 reason);

/* Has a time or count been reached that this process has not followed yet? Then threads must come to the dispatcher. */
bool tw_window_is_due(void);

#endif
