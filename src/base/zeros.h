/*
 * Large objects that are all zeros and mostly stay so: they take memory only where they are touched. (calloc clears
 * what the heap had in use before, and so touches all of it.)
 *
 * By any thread.
 */
#ifndef TW_ZEROS_H
#define TW_ZEROS_H

#include <stddef.h>

/* NULL: no memory. */
void *tw_zeros_new(size_t bytes);

/* `zeros` may be NULL; or whatever else has been mapped. */
void tw_zeros_free(void *zeros, size_t bytes);

/* The process is about to end: memory freed from now on is left to that, which costs less than unmapping each piece. */
void tw_zeros_leave(void);

#endif
