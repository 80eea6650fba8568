/*
 * The second half of the collector: threads that compare (--verify), encode, compress and write what the drain loop took from the buffers, so that a slow
 * disk does not hold up draining. When too much is under way the drain loop waits.
 *
 * A chunk of the recording is TW_CHUNK_BUFFERS buffers of one traced thread, fewer where the thread ends, where more threads run than chunks can be
 * open at once (TW_OUTPUT_LANES), or where they take longer than TW_CHUNK_NS to come. Each open chunk has a lane: an encoding thread and a queue.
 *
 * With a spool (spool.h) the drain loop leaves it at that: buffers wait in a file as they are, and the lane takes them apart. A slot of the spool is free again when the
 * chunk is written, so what a collector that is killed had not written is in the spool. Only as many lanes are at work as there are processors.
 *
 * When writing fails the output says so once on stderr and goes on discarding, so that the program is not held up.
 */
#ifndef TW_OUTPUT_H
#define TW_OUTPUT_H

#include "base/channel.h"
#include "channel/demux.h"
#include "channel/ring.h"
#include "recording/recording.h"

enum { TW_CHUNK_BUFFERS = 128, TW_OUTPUT_LANES = 8 };
#define TW_CHUNK_NS                                                                                                                        \
	250000000ull /* what a disk that fills, or a collector that is killed, may cost: with what buffers hold, half a second */

struct tw_feed;
struct tw_output;
struct tw_spool;
struct tw_told;
struct tw_writer;
struct tw_value_family;

/* What one buffer held, on its way. */
struct tw_job {
	struct tw_chunk chunk; /* its arrays have the room tw_demux_buffer needs; its sequence is the output's to set */
	struct tw_thread_info thread;
	int dead;            /* 1: the chunk is the last of a process that is known to have died, with */
	int32_t wait_status; /*   this status, as from waitpid(2) */
	/* the output's own */
	int holders;          /* a lane, and the feed */
	_Atomic int fed;      /* the feed has it */
	uint32_t id;          /* of the chunk it becomes part of */
	uint64_t put;         /* as which it was put; 0: it is not under way */
	uint64_t descriptors; /* bytes of descriptors that must be on disk before the chunk */
	struct tw_event_sums events;
	struct tw_job *next;
	int spooled; /* the chunk's arrays are a lane's; the job's number is its slot's */
	uint32_t bytes, slack_end;
	int is_told;          /* what it says of modules and processes is in the recording already */
	int looked;           /* its events have been looked at, and say: */
	struct tw_told *told; /* blocks, until those of earlier jobs are written */
	struct tw_job *later; /* in the order in which they were put */
};

struct tw_output_options {
	struct tw_writer *writer; /* NULL: nothing is stored. The caller closes it after tw_output_finish */
	struct tw_ring_size ring; /* what is kept of it until the end; 0: it is written as it comes */
	int discard;              /* 1: store modules, but no chunks and no descriptors */
	int keep_refs;            /* 1: REFS events are stored; 0: they are only for the check, and are taken out */
	/* Called for every buffer's part of a chunk, with its REFS, in the order of its thread; non-zero: a mismatch. NULL: none. */
	int (*check)(void *context, const struct tw_chunk *chunk);
	void *check_context;
	struct tw_feed *feed;   /* gets all that comes, too; NULL: there is none. The caller's, to be freed after tw_output_finish */
	struct tw_spool *spool; /* NULL: there is none. The caller's, to be freed after tw_output_finish */
	struct tw_demux *demux; /* of the buffers in it */
};

struct tw_output_result {
	struct tw_totals totals; /* stored bytes as far as written */
	int mismatch;
	char failure[512]; /* why recording stopped; "" if it did not */
	int said;          /* 1: the failure has been said on stderr */
	int abandoned;     /* 1: what the spool has is yet to be encoded */
};

/* Starts the threads. */
int tw_output_new(const struct tw_output_options *options, struct tw_output **out);

/*
 * Valid descriptors of one family (recording/value_map.h), back to back: those of the chunks that are put later. They must stay until they have been written.
 * `first`: all of this stretch of numbers are needed no more; nor is `number`. By the drain loop only.
 */
void tw_output_describe(struct tw_output *o, struct tw_value_family *family, const uint8_t *bytes, size_t n);
void tw_output_forget(struct tw_output *o, uint32_t first);
void tw_output_forget_one(struct tw_output *o, uint32_t number);

/* Writes all that are not written yet. */
void tw_output_write_descriptors(struct tw_output *o);

/* With a ring: writes what is in it now, and what has been put so far as far as it becomes whole in a moment. By any thread. */
void tw_output_keep(struct tw_output *o);

/* An empty job, to be filled and given back with tw_output_put or tw_output_drop. Waits until one is free. */
struct tw_job *tw_output_take(struct tw_output *o);
void tw_output_put(struct tw_output *o, struct tw_job *job);
void tw_output_drop(struct tw_output *o, struct tw_job *job);

/* With a spool: a buffer as it is, of this thread. Waits until there is a slot. `flags`: TW_CHUNK_TORN and TW_CHUNK_LAST, where that is known. */
struct tw_output_buffer {
	struct tw_thread_info thread;
	uint32_t flags;
	int dead; /* 1: its process has died, with */
	int32_t wait_status;
};
void tw_output_spool(struct tw_output *o, const struct tw_output_buffer *buffer, const struct tw_demux_input *in);

/* Before anything of this thread is put: so many chunks of it are in the recording, and in them so much. TW_ERR_MEMORY. */
int tw_output_resume(struct tw_output *o, uint32_t serial, uint32_t chunks, const struct tw_totals *before);

/* Nothing more comes of this thread. */
void tw_output_thread_ends(struct tw_output *o, uint32_t serial);

/* Bytes of buffers that have been put, and that wait. From any thread. */
void tw_output_waiting(struct tw_output *o, uint64_t *put, uint64_t *waiting);

/* With a spool, when nothing more will be put: what is not encoded yet stays in it, as if the collector had been killed. */
void tw_output_abandon(struct tw_output *o);

/* Nothing more will be put: waits until nothing waits any more, but no longer than `ms` milliseconds. Returns what still waits. */
uint64_t tw_output_settle(struct tw_output *o, unsigned ms);

/* How many jobs have been put, and whether so many are done: nobody needs the descriptors of their fragments any more. By the drain loop only. */
uint64_t tw_output_put_so_far(const struct tw_output *o);
int tw_output_is_done(struct tw_output *o, uint64_t put);

/* Has chunks written that have been open for longer than TW_CHUNK_NS. The drain loop calls it now and then. */
void tw_output_age(struct tw_output *o);

/* A block of the code file, of one module, say: to disk, and to the feed. Frees the bytes; NULL: there was no memory for them. */
void tw_output_block(struct tw_output *o, uint32_t kind, void *bytes, size_t n);

/* What has been recorded so far (instructions and references), and bytes stored. From any thread. */
void tw_output_progress(struct tw_output *o, struct tw_totals *so_far, uint64_t *stored);

/* Adds counts that are in no chunk. */
void tw_output_add(struct tw_output *o, const struct tw_totals *totals);

/* Waits until everything is written, descriptors included; ends the threads and frees *o. */
void tw_output_finish(struct tw_output *o, struct tw_output_result *result);

#endif
