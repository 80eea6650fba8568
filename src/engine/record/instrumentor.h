/*
 * Instrumentors: what a fragment records. One file each; the engine calls them through this table and knows nothing
 * else of them.
 *
 * For each block the engine calls plan() once, then emits code in this order: entry()'s; if there is a record, the
 * fragment's number; for each instruction the plan's stores before it, the instruction, the stores after it (not for
 * the last one if it transfers control); the exits. Inserted code leaves the flags alone and uses no register but the
 * buffer pointer's (emit->buf) and what it saves itself.
 */
#ifndef TW_INSTRUMENTOR_H
#define TW_INSTRUMENTOR_H

#include "engine/record/recorded.h"
#include "engine/record/room.h"
#include "engine/x86_64/decode.h"
#include "engine/x86_64/emit.h"

/* One value to store in the record. */
struct store {
	u8 insn;
	bool after; /* after the instruction instead of before */
	u8 what;    /* enum vec_kind: VEC_NONE: general register; STORE_XCOMP: the quadword at [ea + 520]; STORE_ADDRESS: ea;
	               STORE_TESTED: general register, if its status says so */
	u8 reg;
	u16 slot; /* first 8-byte slot after the tag; conditionally stored values move what follows them */
	u16 op;   /* STORE_XCOMP, STORE_ADDRESS: index of the block's memop */
};
enum { STORE_XCOMP = 100, STORE_ADDRESS, STORE_TESTED };

/* What plan() decides for a block. */
struct plan {
	u16 n_ops, n_stores, n_values;
	u8 flags; /* enum tw_descriptor_flags */
	struct tw_op op[BLOCK_MAX_OPS * 3];
	struct store store[BLOCK_MAX_OPS * 3];
	struct {
		u32 context;         /* of what runs when the fragment is left after this instruction */
		u16 n_ops, n_values; /* planned so far */
		u16 n_placed;        /* values that are stored whatever the status */
		struct statuses statuses;
	} after[BLOCK_MAX_INSNS];
};

struct instrumentor {
	const char *name;
	u8 format;        /* enum tw_format */
	bool records;     /* has a buffer, with its pointer in r11 */
	bool logs;        /* logs references by clean calls, as --verify does in addition to others */
	bool superblocks; /* its fragments may be of several blocks; only if it records */
	u32 context;      /* where nothing more is known */
	void (*plan)(const struct block *b, u32 context, struct plan *p); /* NULL: no values, nothing for replay to do */
	void (*entry)(struct emit *e, const struct block *b);             /* NULL: nothing of its own at entry */
};

/* The form of what is being recorded: plain if nothing is. */
static inline enum tw_form tw_form_now(void)
{
	return tw_form_of(tw_instr()->format);
}

static inline bool tw_tags_used(void)
{
	return tw_form_now() == TW_FORM_TAGGED;
}

/* Is the program in a process of format cf_bit? */
static inline bool tw_bits_recorded(void)
{
	return tw_form_of(tw_recorder.whole->format) == TW_FORM_BITS;
}

/* ... and are blocks being recorded (not outside a window)? */
static inline bool tw_bits_used(void)
{
	return tw_form_now() == TW_FORM_BITS;
}

/* A walk that reaches f's address does not imply f: it must be announced. */
static inline bool tw_bits_announced(const struct tw_recorded *f)
{
	return f->announced && tw_bits_used();
}

/* Are references logged by clean calls? */
static inline bool tw_logs(void)
{
	return tw_instr()->logs || (tw_recorder.verify && tw_instr()->records);
}

/*
 * Fragments that record nothing have contexts of their own, and the upper half of a number that no fragment with a
 * descriptor has. So they share neither links nor lookups with fragments that record (engine/record/window.h).
 */
enum { NONE_CONTEXT = 1 << 16, COUNT_CONTEXT = 1 << 17, UNRECORDED_NUMBER = (TW_FIRST_CLAIMED - 1) << 16 };

/* By format number of the channel. */
extern const struct instrumentor tw_instrument_none, tw_instrument_count, tw_instrument_dep, tw_instrument_call, tw_instrument_dep_c,
    tw_instrument_bb_pc, tw_instrument_mem_addr, tw_instrument_bb_pc_mem_addr, tw_instrument_dep06, tw_instrument_dep06_c,
    tw_instrument_cf_bit, tw_instrument_dep_s;
const struct instrumentor *tw_instrument_find(u32 format);

#endif
