/*
 * Memory for machine code that the tool generates, and the table of each fragment's code.
 *
 * One thread at a time adds and forgets; any number may run code and look in the table meanwhile. Code is never
 * changed or moved. Pages that nobody writes take no memory.
 */
#ifndef TW_JIT_AREA_H
#define TW_JIT_AREA_H

#include "base/numbered.h"

#include <stddef.h>
#include <stdint.h>

struct as;

struct tw_code_area {
	struct tw_numbered entries; /* const uint8_t *, the executable code of a fragment; NULL: none */
	size_t bytes;
	uint8_t *written; /* the area, to be written */
	uint8_t *run;     /* the same memory, to be run */
	size_t huge;      /* bytes of code that have been put into huge pages */
	const uint8_t *upper;
};

/* How often fragments without code have run, approximately; by any number of threads at a time. All zeros initially. */
struct tw_code_counts {
	_Atomic uint8_t *row[TW_NUMBERED_ROW]; /* by upper half; made when it is first wanted */
	_Atomic uint32_t n_rows;               /* that there are... */
	uint16_t upper[TW_NUMBERED_ROW];       /* ...of these upper halves */
};

/* The fragment has run once more. 1: it has now run often enough for code of its own; returned once. */
int tw_code_ran(struct tw_code_counts *c, uint32_t number);

void tw_code_counts_fini(struct tw_code_counts *c);

/* Returns 0, or -1 if no executable memory can be had; then nothing must be freed. */
int tw_code_area_init(struct tw_code_area *a, size_t bytes);
void tw_code_area_fini(struct tw_code_area *a);

/*
 * A part of the area has been written up to `end`; the area is in huge pages up to *huge, from the start of the part
 * on. Moves the rest into huge pages, once there is enough: other threads may run and read it meanwhile. A page that
 * has no memory yet cannot be requested.
 */
void tw_code_area_grew(const struct tw_code_area *a, size_t *huge, const void *end);

/* Where code that is written here is run. */
static inline const uint8_t *tw_code_runnable(const struct tw_code_area *a, const uint8_t *written)
{
	return a->run + (written - a->written);
}

/* The code of TW_TAG_UPPER, as written: before any fragment's is added. */
void tw_code_area_begin(struct tw_code_area *a, const uint8_t *upper);

/* Fragments without code continue at `none`, as written, so that code can jump to any fragment's without a check. Likewise. */
void tw_code_area_fill(struct tw_code_area *a, const uint8_t *none);

/* Start of a fragment's code, as written. Without memory for the entry the fragment has no code. */
void tw_code_area_set(struct tw_code_area *a, uint32_t number, const uint8_t *code);

/* The fragments of this stretch of numbers no longer run. */
void tw_code_area_forget(struct tw_code_area *a, uint32_t first);

/* Nor does this one. */
void tw_code_area_forget_one(struct tw_code_area *a, uint32_t number);

/* By tag, where code of an upper half begins. */
const uint8_t *const *tw_code_area_row(const struct tw_code_area *a, uint32_t upper);

/* Code that continues with that of the tag in register `tag`, with the row in register `row`, or at `none` if it has none. Clobbers rax. */
void tw_code_emit_jump(struct as *as, uint8_t row, uint8_t tag, const uint8_t *none);

/* Code that loads the row of the upper half in register `upper` into register `row`, or continues at `none` if it has none. */
void tw_code_emit_row(struct as *as, const struct tw_code_area *a, uint8_t row, uint8_t upper, const uint8_t *none);

#endif
