/*
 * Encoding what is left in the spool (spool.h) of a recording whose recorder was killed.
 */
#ifndef TW_UNSPOOL_H
#define TW_UNSPOOL_H

#include <stdint.h>

/*
 * Adds to the recording in this directory what its spool has, and takes the spool away. Does nothing where there is none, or where somebody writes the recording. *buffers are
 * those that were encoded, *lost those that could not be: their descriptors had not come to disk. What fails leaves the spool as it is.
 */
int tw_unspool(const char *dir, uint64_t *buffers, uint64_t *lost);

#endif
