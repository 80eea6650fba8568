/*
 * Processes of a recording: whose memory an address is of.
 */
#ifndef TW_PROCESS_H
#define TW_PROCESS_H

#include <trackway/context.h>

/*
 * What program a thread runs: the serial number of the thread that its process began it with, or that the process began with. So what a process ran before and after
 * execve is told apart while a program runs already, when there are no images.
 */
uint32_t tw_process_program(const struct tw_context *c, uint32_t thread);

/*
 * The same while batches come, perhaps of a program that still runs: a thread may come before the one that its program began with. Where a thread between the two is
 * not known, each may be the program's first: then `thread` itself, which mixes up nothing.
 */
uint32_t tw_process_program_yet(const struct tw_context *c, uint32_t thread);

/*
 * Whose memory a thread works in, for analyzers whose batches come in any order: the number of its process, and where that has executed another program since, another number, below 2^24.
 * While a program runs that holds as far as threads are known by then.
 */
uint32_t tw_process_memory(const struct tw_context *c, uint32_t thread);

/* The image of the program that has this memory. */
uint32_t tw_process_image(const struct tw_context *c, struct tw_names *names, uint32_t memory);

#endif
