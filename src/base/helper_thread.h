/*
 * Threads of a tool's own, which get no signals: these are for the thread that began.
 */
#ifndef TW_HELPER_THREAD_H
#define TW_HELPER_THREAD_H

#include <pthread.h>

/* As pthread_create, with all signals blocked in the thread. 1: it runs, and somebody has to join it; 0: there is none. */
int tw_helper_thread_start(pthread_t *thread, void *(*run)(void *), void *arg);

/*
 * The calling thread, and those it starts, give their processor to whoever wants it: of two threads that a budget's program has to make way for, what empties buffers comes before what encodes them.
 * It cannot be taken back. Where the system refuses, all goes on as before.
 */
enum tw_priority { TW_PRIORITY_LOW, TW_PRIORITY_LOWEST };
void tw_helper_thread_yield(enum tw_priority to);

#endif
