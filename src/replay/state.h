/*
 * The state of a walk, shared by the parts of the walk: batch.c (what is given away), ops.c (operations that are not plain), walk.c (streams).
 * No one else includes this.
 */
#ifndef TW_REPLAY_STATE_H
#define TW_REPLAY_STATE_H

#include "recording/value_reader.h"
#include "replay/walk.h"

#include <string.h>

/* A batch is given away at the first fragment that finds so much in it. Small enough to stay in the first-level cache, or near it. */
enum { TW_BATCH = 1024, TW_BATCH_EVENTS = 512 };

/* Room for one fragment more than that, and for what continues it. */
enum { TW_BATCH_ROOM = TW_BATCH + TW_PROGRAM_MAX + 16 };
_Static_assert(TW_BATCH_ROOM < 1 << 16, "reads of a batch are counted in 16 bits");

/* A fragment has fewer values. */
enum { TW_RECORD = 8192 };

struct tw_walk {
	uint64_t reg[TW_NREG_SLOTS];
	struct tw_program *const *row; /* programs of this upper half */
	const uint16_t *c, *c_end;     /* what is left of the streams */
	const uint64_t *m, *m_end;
	const uint8_t *e, *e_end;
	struct tw_ref *ref;                     /* next to be written, in refs */
	struct tw_block_run *block;             /* ..., in blocks */
	struct tw_event *event;                 /* ..., in events */
	const struct tw_block_run *block_limit; /* as many blocks as a batch has */
	uint64_t insns;                         /* of the batch so far */
	uint32_t kinds;                         /* reads of the batch, and from bit 16 on writes */
	uint32_t taken;                         /* the values of the next fragment are in `record` */
	uint64_t insns_room;                    /* instructions the chunk still has at the batch's start, by its header */
	uint64_t left;                          /* executions that are left of a loop which filled the batch in machine code */
	uint32_t upper;
	uint32_t started;     /* a keyframe has been seen */
	uint32_t has_partial; /* the next fragment stopped early, see partial */
	int stopped;          /* what batch() returned, if not 0 */
	uint32_t repeated;    /* block records of this batch that are no executions */
	struct tw_partial partial;
	uint64_t first_insn, first_block, first_ref; /* of the thread, before this batch */
	const struct tw_chunk *chunk;
	struct tw_walk_options options;
	struct tw_ref refs[TW_BATCH_ROOM];
	struct tw_block_run blocks[TW_BATCH_ROOM];
	struct tw_event events[TW_BATCH_EVENTS];
	int coded;                  /* values are in `values`, not at m */
	uint64_t record[TW_RECORD]; /* values of one execution, decoded */
	struct tw_value_reader values;
};

/* Sets the detail text of an error in the streams: where, what, and a number; returns `error`. */
int tw_walk_damaged(const struct tw_walk *w, int error, const char *what, unsigned long long number);

/* ---- batch.c ---- */

void tw_batch_start(struct tw_walk *w);

/* Gives the batch away, unless it is empty, and starts another. Returns what batch() returned. */
int tw_batch_flush(struct tw_walk *w);

/* Gives the batch away if it is full, in the middle of the newest block: the next one begins with a record that continues it. */
int tw_batch_flush_within(struct tw_walk *w);

/* Block number `k` of fragment `d` begins and executes n_insns instructions. */
void tw_batch_block(struct tw_walk *w, const struct tw_descriptor *d, unsigned k, unsigned n_insns);

/* What references of a type count, as `kinds` has it. */
static inline uint32_t tw_kinds(unsigned type)
{
	return (type & TW_READ ? 1u : 0) + (type & TW_WRITE ? 1u << 16 : 0);
}

static inline void tw_batch_ref(struct tw_walk *w, uint64_t pc, uint64_t addr, uint64_t shape)
{
	w->ref->pc = pc;
	w->ref->addr = addr;
	memcpy(&w->ref->size, &shape, sizeof shape);
	w->kinds += tw_kinds(w->ref->type);
	w->ref++;
}

/* ---- walk.c ---- */

/* Decodes the n values of the next execution into w->record. */
int tw_walk_take(struct tw_walk *w, uint32_t number, uint32_t n);

/* ---- ops.c ---- */

/* A step of kind TW_STEP_OTHER. `values` is this execution's record in the M stream. */
int tw_walk_other(struct tw_walk *w, const struct tw_program *p, const struct tw_step *s, const uint64_t *values);

/* Iterations of a repeated string instruction that brought its counting register from `before` to `after`. */
int tw_walk_rep(struct tw_walk *w, const struct tw_op *op, const struct tw_step *s, uint64_t before, uint64_t after);

#endif
