/*
 * What calls.c counts, and how calls_result.c computes the result from it.
 *
 * Code is counted by *piece*: blocks of one stretch that run one after another in one function, so that the call
 * stack does not change between them. A permanent stretch (analyzer.h) is a chain of pieces; each execution adds one
 * to a counter of each. Code without a permanent stretch is counted by instruction of its fragment.
 */
#ifndef TW_CALLS_COUNT_H
#define TW_CALLS_COUNT_H

#include "analyze/by_fragment.h"
#include "analyze/callstack.h"
#include "recording/slab.h"

/* Levels of a context; and in place of a level: the code runs as a stub, which is charged to its caller. */
enum { TW_CALLS_LEVELS = 2, TW_CALLS_AS_STUB = 2, TW_CALLS_COUNTERS = 3 };

/* In place of a function: not asked for yet; in place of the one on top of the stack: matches nothing. */
#define TW_CALLS_UNKNOWN (UINT32_MAX - 1)
#define TW_CALLS_NOTHING (UINT32_MAX - 2)

/* Cost of a piece: instructions, references, reads, writes, conditional and indirect branches, and two zeros. */
typedef uint16_t tw_small_cost __attribute__((vector_size(16)));

enum tw_known { TW_KNOWN_NOT, TW_KNOWN_BY_JUMP, TW_KNOWN_BY_CALL };

struct tw_piece_of_code {
	/* What each execution uses: 64 bytes, one cache line. */
	tw_small_cost cost __attribute__((aligned(64)));
	uint64_t pc;       /* of its first instruction */
	uint64_t target;   /* of its last one */
	uint32_t function; /* that it is part of; UNKNOWN */
	uint8_t end;       /* enum tw_end of its last block */
	uint8_t plain;     /* 1: it ends neither with a call nor a return nor an indirect jump */
	uint8_t lead;      /* 1: only references of the block before it; nothing is executed */
	uint8_t has_slot;
	uint8_t made;                                                      /* 0: nothing is known of the stretch yet */
	uint8_t has_next;                                                  /* `next` is not NULL */
	uint8_t known;                                                     /* enum tw_known: where the function comes from */
	uint8_t entry;                                                     /* it begins there */
	uint32_t newly_run[TW_CALLS_LEVELS], newly_taken[TW_CALLS_LEVELS]; /* since the last tw_piece_settle */
	uint8_t kind, lazy;
	/* What calls, returns, and chains of pieces use in addition: the next line. */
	uint64_t last_pc, end_pc;         /* of its last instruction, and behind that */
	uint32_t call[TW_CALLS_LEVELS];   /* by level of the caller: the call that its last instruction made last; a guess */
	struct tw_piece_of_code *next;    /* of the same stretch; NULL: the last */
	const struct tw_stretch *stretch; /* NULL: it is one block of a fragment */
	uint32_t image;
	uint32_t owner;      /* of a lead: its function */
	uint16_t last_block; /* index in the descriptor */
	uint16_t last_insn;  /* index in the fragment */
	/* What it is. */
	const struct tw_descriptor *descriptor; /* of its last block */
	uint64_t runs[TW_CALLS_COUNTERS];
	uint64_t taken[TW_CALLS_COUNTERS]; /* how often `target` came next, from where the piece ends */
	uint32_t first_block, n_blocks;    /* of the stretch */
};
_Static_assert(sizeof(struct tw_piece_of_code) / 64 % 2 == 1, "the lines that are looked at spread over all sets of a cache");

/* One more execution; one more that went to the target. For small counts: tw_counted_settle is called before the counters overflow. */
static inline void tw_piece_ran(struct tw_piece_of_code *p, uint32_t level)
{
	if (level < TW_CALLS_LEVELS)
		p->newly_run[level]++;
	else
		p->runs[level]++;
}

static inline void tw_piece_taken(struct tw_piece_of_code *p, uint32_t level)
{
	if (level < TW_CALLS_LEVELS)
		p->newly_taken[level]++;
	else
		p->taken[level]++;
}

/* Moves what is new to runs and taken. */
void tw_piece_settle(struct tw_piece_of_code *p);

/* What single executions of an instruction counted. */
struct tw_own {
	uint64_t ran, refs, reads, writes;
};

/* A fragment, for what has no stretch that stays. */
struct tw_called_fragment {
	const struct tw_descriptor *descriptor;
	struct tw_own *own[TW_CALLS_COUNTERS]; /* by instruction; NULL: none yet */
	struct tw_called_block {
		struct tw_piece_of_code piece;
		uint64_t ends[TW_CALLS_COUNTERS]; /* executions that reached the end */
	} block[];
};

struct tw_counted {
	struct tw_by_fragment fragments; /* in `slabs` */
	struct tw_slab *slabs;
	struct tw_piece_of_code **rows; /* pieces of stretches, by number; rows of TW_PIECES_ROW */
	size_t n_rows;
	struct tw_piece_of_code *retired; /* leads, with what they counted as part of other functions before */
	size_t n_retired, retired_room;
};

enum { TW_PIECES_ROW = 16384 };

/* All pieces; before any has run 2^32 times since. */
void tw_counted_settle(struct tw_counted *c);

/* Computes *out from everything counted and from the table of calls, with this many threads. 0 or TW_ERR_MEMORY. */
int tw_calls_result(struct tw_counted *c, const struct tw_call_table *table, unsigned jobs, struct tw_calls *out);
void tw_counted_free(struct tw_counted *c);

#endif
