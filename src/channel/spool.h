/*
 * The spool: buffers as programs have filled them, in a file of the recording's directory, until they are encoded. So
 * a program that writes faster than the recorder encodes keeps running, and what it has written survives the
 * collector: whoever finds the file with a recording that nobody writes any more encodes the rest (unspool.h).
 *
 * The file is a head and slots of one size; a slot is a struct tw_spooled and the two parts of a buffer. Slots are
 * reused once the chunk of their buffers is in its thread's file. The slot is not marked for this: what is in a
 * readable chunk needs no encoding. The head of a slot is written last, so a slot is either whole or an old one.
 *
 * In front of the slots are the descriptors that they need and the code file does not have yet (described.h).
 *
 * Functions may be called by any thread, for one slot by one at a time; those for descriptors by one at a time.
 */
#ifndef TW_SPOOL_H
#define TW_SPOOL_H

#include "channel/demux.h"
#include "channel/far.h"
#include "recording/recording.h"

enum { TW_SPOOL_LEAST = 64 << 20 }; /* bytes of a spool that there is use for */

/* In its flags: its modules and processes have been written while encoding what was left (unspool.c). */
#define TW_SPOOLED_TOLD 0x80000000u

/* What is told of a buffer. */
struct tw_spooled {
	uint64_t magic;
	uint64_t put;         /* buffers are numbered as they come, from 1 */
	uint64_t descriptors; /* bytes of descriptors that came before it */
	uint32_t serial, pid, tid, parent_pid;
	uint32_t sequence; /* of the chunk it goes into */
	uint32_t flags;    /* TW_CHUNK_TORN and TW_CHUNK_LAST, where that is known already; TW_SPOOLED_TOLD */
	uint32_t dead;     /* 1: its process has died, with */
	int32_t wait_status;
	uint32_t bytes, slack_end;
	uint64_t check; /* xxh64 of the bytes before */
};

/* Where a buffer is read to. */
struct tw_spool_room {
	uint8_t data[TW_DEMUX_DATA + 64], slack[TW_SLACK_BYTES + 64];
};

struct tw_spool;

/* With at most this many bytes, in the file TW_SPOOL_FILE of this directory. */
int tw_spool_new(int dir_fd, uint64_t bytes, struct tw_spool **out);

/* An existing one: tw_spool_slots are then those that have been written. TW_ERR_MISSING: there is none. TW_ERR_DAMAGED: not a spool. */
int tw_spool_open(int dir_fd, struct tw_spool **out);

/* Removes the file and its contents; afterwards only tw_spool_free may be called. Accepts NULL. */
void tw_spool_unlink(struct tw_spool *s);

/* Accepts NULL. tw_spool_remove does both. */
void tw_spool_free(struct tw_spool *s);
void tw_spool_remove(struct tw_spool *s);

unsigned tw_spool_slots(const struct tw_spool *s);

/* Bytes of disk that a slot takes when first written, for a buffer of this size. */
uint64_t tw_spool_growth(uint64_t bytes);

/*
 * Has writing new slots been expensive in processor time so far? If a host must first provide a virtual machine with
 * the memory, that can take as long as encoding the contents. The first function reports that this many bytes took
 * this long.
 */
int tw_spool_is_dear(uint64_t bytes, uint64_t ns);
int tw_spool_grows_dearly(const struct tw_spool *s);

/*
 * Writes the parts of the buffer, then its head. `far`: the parts are read from the buffer's place in a file; NULL:
 * they are in memory. Nonzero: no room on the disk, or an error.
 */
int tw_spool_write(struct tw_spool *s, unsigned slot, const struct tw_demux_input *in, const struct tw_far_buffer *far);
int tw_spool_write_head(struct tw_spool *s, unsigned slot, struct tw_spooled *head);

/* Descriptors: as in described.h. Call the second before writing the head of a slot that needs them. */
int tw_spool_describe(struct tw_spool *s, const uint8_t *bytes, size_t n, uint64_t end);
int tw_spool_write_described(struct tw_spool *s, uint64_t coded);
int tw_spool_read_described(const struct tw_spool *s, uint64_t from, uint8_t **bytes, size_t *n);

/* The head of a slot. TW_ERR_DAMAGED: nothing whole is in it. */
int tw_spool_head(const struct tw_spool *s, unsigned slot, struct tw_spooled *head);

/* Its buffer; *in points to `room`, or to its place in the file. Some bytes after each part can be read, too. */
int tw_spool_read(const struct tw_spool *s, unsigned slot, uint32_t bytes, uint32_t slack_end, struct tw_spool_room *room,
                  struct tw_demux_input *in);

/* Modules and processes of the buffers up to this number have been written. */
int tw_spool_told(struct tw_spool *s, uint64_t put);
uint64_t tw_spool_last_told(const struct tw_spool *s);

#endif
