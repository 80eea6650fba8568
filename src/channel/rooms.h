/*
 * The collector's end of rooms (channel.h): takes the descriptors that programs put into theirs, and when a program has ended, gives its room up and forgets all
 * that was kept of its fragments, here, in the demultiplexer, the expansion and the output.
 *
 * By the drain loop only.
 */
#ifndef TW_ROOMS_H
#define TW_ROOMS_H

#include "channel/demux.h"
#include "channel/expand.h"
#include "channel/output.h"

struct tw_rooms;

/* All of it must stay as long as the rooms; expand may be NULL. */
struct tw_rooms_options {
	int fd;
	struct tw_control *control;
	struct tw_demux *demux;
	struct tw_expand *expand;
	struct tw_output *output;
};

struct tw_rooms *tw_rooms_new(const struct tw_rooms_options *options); /* NULL: no memory */
void tw_rooms_free(struct tw_rooms *r);

/*
 * Takes what is new in a room, before buffers of its program are read and when a slot that names it is freed. Room 0 is none.
 * TW_ERR_DAMAGED if there is something else than descriptors (what stands before it was taken, and no more of this room will be), TW_ERR_MEMORY, TW_ERR_SYSTEM.
 */
int tw_rooms_take(struct tw_rooms *r, uint32_t room);

/* The path that this entry of windows counts in programs of the room. NULL: none. */
const struct tw_descriptor *tw_rooms_tallied(const struct tw_rooms *r, uint32_t room, uint64_t entry);

/* Gives rooms up: those of programs that had ended the last time already, if all that was taken of them is done. To be called now and then. */
int tw_rooms_sweep(struct tw_rooms *r);

/* Descriptors taken so far. */
uint64_t tw_rooms_fragments(const struct tw_rooms *r);

#endif
