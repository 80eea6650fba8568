/*
 * Blocks across batches. A string instruction may make more references than a batch holds: its block's record is then
 * continued by another at the start of the next batch. Code that goes through instructions one by one wants the next
 * ones only when all references have arrived.
 */
#ifndef TW_PIECE_H
#define TW_PIECE_H

#include <trackway/analyzer.h>

/* Instructions of a fragment that ran one after another. */
struct tw_piece {
	unsigned first, end; /* indices in the fragment */
	uint64_t position;   /* of the first, in the thread */
};

/* What is kept from one batch of a thread for the next; all zeros at the start. */
struct tw_pieces {
	struct tw_piece rest; /* of a block whose references go on... */
	int has_rest;         /* ...if there is one */
};

/*
 * What block record i of the batch stands for; its instructions start at `position`. Must be called in order, and for
 * each record that continues another or is continued.
 */
struct tw_piece tw_piece_of(struct tw_pieces *p, const struct tw_batch *b, size_t i, uint64_t position);

#endif
