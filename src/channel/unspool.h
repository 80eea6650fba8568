/*
 * Encoding what is left in the spool (spool.h) after a recorder was killed.
 */
#ifndef TW_UNSPOOL_H
#define TW_UNSPOOL_H

#include <stdint.h>

/*
 * Adds the contents of the spool in this directory to the recording, and removes the spool. Does nothing if there is
 * none, or if somebody is writing the recording. *buffers: those encoded, *lost: those that could not be, because
 * their descriptors had not reached the disk. An error leaves the spool as it is.
 */
int tw_unspool(const char *dir, uint64_t *buffers, uint64_t *lost);

#endif
