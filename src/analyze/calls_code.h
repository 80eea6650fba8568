/*
 * Code met while following calls: the pieces of stretches and fragments (calls_count.h), and the functions that
 * contain them.
 */
#ifndef TW_CALLS_CODE_H
#define TW_CALLS_CODE_H

#include "analyze/calls_count.h"
#include "analyze/calls_log.h"

struct tw_calls_code {
	const struct tw_calls_options *options;
	struct tw_shapes *shapes;
	struct tw_counted counted;
	uint32_t image; /* that the code runs in which is new */
};

static inline int tw_ends_with_call(uint8_t end)
{
	return end == TW_END_CALL || end == TW_END_ICALL;
}

/* Asks for the function of a piece, and again if it turns out to be called: place() learns from that. 0 or an error. */
int tw_calls_place(struct tw_calls_code *code, struct tw_piece_of_code *p, int called);

/* From now on a lead belongs to another function: what it has counted stays with the previous one. 0 or TW_ERR_MEMORY. */
int tw_calls_retire(struct tw_calls_code *code, struct tw_piece_of_code *lead, uint32_t owner);

/* The data of a fragment, made if needed; and the counts of its instructions at a level. NULL: no memory. */
struct tw_called_fragment *tw_calls_fragment(struct tw_calls_code *code, const struct tw_descriptor *d);
struct tw_own *tw_calls_own(struct tw_calls_code *code, const struct tw_descriptor *d, uint32_t level);

/* The first piece of a stretch; not `made` the first time. NULL: no memory. */
struct tw_piece_of_code *tw_calls_new_piece(struct tw_calls_code *code, uint32_t number);
static inline struct tw_piece_of_code *tw_calls_piece(struct tw_calls_code *code, uint32_t number)
{
	const struct tw_counted *c = &code->counted;
	struct tw_piece_of_code *row = number / TW_PIECES_ROW < c->n_rows ? c->rows[number / TW_PIECES_ROW] : NULL;
	return row ? &row[number % TW_PIECES_ROW] : tw_calls_new_piece(code, number);
}

/*
 * Divides a stretch into pieces, starting with `first`. `called_there`: a call leads to it this time; `newest`: the
 * piece that ran last, to which references before the first block belong. 0 or an error.
 */
int tw_calls_divide(struct tw_calls_code *code, struct tw_piece_of_code *first, uint32_t number, int called_there,
                    const struct tw_piece_of_code *newest);

#endif
