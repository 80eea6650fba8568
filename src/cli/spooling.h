/*
 * The spool of a recording (channel/spool.h): record --spool, and messages while the rest of it is encoded.
 */
#ifndef TW_CLI_SPOOLING_H
#define TW_CLI_SPOOLING_H

#include <stdint.h>

/* The default for a recording in this directory: a quarter of the free memory, and of the free disk. */
uint64_t tw_spooling_default(const char *dir);

/* So many bytes are left to be encoded, 0: none. On a terminal, a line that is updated. */
void tw_spooling_tell(uint64_t left);

#endif
