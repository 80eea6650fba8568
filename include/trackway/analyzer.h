/*
 * Analyzers: what reads a replayed recording.
 *
 * Replay hands an analyzer batches of blocks, references and events, in the order in which a thread made them. An analyzer keeps what it
 * learns in a state of its own making. Because states merge, replay may run any number of them at once, each on a range of chunks, and join
 * them in order: an analyzer need not know whether it runs on one core or on twenty, on a recording or on a program that is still running.
 *
 * A whole analyzer, counting the bytes written:
 *
 *     static void *begin(void *arg) { return calloc(1, sizeof(uint64_t)); }
 *     static int batch(void *state, const struct tw_batch *b)
 *     {
 *             const struct tw_ref *refs = tw_batch_refs(b);
 *             for (size_t i = 0; i < b->n_refs; i++)
 *                     if (refs[i].type & TW_WRITE)
 *                             *(uint64_t *)state += refs[i].size;
 *             return 0;
 *     }
 *     static int merge(void *state, void *later) { *(uint64_t *)state += *(uint64_t *)later; free(later); return 0; }
 *     static int end(void *state, int error) { if (!error) printf("%lu\n", *(uint64_t *)state); free(state); return error; }
 *     const struct tw_analyzer bytes_written = {"bytes-written", begin, batch, merge, end};
 *
 * It is run with tw_replay() of <trackway/replay.h>.
 */
#ifndef TRACKWAY_ANALYZER_H
#define TRACKWAY_ANALYZER_H

#include <stddef.h>
#include <stdint.h>
#include <trackway/descriptor.h>
#include <trackway/event.h>

/*
 * One execution of a basic block. Its references are those from first_ref up to the first_ref of the next block (n_refs after the last one).
 * n_insns is less than the block's own number when a signal or a fault stopped it early. A record with n_insns 0 is not an execution: it
 * carries references only, of a string instruction of the block that began in an earlier batch or was interrupted between iterations.
 */
struct tw_block_run {
	uint64_t pc;                            /* of the block's first instruction */
	const struct tw_descriptor *descriptor; /* the fragment it is part of */
	uint32_t first_ref;
	uint16_t block;   /* index in tw_descriptor_blocks(descriptor) */
	uint16_t n_insns; /* instructions executed */
};

/* One memory reference. */
struct tw_ref {
	uint64_t pc; /* of the instruction */
	uint64_t addr;
	uint32_t size;    /* bytes */
	uint16_t insn;    /* index of the instruction in its fragment (not in its block) */
	uint8_t type;     /* enum tw_ref_type */
	uint8_t reserved; /* 0 */
};

/* What a reference has in common with those of the same instruction in other executions. */
struct tw_ref_shape {
	uint64_t pc; /* these as in struct tw_ref */
	uint32_t size;
	uint16_t insn;
	uint8_t type;
	uint8_t reserved;
};

/* Blocks and references that were made one after another, without the addresses. Executions of the same code share one. */
struct tw_stretch {
	const struct tw_block_run *blocks; /* those that begin here; their first_ref counts from the start of the stretch */
	const struct tw_ref_shape *refs;
	uint32_t n_blocks, n_refs;
};

/* One event. It happened before block number `block` of the batch began. */
struct tw_event {
	const void *payload; /* as <trackway/event.h> says for the type; aligned to 8 */
	uint32_t bytes;      /* of the payload; never less than the type's struct */
	uint32_t block;
	uint32_t type; /* enum tw_event_type */
	uint32_t reserved;
};

struct tw_batch_lists;

/*
 * A part of one thread's life. All it points to is valid during the call only, descriptors as long as the recording.
 *
 * Its references are addresses, side by side, and stretches, which have all the rest: reference k of a stretch belongs to address k of those that follow
 * the addresses of the stretches before it. Who wants each block and reference written out asks for tw_batch_blocks() and tw_batch_refs().
 */
struct tw_batch {
	uint32_t thread;     /* serial number of the thread */
	uint32_t sequence;   /* of the chunk */
	uint64_t first_insn; /* instructions, blocks and references of this thread before this batch */
	uint64_t first_block;
	uint64_t first_ref;
	const struct tw_stretch *const *stretches;
	size_t n_stretches;
	size_t n_blocks;      /* of all stretches */
	size_t n_continued;   /* of them: records with n_insns 0, which are no executions */
	uint64_t n_insns;     /* instructions that all blocks executed */
	const uint64_t *addr; /* of each reference */
	size_t n_refs;
	size_t n_reads, n_writes; /* of them; a modify is both */
	const struct tw_event *events;
	size_t n_events;
	int continues;                /* 1: the last block has more references, in the next batch, whose first block record stands for it */
	struct tw_batch_lists *lists; /* replay's own */
};

/* The batch's n_blocks blocks and n_refs references, one by one. The first call for a batch writes them out. */
const struct tw_block_run *tw_batch_blocks(const struct tw_batch *batch);
const struct tw_ref *tw_batch_refs(const struct tw_batch *batch);

/*
 * An analyzer. Different states may be used by different threads at once, one state only by one at a time. Functions that return int return 0
 * to go on; anything else stops replay, which then returns it (negative: enum tw_error; positive: the analyzer's own).
 */
struct tw_analyzer {
	const char *name;
	/* A fresh state, for a range of chunks. NULL: there is no memory. `arg` is tw_replay's. */
	void *(*begin)(void *arg);
	int (*batch)(void *state, const struct tw_batch *batch);
	/* Adds to `state` what `later` saw, which came right after it, and frees `later` whatever happens. */
	int (*merge)(void *state, void *later);
	/* The end of a state that is not merged into another: of the one that has seen everything (`error` 0), or of any when replay failed.
	 * Frees it. Returns what tw_replay is to return. */
	int (*end)(void *state, int error);
};

#endif
