/*
 * Processes of a recording: whose memory an address is of.
 */
#ifndef TW_PROCESS_H
#define TW_PROCESS_H

#include <trackway/context.h>

/* The process of a thread, by its pid; 0: not known. */
uint32_t tw_process_of(const struct tw_context *c, uint32_t thread);

/* The image that a process ran last. */
uint32_t tw_process_image(const struct tw_context *c, struct tw_names *names, uint32_t process);

#endif
