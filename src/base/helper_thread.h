/*
 * A tool's own threads, which get no signals: these are for the initial thread.
 */
#ifndef TW_HELPER_THREAD_H
#define TW_HELPER_THREAD_H

#include <pthread.h>

/* As pthread_create, with all signals blocked in the thread. 1: it runs, and somebody has to join it; 0: there is none. */
int tw_helper_thread_start(pthread_t *thread, void *(*run)(void *), void *arg);

/*
 * The calling thread, and those it starts, yield their processor to others. There are two levels: of two threads that
 * make way for a program with a budget, the one that empties buffers precedes the one that encodes them. It cannot be
 * undone. If the system refuses, everything continues as before.
 */
enum tw_priority { TW_PRIORITY_LOW, TW_PRIORITY_LOWEST };
void tw_helper_thread_yield(enum tw_priority to);

#endif
