/*
 * What a thread has run, read from the records in its own buffer: as records, or block by block, also within
 * superblocks.
 *
 * Any thread reads here without the lock: the fields of fragments that are read do not change once their number is
 * known.
 */
#ifndef TW_RECORDS_H
#define TW_RECORDS_H

#include "engine/code/fragment.h"

/* Data, all of it accessible, from the start of a record. */
struct tw_reader {
	const u8 *p, *end;
	u32 upper;   /* upper half in force */
	u16 updated; /* tagged form: registers whose status is UPDATED */
};

/* One execution of a fragment, by one of its ways out. */
struct tw_record {
	struct fragment *f; /* NULL: something else */
	u8 path;
	u64 turns; /* of a loop's record: how often the path was taken */
};

/* The next record; f is NULL: it is not a fragment's. False: there is nothing more to read. */
bool tw_record_next(struct tw_reader *r, struct tw_record *out);

/* The side exit it left by; NULL: it ran to the end of the path. */
const struct side_exit *tw_record_side(const struct tw_record *r);

/* How the last block that ran ends: enum tw_end. */
u8 tw_record_end(const struct tw_record *r);

/* Is it the record of a loop, which precedes that of its last iteration? */
static inline bool tw_record_is_loop(const struct tw_record *r)
{
	return r->path > r->f->rec.n_sides;
}

/* Is it known where code continues after such an end? enum tw_end */
static inline bool tw_end_is_direct(u8 end)
{
	return end == TW_END_FALL || end == TW_END_JUMP || end == TW_END_COND || end == TW_END_CALL;
}

/* Blocks as they ran. */
struct tw_blocks {
	struct tw_reader r;
	struct tw_record now; /* that the last block was in */
	u32 k, n;             /* its first n blocks ran, and k have been read */
};

/* Starts with the blocks of `first`; r is positioned after that. */
struct tw_blocks tw_blocks_from(const struct tw_record *first, const struct tw_reader *r);

/* NULL: there is nothing more to read, or what follows is not a fragment's record. */
const struct piece *tw_blocks_next(struct tw_blocks *b);

#endif
