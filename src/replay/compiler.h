/*
 * The state of a compilation, shared by its parts: compile.c (steps), compile_values.c (encoded values) and
 * compile_lanes.c. Not to be included elsewhere.
 */
#ifndef TW_COMPILER_H
#define TW_COMPILER_H

#include "replay/code_place.h"
#include "replay/state.h"

/* Machine registers that hold registers of the program; rax is for what is used at once. */
static const uint8_t tw_pool[] = {AS_RCX, AS_RDX, AS_RSI, AS_R8, AS_R9, AS_R10};
enum { TW_POOL = sizeof tw_pool / sizeof *tw_pool, TW_NOWHERE = 0xff, TW_STEP_CODE = 512 };

/* A slot of the register file: machine register pool[host] + disp, or in memory (NOWHERE). */
struct place {
	uint8_t host;
	uint8_t dirty; /* memory does not have it yet */
	int32_t disp;
};

/*
 * A value computed after a check of its prediction mode, and the jumps out of that for when the mode has changed
 * since the code was made.
 */
struct tw_inline_value {
	unsigned k;             /* its place among the fragment's values: its slot is first_slot + k */
	uint8_t reg;            /* of the slot */
	uint8_t host;           /* machine register that gets the value */
	uint8_t way;            /* that was expected */
	uint8_t open;           /* other ways are no surprise */
	uint8_t *miss, *other;  /* jumps: not as predicted; predicted in another way */
	const uint8_t *learn;   /* return point with the value: the register's last one */
	const uint8_t *learned; /* ...or with all learned */
};

/* Lanes with inline code, and the jumps out of that for other sets of active lanes. */
struct tw_lanes {
	const struct tw_step *step;
	uint8_t *many, *others;
	const uint8_t *next; /* where they come back */
};

/* A reference whose address is checked for alignment, and the jump out of that for unaligned ones. */
struct tw_watched {
	const struct tw_ref_shape *shape;
	uint8_t reg; /* its address */
	uint8_t *odd;
	const uint8_t *next; /* where that comes back */
};

/* More of one fragment are looked at in line. */
enum { TW_WATCHED = 64 };

/* More of one fragment are done by the walk. */
enum { TW_INLINE_LANES = 8 };

/* Fragments with more values have them decoded by the reader. */
enum { TW_INLINE_VALUES = TW_QUICK_VALUES };

struct compiler {
	struct as a;
	struct tw_compile_place *at;
	uint8_t *data;
	const struct tw_program *p;
	const struct tw_op *ops;
	struct place slot[TW_NREG_SLOTS];
	unsigned used[TW_POOL], clock; /* when each was used last */
	unsigned pinned;               /* bit per register of the pool: not to be reassigned now */
	struct tw_stretch *stretch;    /* this one... */
	unsigned n_refs;               /* ...of which so many references are written */
	int32_t addr_moved;            /* how many bytes CODE_ADDR has advanced since the stretch's start */
	int counted;                   /* executions are counted, not listed */
	struct tw_watched watched[TW_WATCHED];
	unsigned n_watched;
	struct tw_lanes lanes[TW_INLINE_LANES];
	unsigned n_lanes;
	/* where values are coded */
	const struct tw_value_slot *slots;
	uint32_t first_slot;
	int inlined;   /* values are computed where they are used; otherwise they are in w->record */
	uint64_t open; /* values, as in the program */
	struct tw_inline_value value[TW_INLINE_VALUES];
	unsigned n_inlined;
	uint8_t *unstarted; /* a jump, for the first execution of a chunk */
	const uint8_t *started;
};

int tw_compile_has_room(const struct compiler *c);

/* So many bytes beside the code: what stretches point to. */
void *tw_compile_data(struct compiler *c, size_t n);

/* Has the walk do a step. */
void tw_compile_helper(struct compiler *c, const struct tw_step *s);

/* reg += the base of the operation's segment, if that has one. */
void tw_compile_segment(struct compiler *c, uint8_t reg, const struct tw_op *op);

/* Where a slot of the register file is. */
static inline struct as_mem tw_slot_memory(unsigned slot)
{
	return tw_code_walk(offsetof(struct tw_walk, reg) + slot * sizeof(uint64_t));
}

/* The number of the next stretch. Batches look at how many there are while other threads make code. */
static inline uint32_t tw_compile_number(struct compiler *c)
{
	const uint32_t number = c->at->n_stretches + 1;
	__atomic_store_n(&c->at->n_stretches, number, __ATOMIC_RELAXED);
	return number;
}

/* Where value k of the execution is, unless it is computed inline. */
static inline struct as_mem tw_value_memory(const struct compiler *c, unsigned k)
{
	size_t at = k * sizeof(uint64_t);
	return c->at->values ? tw_code_walk(offsetof(struct tw_walk, record) + at) : as_at(CODE_M, (int32_t)at);
}

#endif
