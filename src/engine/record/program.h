/*
 * Which program runs here, to the recorder: what one execve started, including its forks until they execute something
 * else.
 */
#ifndef TW_PROGRAM_H
#define TW_PROGRAM_H

#include "engine/lib.h"

/* Once per program, as it begins. */
void tw_program_init(void);

/* The serial number of the program, from 1. */
u32 tw_program_serial(void);

/* Is this process a fork of the one that executed it? */
bool tw_program_forked(void);

#endif
