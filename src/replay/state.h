/*
 * The state of a walk, shared by its parts: batch.c (delivery), ops.c (operations that are not plain), code.c
 * (machine code), walk.c (streams). Not to be included elsewhere.
 */
#ifndef TW_REPLAY_STATE_H
#define TW_REPLAY_STATE_H

#include "recording/value_reader.h"
#include "replay/counted.h"
#include "replay/kept.h"
#include "replay/program.h"
#include "replay/walk_options.h"

#include <string.h>
#include <trackway/recording.h>

/*
 * A batch is delivered at the first fragment that finds this much in it: references, blocks made step by step,
 * stretches, events. Small enough to stay in the first-level cache.
 */
enum { TW_BATCH = 1024, TW_BATCH_STRETCHES = 512, TW_BATCH_EVENTS = 512 };

/*
 * Executions in machine code end with one check, of the addresses or of the stretches: so a batch may have this many
 * stretches before the last execution.
 */
enum { TW_CODE_STRETCHES = 2 * TW_BATCH_STRETCHES };

/*
 * Room for one more fragment than that, and for what continues it: a stretch for each operation that is not plain and
 * one before it. After the contents of the batch there is always room for TW_BATCH_SPARE more addresses.
 */
enum { TW_BATCH_SPARE = 16 };
enum { TW_BATCH_ROOM = TW_BATCH + TW_PROGRAM_MAX + TW_BATCH_SPARE, TW_STRETCH_ROOM = TW_CODE_STRETCHES + 2 * TW_PROGRAM_MAX + 16 };
_Static_assert(TW_BATCH_ROOM < 1 << 14, "references of a batch are counted in 14 bits");

/* While code runs, its pointer for addresses is this far ahead of w->addr: byte displacements then reach twice as many. */
enum { TW_CODE_ADDR_AHEAD = 16 };

/* Fragments with more blocks or instructions have no machine code. */
enum { TW_CODE_BLOCKS = 63, TW_CODE_INSNS = 1000 };

/* The most blocks in a batch. */
enum { TW_BLOCK_ROOM = (TW_CODE_STRETCHES + 1) * TW_CODE_BLOCKS + TW_BATCH_ROOM };

/* What machine code adds up for a batch, all in one register, by shifts: instructions 20 bits, blocks 16, reads 14, writes 14. */
enum { TW_SUM_INSNS = 0, TW_SUM_BLOCKS = 20, TW_SUM_READS = 36, TW_SUM_WRITES = 50 };
_Static_assert((TW_CODE_STRETCHES + 1) * TW_CODE_INSNS < 1 << TW_SUM_BLOCKS, "instructions have room");
_Static_assert((TW_CODE_STRETCHES + 1) * TW_CODE_BLOCKS < 1 << (TW_SUM_READS - TW_SUM_BLOCKS), "blocks have room");

/* Blocks and references of a batch written out. */
struct tw_batch_lists {
	struct tw_kept_stretches kept; /* stands first */
	int has_blocks, has_refs;
	struct tw_block_run blocks[TW_BLOCK_ROOM];
	struct tw_ref refs[TW_BATCH_ROOM];
};

/* A fragment has fewer values. */
enum { TW_RECORD = 8192 };

struct tw_walk {
	/* What machine code uses most, where displacements of a byte reach it. */
	const uint8_t *const *code_row; /* where code of this upper half begins, by tag */
	union {
		const uint64_t *code_addr_limit; /* addr_limit, as CODE_ADDR has it */
		uint64_t code_insn_limit;        /* where executions are counted: of `sums` */
	};
	uint64_t reg[TW_NREG_SLOTS];
	struct tw_value_reader values; /* the last value of each register stands first */
	struct tw_program *const *row; /* programs of this upper half */
	const uint16_t *c, *c_end;     /* the rest of the streams; if values are encoded, *c_end is 0 */
	const uint64_t *m, *m_end;
	const uint8_t *e, *e_end;
	uint64_t *addr;                    /* next to be written, in addrs */
	const struct tw_stretch **stretch; /* ..., in stretches */
	const uint64_t *addr_limit;        /* as many addresses as a batch has */
	const struct tw_stretch *const *stretch_limit;
	uint64_t sums;                           /* of the batch so far, by machine code: TW_SUM_INSNS... */
	uint64_t insns, n_blocks, reads, writes; /* of the batch so far, by steps */
	struct tw_ref_shape *shape;              /* next to be written by steps, in shapes */
	struct tw_block_run *block;              /* ..., in blocks */
	struct tw_stretch *made;                 /* ..., in mades; not in `stretches` yet */
	struct tw_event *event;                  /* ..., in events */
	uint32_t taken;                          /* the values of the next fragment are in `record` */
	uint64_t insns_room;                     /* instructions that the chunk still has at the batch's start, by its header */
	uint64_t left;                           /* remaining executions of a loop that filled the batch in machine code */
	struct tw_counted counted;
	uint32_t upper;
	uint32_t started;     /* a keyframe has been seen */
	uint32_t has_partial; /* the next fragment stopped early, see partial */
	int stopped;          /* what batch() returned, if not 0 */
	uint32_t repeated;    /* block records of this batch that are no executions */
	struct tw_partial partial;
	uint64_t first_insn, first_block, first_ref; /* of the thread, before this batch */
	const struct tw_chunk *chunk;
	struct tw_walk_options options;
	/*
	 * The value of a slot of the fragment whose tag was taken last, in another mode than its code was made for: called
	 * every 256th time, so that the code is remade. `values.run` is as for tw_value_reader_hit.
	 */
	uint64_t (*other_way)(struct tw_walk *w, uint32_t slot);
	uint64_t addrs[TW_BATCH_ROOM];
	const struct tw_stretch *stretches[TW_STRETCH_ROOM];
	struct tw_ref_shape shapes[TW_BATCH_ROOM];
	struct tw_block_run blocks[TW_BATCH_ROOM];
	struct tw_stretch mades[TW_STRETCH_ROOM];
	struct tw_event events[TW_BATCH_EVENTS];
	struct tw_batch_lists lists;
	/* For each kind of literal: bytes, the significant bits, and the highest of these. 0 for modes that are none. */
	uint64_t literal_bytes[TW_LITERAL + TW_LITERAL_KINDS];
	uint64_t literal_mask[TW_LITERAL + TW_LITERAL_KINDS];
	uint64_t literal_sign[TW_LITERAL + TW_LITERAL_KINDS];
	/*
	 * By modes and kinds of literal, all ones if true: the value is a difference to the register's last one; the
	 * difference is the slot's step; it is the successor; it is no literal.
	 */
	uint64_t to_register[TW_LITERAL + TW_LITERAL_KINDS], is_step[TW_LITERAL + TW_LITERAL_KINDS],
	    is_successor[TW_LITERAL + TW_LITERAL_KINDS], is_way[TW_LITERAL + TW_LITERAL_KINDS];
	/* By codes: the mode or kind of literal, and all ones if it becomes the slot's mode. */
	uint64_t kind_of_code[TW_NCODES], is_lasting[TW_NCODES];
	int coded;                   /* values are in `values`, not at m */
	uint64_t record[TW_RECORD];  /* values of one execution, decoded */
	struct tw_value_slot slot[]; /* of `values` */
};

/* Sets the detail text of an error in the streams: where, what, and a number; returns `error`. */
int tw_walk_damaged(const struct tw_walk *w, int error, const char *what, unsigned long long number);

/* Decodes the n values of the next execution into w->record. */
int tw_walk_take(struct tw_walk *w, uint32_t number, uint32_t n);

/* ---- batch.c ---- */

void tw_batch_start(struct tw_walk *w);

/* Gives the batch away, unless it is empty, and starts another. Returns what batch() returned. */
int tw_batch_flush(struct tw_walk *w);

/* The same at a chunk's end. */
int tw_batch_flush_last(struct tw_walk *w);

/* Where a chunk begins. */
void tw_counted_begin(struct tw_walk *w);

/* Instructions that code may execute if they are counted: up to the point where one more fragment might cross the period's end. */
uint64_t tw_counted_room(const struct tw_walk *w);

/* Ends the stretch made by steps, if there is one. Before machine code continues. */
void tw_batch_close(struct tw_walk *w);

/*
 * If executions are counted: n more instructions are about to be executed by steps, or one by one. If a period ends
 * among them, delivers what was counted before.
 */
int tw_batch_before(struct tw_walk *w, uint64_t n);

/* Blocks and instructions of the batch so far. If executions are counted `sums` is instructions alone, and not all blocks are known. */
static inline uint64_t tw_batch_n_blocks(const struct tw_walk *w)
{
	return w->n_blocks + (w->counted.is_on ? 0 : w->sums >> TW_SUM_BLOCKS & ((1u << (TW_SUM_READS - TW_SUM_BLOCKS)) - 1));
}

static inline uint64_t tw_batch_n_insns(const struct tw_walk *w)
{
	return w->insns + (w->counted.is_on ? w->sums : w->sums & ((1u << TW_SUM_BLOCKS) - 1));
}

static inline size_t tw_batch_n_refs(const struct tw_walk *w)
{
	return (size_t)(w->addr - w->addrs);
}

/* Delivers the batch if it is full, in the middle of the newest block: the next one starts with a record that continues it. */
int tw_batch_flush_within(struct tw_walk *w);

/* Block number `k` of fragment `d` starts and executes n_insns instructions. */
void tw_batch_block(struct tw_walk *w, const struct tw_descriptor *d, unsigned k, unsigned n_insns);

/* n references of this type have been made by steps. */
static inline void tw_batch_count(struct tw_walk *w, uint8_t type, uint64_t n)
{
	w->reads += type & TW_READ ? n : 0;
	w->writes += type & TW_WRITE ? n : 0;
}

/* `shape`: size, insn and type, as struct tw_ref_shape has them. */
static inline struct tw_ref_shape tw_batch_shape(uint64_t pc, uint64_t shape)
{
	struct tw_ref_shape s = {.pc = pc};
	memcpy(&s.size, &shape, sizeof shape);
	return s;
}

static inline void tw_batch_ref(struct tw_walk *w, uint64_t pc, uint64_t addr, uint64_t shape)
{
	struct tw_ref_shape s = tw_batch_shape(pc, shape);
	*w->addr++ = addr;
	*w->shape++ = s;
	w->made->n_refs++;
	tw_batch_count(w, s.type, 1);
}

/* ---- ops.c ---- */

/* A step of kind TW_STEP_OTHER. `values` is this execution's record in the M stream. */
int tw_walk_other(struct tw_walk *w, const struct tw_program *p, const struct tw_step *s, const uint64_t *values);

/* The same for machine code: what it makes is a stretch of its own. */
int tw_walk_help(struct tw_walk *w, const struct tw_program *p, const struct tw_step *s, const uint64_t *values);

/* Iterations of a repeated string instruction that brought its counting register from `before` to `after`. */
int tw_walk_rep(struct tw_walk *w, const struct tw_op *op, const struct tw_step *s, uint64_t before, uint64_t after);

#endif
