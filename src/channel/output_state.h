/*
 * The output's own state, shared by its parts: output_write (what goes to disk), output_jobs, output_told (events),
 * output_lane (the encoding threads), output_queue (the drain loop's side) and output (start and end). Not to be
 * included elsewhere.
 *
 * What must hold: the recording is written under `writing`, in its final order; everything else that several threads
 * use is under `lock`. If both are held `writing` is taken first. What is under neither belongs to the drain loop or
 * to one lane, as its comment says.
 */
#ifndef TW_OUTPUT_STATE_H
#define TW_OUTPUT_STATE_H

#include "channel/output_job.h"
#include "channel/output_options.h"

#include <pthread.h>

struct tw_encoder;
struct tw_packer;
struct tw_spool_room;

/* Buffers of a chunk, which a ring keeps or drops as a whole. */
enum { TW_RING_BUFFERS = 4 };

/*
 * Memory in which a chunk is encoded. It passes from lane to lane, so there is only as much as working lanes need,
 * and the most recently used is used again.
 */
struct tw_workplace {
	struct tw_workplace *next; /* of those that are free */
	struct tw_packer *packer;  /* NULL: nothing is stored. Has no encoder while nothing is encoded */
	struct tw_spool_room *room;
	struct tw_chunk apart; /* a buffer of the spool, taken apart */
};

/* An encoding thread. What it shares with the drain loop is under the output's lock. */
struct tw_lane {
	struct tw_output *o;
	pthread_t thread;
	pthread_cond_t fed_more; /* something to do */
	struct tw_job *first, **last;
	unsigned busy;    /* jobs in the queue, plus 1 while the thread is working */
	uint32_t begun;   /* the chunk of the last job taken from it; 0: none of the next */
	uint32_t feeding; /* the chunk that gets what comes; 0: none */
	uint32_t serial;  /* the traced thread it is of */
	unsigned fed;     /* buffers it has got */
	uint64_t since;   /* when it began */
	uint64_t used;    /* when it last got one, counted in jobs */
	int ahead;        /* started when there was nothing to do yet */
	int leaves;       /* the thread must end, and `thread` continues in its place (tw_output_hasten) */
	pthread_t before; /* the one that is to end */
	/* the encoding thread's own */
	unsigned working; /* it is counted in `busy` */
	uint32_t open;    /* the chunk being encoded; 0: none */
	uint32_t open_serial, open_sequence;
	unsigned pieces;            /* it has got */
	uint64_t descriptors;       /* that it needs */
	struct tw_job *held;        /* slots of the spool whose buffers are in it */
	int running;                /* it is one of the working ones; under the lock */
	struct tw_workplace *place; /* from the opening of the chunk until it is written; NULL: none, and the output has failed */
	int encoded;                /* what is in place->apart */
	struct tw_totals sums;      /* of the open chunk so far: insns, blocks, refs */
	uint64_t ran;               /* arrival of its last buffer in which something was executed; 0: none */
	uint64_t bytes, tags;       /* of its buffers */
};

/* Descriptors side by side in memory. */
struct tw_descriptor_piece {
	struct tw_descriptor_piece *next;
	const uint8_t *bytes;
	size_t n;
	int stays;    /* until the recording ends */
	uint64_t end; /* of the bytes described so far, up to and including these */
};

/* Chunks of one traced thread: started by the drain loop, and processed by lanes. */
struct tw_chunk_order {
	uint32_t begun, done;
	uint64_t insns, blocks, refs; /* of those done */
	uint64_t buffers, tags;       /* likewise, as far as they were encoded here */
};

/* A block to be written when everything put before it has been looked at. */
struct tw_told {
	struct tw_told *next;
	uint32_t kind;
	void *bytes;
	size_t n;
};

struct tw_output {
	struct tw_output_options options;
	pthread_mutex_t lock;
	pthread_mutex_t writing; /* the writer; taken before the lock, if both */
	pthread_cond_t freed;    /* a job is unused again */
	pthread_cond_t written;  /* a chunk is dealt with */
	struct tw_job *job;      /* n_jobs of them, most_jobs at the most */
	struct tw_job *unused;
	unsigned n_jobs, most_jobs;
	size_t job_bytes; /* of them all, most of which are never touched */
	int ending;
	_Atomic int failed, abandoned;
	/* The disk is nearly full (output_space): chunks up to this one are still written, later ones are not. */
	_Atomic int full;
	uint32_t last_kept;     /* once `full` is 1 */
	uint64_t unwritten;     /* bytes of buffers in unfinished chunks, */
	uint64_t dealt;         /* and in those that are; under the lock */
	_Atomic uint64_t taken; /* bytes of the disk that those took, including the code file */
	uint64_t spare;         /* bytes of the disk that stay free for the end of a recording; 0: the free space is not known */
	struct tw_lane lane[TW_OUTPUT_LANES];
	unsigned n_lanes, most_lanes;                /* that exist: each is started when there is work for it; and the maximum */
	struct tw_workplace *places;                 /* that are free */
	struct tw_encoder *encoder[TW_OUTPUT_LANES]; /* n_encoders that are free, the last one used last */
	unsigned n_encoders;
	struct tw_chunk_order *order; /* by serial number */
	size_t n_order;
	uint32_t last_id;
	uint64_t n_put;
	uint64_t described;                          /* bytes of descriptors so far: the drain loop's */
	struct tw_ring *ring;                        /* under `writing`; NULL: there is none */
	struct tw_descriptor_piece *pieces, *newest; /* of descriptors to be written; under the lock */
	struct tw_output_result result;
	pthread_t returns;                /* takes buffers back from the feed */
	struct tw_spool *spool;           /* the options' */
	struct tw_job *earliest, *latest; /* put to the spool, and not told of yet */
	unsigned lost;                    /* slots that could not be written */
	pthread_cond_t rests;             /* a lane is at work no more */
	unsigned n_running, most_running, processors;
	int yields;                        /* lanes that are started get a low priority; under the lock */
	int makes_way;                     /* tw_output_make_way does something */
	uint64_t put_bytes, waiting_bytes; /* of buffers in the spool */
	_Atomic uint64_t scribbled;        /* when descriptors were written the last time */
	_Atomic uint64_t all_described;    /* as `described`, for lanes */
	_Atomic uint64_t coded;            /* and those in the code file */
	int is_sharing;                    /* output_share.h; under the lock */
	int is_prepared, has_scribe;       /* tw_output_prepare; the drain loop's */
	pthread_t scribe;                  /* writes descriptors at the start */
};

#endif
