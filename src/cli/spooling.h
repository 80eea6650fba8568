/*
 * The spool of a recording (channel/spool.h): record --spool, and what is said while the rest of it is encoded.
 */
#ifndef TW_CLI_SPOOLING_H
#define TW_CLI_SPOOLING_H

#include <stdint.h>

/* Where none is given, for a recording in this directory: a quarter of the memory that is free, and of the disk. */
uint64_t tw_spooling_default(const char *dir);

/* So many bytes are left to be encoded, 0: none any more. On a terminal, a line that is renewed. */
void tw_spooling_tell(uint64_t left);

#endif
