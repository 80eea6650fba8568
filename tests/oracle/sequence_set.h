/*
 * A set of random sequences in batches, with the data they run on: made from a seed, kept in a file, or made batch by batch.
 *
 * Code and slots have the same addresses in each process: below 2 GB in this program, which is not position-independent, or, where `high`, far
 * above. The sequences of a batch have a slot each, which those of the next batch use again.
 */
#ifndef SEQUENCE_SET_H
#define SEQUENCE_SET_H

#include "sequence.h"
#include <stdbool.h>

enum {
	MAX_SEQUENCES = 1 << 16,
	MAX_BATCH = 256,
	MAX_CELLS = 1 << 20,
	CODE_BYTES = 64 << 20,
	TRAP_BYTES = 1 << 16,
	RANDOMS = 1024,
	VECTOR_SETS = 8,
	MAX_BATCHES = MAX_SEQUENCES / 16,
};

struct sequence_batch {
	uint32_t first, n; /* its sequences */
};

struct sequence_set {
	uint64_t seed;
	bool high, modifies;
	uint32_t n_batches, n_sequences, n_cells, code_bytes; /* in use */
	uint64_t random[RANDOMS];
	uint64_t vectors[VECTOR_SETS][16][4];
	struct sequence_batch batch[MAX_BATCHES];
	uint8_t *code;               /* CODE_BYTES, page-aligned */
	uint8_t (*slot)[SLOT_BYTES]; /* MAX_BATCH; page-aligned */
	uint8_t *trap;               /* TRAP_BYTES that cannot be accessed, with a page before them that can */
	struct sequence *sequence;   /* MAX_SEQUENCES */
	uint64_t *cell;              /* MAX_CELLS: what the sequences have in their cells from CELL_FIRST on, one after another */
};

static inline uint64_t mix(uint64_t h, uint64_t v)
{
	h = (h ^ v) * 0x9e3779b97f4a7c15ull;
	return h ^ h >> 29;
}

/* Once: where things are, code writable. Exits where that cannot be. */
void sequence_set_place(struct sequence_set *s, bool high, bool modifies);

/* Code can be written, or executed (and written too where it modifies itself). */
void sequence_set_writable(const struct sequence_set *s, bool writable);

/* Drops all sequences. */
void sequence_set_clear(struct sequence_set *s);

/* Adds batch `number` of the seed, of n sequences. False: there is no room for more. Code must be writable. */
bool sequence_set_add(struct sequence_set *s, uint32_t number, uint32_t n);

/* Clears the slots that the batch uses, and the page before the trap, and fills its cells. */
void sequence_set_prepare(const struct sequence_set *s, uint32_t batch);

/* To a file, and from it (which places it). Exit where that fails. */
void sequence_set_save(const struct sequence_set *s, const char *name);
void sequence_set_load(struct sequence_set *s, const char *name);

#endif
