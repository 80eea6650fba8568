/* Ending threads and processes by themselves: exit, exit_group. */
#ifndef TW_EXIT_H
#define TW_EXIT_H

#include "engine/kernel/room.h"

/* exit: ends the calling thread only; exit_group: all of its process. */
void tw_thread_exit(struct thread *t, i32 status, bool group) __attribute__((noreturn));

#endif
