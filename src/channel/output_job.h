/*
 * A job: the contents of one buffer, on their way from the drain loop to the chunk they become part of. It is taken
 * and put (output_queue.h), and free again when that chunk is written.
 */
#ifndef TW_OUTPUT_JOB_H
#define TW_OUTPUT_JOB_H

#include "recording/recording.h"

struct tw_told;

enum { TW_CHUNK_BUFFERS = 128, TW_FIRST_BUFFERS = 8, TW_OUTPUT_LANES = 8 };

/* What a full disk, or a killed collector, may cost: half a second, with what buffers hold. */
#define TW_CHUNK_NS 250000000ull

struct tw_job {
	struct tw_chunk chunk; /* its arrays have the room that tw_demux_buffer needs; the output sets its sequence */
	struct tw_thread_info thread;
	int dead;            /* 1: the chunk is the last of a process that is known to have died, with */
	int32_t wait_status; /*   this status, as from waitpid(2) */
	/* the output's own */
	int holders;          /* a lane, and the feed */
	_Atomic int fed;      /* the feed has it */
	uint32_t id;          /* of the chunk it becomes part of */
	uint64_t put;         /* its number in the order of puts; 0: not under way */
	uint64_t descriptors; /* bytes of descriptors that must be on disk before the chunk */
	struct tw_event_sums events;
	struct tw_job *next;
	int spooled;         /* the chunk's arrays are a lane's; the job's number is its slot's */
	uint32_t slot_bytes; /* of the largest buffer that its slot has had: so much of it is on the disk */
	int unused_for_good; /* its slot cannot be written, or not without growing on a full disk */
	uint32_t bytes, slack_end;
	int is_told;          /* what it says about modules and processes is in the recording already */
	int looked;           /* its events have been looked at, and say: */
	struct tw_told *told; /* blocks, until those of earlier jobs are written */
	struct tw_job *later; /* in the order in which they were put */
};

#endif
