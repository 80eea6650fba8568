/*
 * The demultiplexer's own state, shared by its sources: the table of fragments (demux_table), the walk through one
 * buffer (demux_walk, demux_sums, demux_stop), and its users (demux_buffer, demux_encode, demux_count, demux_torn).
 * Not to be included elsewhere.
 */
#ifndef TW_DEMUX_STATE_H
#define TW_DEMUX_STATE_H

#include "base/numbered.h"
#include "channel/demux.h"

/* What the hot loop needs of one fragment. Pairs of sums share a word: a chunk's sums stay below 2^32 (tw_descriptor_valid). */
struct tw_demux_entry {
	uint64_t insns_blocks; /* insns, blocks << 32 */
	uint64_t refs_reads;
	uint32_t writes;
	uint16_t n_values;
	uint8_t head; /* bytes of the record before the values */
	uint8_t known;
	uint8_t plain;   /* known, and every execution counts the same */
	uint8_t is_loop; /* likewise, but the record stands for as many executions as its first value says */
	uint8_t ran;     /* in a buffer that was not only counted */
	const struct tw_descriptor *descriptor;
};

/*
 * For counting without keeping: the length of a plain fragment's record (0: not plain), and how often it has run
 * since the last tally. Small, because large programs have several hundred thousand fragments, and all of them run:
 * sums that become too large are moved to the tally. Numbers that follow one another in a loop would wait for each
 * other's sums, so neighbours have different sums.
 */
enum { SUMS = 3, SUM_FULL = 0x8000 };
enum { NUMBER_BYTES = 2 }; /* of a record that is nothing but its number */
struct tw_demux_counter {
	uint16_t record;
	uint16_t ran[SUMS];
};

struct tw_demux {
	int count_refs;
	struct tw_numbered entries;          /* struct tw_demux_entry */
	struct tw_numbered counters;         /* struct tw_demux_counter; a row is made at the first count in it */
	struct tw_demux_code *code;          /* of plain fragments; NULL: none can be made */
	const struct tw_demux_entry *no_row; /* no entry is known: for an upper half without any fragment */
	struct tw_totals tally;
	uint32_t n_tags[TW_NUMBERED_ROW]; /* of each upper half: one more than the highest described lower half */
};

/* Walks one buffer. A record is read from `p`; `end` is where the part (data or slack) ends. */
struct tw_demux_walk {
	const struct tw_demux *demux;
	const struct tw_demux_input *in;
	const uint8_t *p, *end;
	const struct tw_demux_entry *row;
	uint32_t upper;
	uint16_t *c;
	uint64_t *m;
	uint8_t *e;
	uint64_t insns_blocks, refs_reads, writes;
	uint64_t insns, blocks; /* of loops */
	uint64_t refs, reads;   /* of loops, and of dynamic operations */
	int has_partial;
	struct tw_partial partial;
	struct tw_chunk *chunk;
	size_t encoded;             /* tags that were in c, and have been encoded */
	uint64_t time;              /* of the last event that has one */
	struct tw_demux_stop *stop; /* check each record: recording stops in this buffer, or has stopped before; otherwise NULL */
};

static inline const struct tw_demux_entry *tw_demux_row(const struct tw_demux *d, uint32_t upper)
{
	const struct tw_demux_entry *row = tw_numbered_row(&d->entries, upper);
	return row ? row : d->no_row;
}

/* By any number of threads. The entry is of a fragment that is known. */
static inline void tw_demux_note_ran(const struct tw_demux_entry *e)
{
	if (!__atomic_load_n(&e->ran, __ATOMIC_RELAXED))
		__atomic_store_n((uint8_t *)(uintptr_t)&e->ran, 1, __ATOMIC_RELAXED);
}

static inline uint64_t tw_demux_insns(const struct tw_demux_walk *w)
{
	return (uint32_t)w->insns_blocks + w->insns;
}

static inline void tw_demux_set_upper(struct tw_demux_walk *w, uint32_t upper)
{
	w->upper = upper;
	w->row = tw_demux_row(w->demux, upper);
}

#endif
