/*
 * What the output is to do, and its results.
 */
#ifndef TW_OUTPUT_OPTIONS_H
#define TW_OUTPUT_OPTIONS_H

#include "channel/ring.h"
#include "recording/recording.h"

struct tw_demux;
struct tw_feed;
struct tw_spool;
struct tw_writer;

struct tw_output_options {
	struct tw_writer *writer; /* NULL: nothing is stored. The caller closes it after tw_output_finish */
	struct tw_ring_size ring; /* what is kept of it until the end; 0: it is written as it comes */
	int discard;              /* 1: store modules, but no chunks and no descriptors */
	int keep_refs;            /* 1: REFS events are stored; 0: they are only for the check, and are removed */
	/* Called for every buffer's part of a chunk, with its REFS, in the order of its thread; non-zero: a mismatch. NULL: none. */
	int (*check)(void *context, const struct tw_chunk *chunk);
	void *check_context;
	struct tw_feed *feed;   /* receives everything, too; NULL: none. Owned by the caller, to be freed after tw_output_finish */
	struct tw_spool *spool; /* NULL: there is none. The caller's, to be freed after tw_output_finish */
	int grows_if_cheap;     /* 1: the spool grows to its limit only if memory for it is cheap */
	struct tw_demux *demux; /* of the buffers in it */
	int yields;             /* 1: while the program runs lanes work only when nobody else wants their processor */
};

struct tw_output_result {
	struct tw_totals totals; /* stored bytes as far as written */
	uint64_t dropped;        /* recorded instructions that a ring has dropped */
	int mismatch;
	char failure[512]; /* why recording stopped; "" if it did not */
	int said;          /* 1: the failure has been said on stderr */
	int abandoned;     /* 1: what the spool has is yet to be encoded */
};

#endif
