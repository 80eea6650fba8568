/*
 * The part of a fragment that its record is about: its program code, its numbers, the bytes that one execution
 * writes, and its exits. The code room finds and links fragments.
 */
#ifndef TW_RECORDED_H
#define TW_RECORDED_H

#include "engine/record/room.h"
#include "engine/x86_64/state.h"

/* A register's value stored after an instruction. */
struct after_store {
	u8 insn, reg;
	u16 slot;
};

/* A run of instructions that are adjacent in the application, except for inserted code that is left out. */
struct piece {
	u64 pc;
	u32 bytes;
	u16 first_insn;
	u16 record_bytes; /* tagged form: of its own record, as in struct tw_recorded */
	int16_t values;   /* ... offset of the fragment's value slots from the start of that */
	u8 end;           /* enum tw_end, of its last instruction */
	u8 lead;          /* inserted bytes before its first instruction, which are left out (code/inserted.h) */
};

/* Format dep06: registers whose status is to be stored at the exits, as masks. */
struct statuses {
	u16 recorded, updated;
};

/* An exit of a superblock before its end (code/exits.h): its paths 1, 2..., with the numbers after its own. */
struct side_exit {
	u64 pc;      /* where it leads, if a branch */
	u32 context; /* of what runs then */
	u16 record_bytes;
	u16 n_insns; /* instructions that have run */
	u8 end;      /* enum tw_end */
	u16 upper;   /* tagged form: upper half that is in force then */
	struct statuses statuses;
};

struct tw_recorded {
	u64 pc;
	struct state_map map;
	struct piece *piece;
	u32 context; /* at entry */
	u16 n_insns;
	u16 upper_in;  /* upper half that must be current on entry, unless any_upper */
	u16 upper_out; /* ... and is when it is left */
	u8 end;        /* enum tw_end, of its last block */
	u8 order;      /* enum tw_stamp_kind: it is one instruction, between two time stamps (stamp.h); else 0 */
	u8 n_pieces;
	u8 n_sides;
	bool any_upper : 1;
	bool announced : 1; /* TW_DESC_ANNOUNCED: in cf_bit no exit is linked to it */
	bool ticks : 1;     /* TW_DESC_TICK */

	/* From here on only if something is recorded (tw_recorder.whole). */
	u8 head;          /* bytes of its record before the values */
	u16 record_bytes; /* tag and values; tagged form: without conditionally stored ones, which move the buffer pointer themselves */
	u16 n_after;
	u32 number;
	u32 tag;                  /* other forms than the plain one: its tag */
	u32 tally;                /* entry that counts path 0, followed by those of the others (tally.h); 0: there is none */
	struct statuses statuses; /* where it is left at its end */
	const struct tw_descriptor *descriptor;
	struct side_exit *side;
	struct after_store *after;
};

/* Can it be entered with this current upper half? */
static inline bool tw_upper_fits(const struct tw_recorded *r, u32 upper)
{
	return r->any_upper || r->upper_in == upper;
}

/* The piece that contains instruction `insn`; the one after the last counts towards the last piece. */
static inline const struct piece *tw_piece_of(const struct tw_recorded *r, u32 insn)
{
	const struct piece *p = r->piece;
	while (p + 1 < r->piece + r->n_pieces && p[1].first_insn <= insn)
		p++;
	return p;
}

/*
 * Number of paths of a fragment: path 0, to its end; its side exits; for a loop one more, for the record that holds
 * how often path 0 was taken.
 */
static inline u32 tw_path_count(const struct tw_recorded *r)
{
	return 1u + r->n_sides + (r->map.c_reg != TW_NOREG);
}

#define LOOP_RECORD_BYTES 10 /* number and count */

/* Bytes of the record of a path. */
static inline u16 tw_path_bytes(const struct tw_recorded *r, u8 path)
{
	if (path > r->n_sides)
		return LOOP_RECORD_BYTES;
	return path ? r->side[path - 1].record_bytes : r->record_bytes;
}

#endif
