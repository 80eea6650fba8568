/*
 * Processes of a recording: whose memory an address belongs to.
 */
#ifndef TW_PROCESS_H
#define TW_PROCESS_H

#include <trackway/context.h>

/*
 * The program that a thread runs: the serial number of the first thread of that program in its process. So what a
 * process ran before and after execve is distinguished even while a program runs, when there are no images.
 */
uint32_t tw_process_program(const struct tw_context *c, uint32_t thread);

/*
 * The same while batches come, perhaps of a running program: a thread may come before the first of its program. If a
 * thread between the two is not known, each may be the program's first: then `thread` itself, which confuses nothing.
 */
uint32_t tw_process_program_yet(const struct tw_context *c, uint32_t thread);

/*
 * Whose memory a thread uses, for analyzers whose batches come in any order: the number of its process, and if that
 * has executed another program since, another number, below 2^24. While a program runs this holds as far as threads
 * are known by then.
 */
uint32_t tw_process_memory(const struct tw_context *c, uint32_t thread);

/* The image of the program that has this memory. */
uint32_t tw_process_image(const struct tw_context *c, struct tw_names *names, uint32_t memory);

#endif
