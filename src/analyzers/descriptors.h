/*
 * Descriptors by which threads exchange data: pipes, sockets, eventfds, and timer descriptors. What a write puts in,
 * a read of the same channel gets.
 *
 * It also distinguishes memfds, which may all have the same name.
 *
 * System calls tell what a descriptor is. Each eventfd and timer is a channel of its own. All pipes of a program are
 * one channel, and so are all its sockets: which two ends belong together is not recorded.
 */
#ifndef TW_DESCRIPTORS_H
#define TW_DESCRIPTORS_H

#include <stddef.h>
#include <stdint.h>
#include <trackway/event.h>

enum {
	TW_CHANNEL_UNKNOWN, /* its creation was not seen: counts as a pipe unless it is standard input, output or error */
	TW_CHANNEL_NONE,    /* a file, or what else hands nothing over */
	TW_CHANNEL_PIPES,
	TW_CHANNEL_SOCKETS,
	TW_CHANNEL_EVENTS,           /* from here on: eventfds and timers */
	TW_CHANNEL_MEMFDS = 1 << 30, /* from here on: memfds, which hand nothing over */
};

struct tw_open_descriptors {
	uint32_t program;
	uint32_t *channel; /* by descriptor */
	size_t n;
};

/* All zeros: none. */
struct tw_descriptors {
	struct tw_open_descriptors *tables;
	size_t n, room;
	uint32_t events, memfds; /* so many of them were made */
};

/* 0 or TW_ERR_MEMORY. */
int tw_descriptors_syscall(struct tw_descriptors *d, uint32_t program, const struct tw_syscall *call);

/* The program of a new process has those of its parent. 0 or TW_ERR_MEMORY. */
int tw_descriptors_fork(struct tw_descriptors *d, uint32_t parent, uint32_t child);

/* TW_CHANNEL_NONE, or TW_CHANNEL_PIPES and more. */
uint32_t tw_descriptors_channel(const struct tw_descriptors *d, uint32_t program, uint64_t descriptor);

/* The number of the memfd, from 1 on; 0: it is none, or its making was not seen. */
uint32_t tw_descriptors_memfd(const struct tw_descriptors *d, uint32_t program, uint64_t descriptor);

void tw_descriptors_free(struct tw_descriptors *d);

#endif
