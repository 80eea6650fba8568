/*
 * Permanent stretches (struct tw_stretch), divided for `races` into pieces: consecutive blocks of one fragment and
 * one owner's code, of which only the last may call or return. What all their executions have in common is determined
 * once.
 */
#ifndef TW_RACE_PIECES_H
#define TW_RACE_PIECES_H

#include "analyzers/atomics.h"
#include "analyzers/race_lines.h"
#include "analyzers/runtime_code.h"

/* 32 bytes: two on a line of the processor's. */
struct tw_race_piece {
	uint32_t shapes;            /* of its references: where they begin in struct tw_race_pieces */
	uint32_t first_ref, n_refs; /* in the stretch */
	uint32_t first, n_blocks;   /* likewise */
	uint32_t last_refs;         /* references of its last block */
	/*
	 * Code of the program, the C library or the OpenMP library alone, executed whole; if the program's, its accesses, as
	 * far as they are checked, are not known to be atomic.
	 */
	uint8_t simple;
	uint8_t owner;   /* enum tw_code_owner */
	uint8_t leaves;  /* its last block calls or returns */
	uint8_t end;     /* enum tw_end of its last block */
	uint8_t is_last; /* of its stretch */
};

/* What is known of a stretch. */
struct tw_race_divided {
	uint32_t first; /* its first piece, and 1; 0: it has not been divided */
	uint16_t runs;  /* before that */
	/*
	 * If it is a single piece, simple, and neither calls nor returns: its owner, and 1; otherwise 0. Then what else is
	 * needed if nothing happens in it.
	 */
	uint8_t quick;
	uint8_t n_blocks;
	uint32_t shapes, n_refs;
};

/* All zeros: no stretch is known. */
struct tw_race_pieces {
	struct tw_race_divided *of; /* by number of the stretch */
	struct tw_race_piece *items;
	struct tw_race_shape *shapes;
	size_t of_room, n, room, n_shapes, shapes_room;
};

/* Who executes the stretch, and what is known of code. */
struct tw_race_code {
	struct tw_runtime_code *runtime;
	struct tw_atomics *atomics;
	uint32_t thread, image;
};

/*
 * The first piece of a permanent stretch, valid until the next call; the others follow it. NULL: take it block by
 * block. `addr`: of its references.
 */
const struct tw_race_piece *tw_race_pieces_make(struct tw_race_pieces *p, const struct tw_race_code *code, const struct tw_stretch *st,
                                                const uint64_t *addr);

/* The same of one that has been divided. */
static inline const struct tw_race_piece *tw_race_pieces_have(const struct tw_race_pieces *p, const struct tw_stretch *st)
{
	return st->number < p->of_room && p->of[st->number].first ? &p->items[p->of[st->number].first - 1] : NULL;
}

/* What is known of any stretch; NULL: nothing yet. */
static inline const struct tw_race_divided *tw_race_pieces_of(const struct tw_race_pieces *p, const struct tw_stretch *st)
{
	return st->number < p->of_room ? &p->of[st->number] : NULL;
}

void tw_race_pieces_free(struct tw_race_pieces *p);

#endif
