/*
 * What the engine must know about a stopped process (base/attach.h), gathered and laid out as in the process's
 * memory.
 */
#ifndef TW_TAKEN_H
#define TW_TAKEN_H

#include "attach/tracee.h"
#include "base/attach.h"

struct tw_taken {
	struct tw_tracee *tracee;
	const char *engine, *channel;
	struct tw_attach_thread *thread;
	struct tw_attach_map *map; /* path: index in `paths` */
	char **paths;
	size_t n_maps, maps_room, paths_room;
	char program[4096];
	char *arguments;
	size_t argument_bytes;
	uint64_t lock_later; /* as in struct tw_attach */
	char auxv[2048];
	size_t auxv_bytes;
	/* As laid out: */
	char *image;
	size_t bytes, room;
	uint64_t base;                  /* where it stands in the process */
	uint64_t engine_path_at, stack; /* and in it, the path, and what the engine finds where a program finds its arguments */
};

/* 0, or -1 with a sentence in tracee->why. */
int tw_taken_gather(struct tw_taken *k);

/* Lays it out for this address, which is not 0 and does not affect the size. 0, or -1. */
int tw_taken_lay_out(struct tw_taken *k, uint64_t base);

void tw_taken_free(struct tw_taken *k);

#endif
