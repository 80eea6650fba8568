/*
 * The feed: what the collector passes to a process of analyzers (src/live/), as it arrives. Streams of buffers are in
 * memory shared by both. Everything else goes through a socket: blocks, as in a recording's code file; first threads
 * of programs; where a buffer's streams are; and how it all ended. The numbers of processed buffers come back.
 *
 * The other process may die: then nothing more is sent, and every buffer counts as processed.
 */
#ifndef TW_FEED_H
#define TW_FEED_H

#include "recording/recording.h"

/* Buffers that may be under way. */
enum { TW_FEED_JOBS = 32 };

enum tw_feed_kind {
	TW_FEED_BLOCK = 1, /* `what`: enum tw_block_kind; the block's bytes follow */
	TW_FEED_CHUNK,     /* `what`: the buffer's number; a struct tw_feed_chunk follows */
	TW_FEED_THREAD,    /* its struct tw_thread_info follows; a chunk of it may come later */
	TW_FEED_END,       /* a struct tw_feed_end follows; nothing else does */
};

struct tw_feed_message {
	uint32_t kind, what;
	uint64_t bytes; /* that follow */
};

/* The pointers of the chunk mean nothing: see tw_feed_room. */
struct tw_feed_chunk {
	struct tw_chunk chunk;
	struct tw_thread_info thread;
};

struct tw_feed_end {
	int32_t wait_status;
	uint32_t complete;
	uint64_t duration_ns, tsc_hz;
	struct tw_totals totals;
};

struct tw_feed;

/*
 * Makes the memory and the socket; the process that is then forked takes its end by tw_feed_other, the collector
 * closes that end by tw_feed_own.
 */
int tw_feed_new(struct tw_feed **out);
void tw_feed_free(struct tw_feed *f);
int tw_feed_other(struct tw_feed *f); /* the socket */
void tw_feed_own(struct tw_feed *f);

/* Points the arrays of a chunk to the memory of buffer number `job`. In both processes. */
void tw_feed_room(const struct tw_feed *f, unsigned job, struct tw_chunk *chunk);

/* ---- the collector's side ---- */

void tw_feed_block(struct tw_feed *f, uint32_t kind, const void *bytes, size_t n);
void tw_feed_thread(struct tw_feed *f, const struct tw_thread_info *thread);
void tw_feed_end(struct tw_feed *f, const struct tw_feed_end *end);

/* 0: the other process is gone, and the buffer will not come back. */
int tw_feed_chunk(struct tw_feed *f, unsigned job, const struct tw_chunk *chunk, const struct tw_thread_info *thread);

/* Waits for the next buffer that comes back. -1: none will any more. */
int tw_feed_returned(struct tw_feed *f);

/* All have come back: makes tw_feed_returned, in another thread, report that. */
void tw_feed_all_returned(struct tw_feed *f);

/* ---- the other side ---- */

/* Reads n bytes. 0: the collector is gone. */
int tw_feed_read(int fd, void *to, size_t n);

/* Gives a buffer back. From any thread. */
void tw_feed_return(int fd, uint32_t job);

#endif
