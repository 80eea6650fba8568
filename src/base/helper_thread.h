/*
 * Threads of a tool's own, which get no signals: these are for the thread that began.
 */
#ifndef TW_HELPER_THREAD_H
#define TW_HELPER_THREAD_H

#include <pthread.h>

/* As pthread_create, with all signals blocked in the thread. 1: it runs, and somebody has to join it; 0: there is none. */
int tw_helper_thread_start(pthread_t *thread, void *(*run)(void *), void *arg);

#endif
