/*
 * Memory for machine code that is made while the tool runs, and the table of where the code of each fragment begins.
 *
 * One thread at a time adds and forgets; any number may run code and look in the table meanwhile. Code is never changed or moved. Pages nobody
 * writes take no memory.
 */
#ifndef TW_JIT_AREA_H
#define TW_JIT_AREA_H

#include "base/numbered.h"

#include <stddef.h>
#include <stdint.h>

struct as;

struct tw_code_area {
	struct tw_numbered entries; /* const uint8_t *, where the code of a fragment is run; NULL: it has none */
	size_t bytes;
	uint8_t *written; /* the area, to be written */
	uint8_t *run;     /* the same memory, to be run */
	size_t huge;      /* bytes of code that have been put into huge pages */
	const uint8_t *upper;
};

/* How often fragments without code have run, about; by any number of threads at a time. All zeros to begin with. */
struct tw_code_counts {
	_Atomic uint8_t *row[TW_NUMBERED_ROW]; /* by upper half; made when it is first wanted */
	_Atomic uint32_t n_rows;               /* that there are... */
	uint16_t upper[TW_NUMBERED_ROW];       /* ...of these upper halves */
};

/* The fragment has run once more. 1: this often it is worth code of its own; that is said once. */
int tw_code_ran(struct tw_code_counts *c, uint32_t number);

void tw_code_counts_fini(struct tw_code_counts *c);

/* Returns 0, or -1 where no memory can be had that is executable; then there is nothing to be freed. */
int tw_code_area_init(struct tw_code_area *a, size_t bytes);
void tw_code_area_fini(struct tw_code_area *a);

/*
 * A part of the area has been written up to `end`; the area is in huge pages up to *huge, from the start of the part on. What of it is not comes to be, once there is enough: other
 * threads may run and read it meanwhile. A page that has nothing yet cannot be asked for.
 */
void tw_code_area_grew(const struct tw_code_area *a, size_t *huge, const void *end);

/* Where code that is written here is run. */
static inline const uint8_t *tw_code_runnable(const struct tw_code_area *a, const uint8_t *written)
{
	return a->run + (written - a->written);
}

/* The code of TW_TAG_UPPER, as written: before any fragment's is added. */
void tw_code_area_begin(struct tw_code_area *a, const uint8_t *upper);

/* Fragments without code go on at `none`, as written, so that code can jump to any fragment's without a look. Likewise. */
void tw_code_area_fill(struct tw_code_area *a, const uint8_t *none);

/* Where the code of a fragment begins, as written. Without memory for it the fragment has none. */
void tw_code_area_set(struct tw_code_area *a, uint32_t number, const uint8_t *code);

/* The fragments of this stretch of numbers do not run any more. */
void tw_code_area_forget(struct tw_code_area *a, uint32_t first);

/* Nor does this one. */
void tw_code_area_forget_one(struct tw_code_area *a, uint32_t number);

/* By tag, where code of an upper half begins. */
const uint8_t *const *tw_code_area_row(const struct tw_code_area *a, uint32_t upper);

/* Code that goes on with that of the tag in register `tag`, the row being in register `row`, or at `none` if it has none. rax is lost. */
void tw_code_emit_jump(struct as *as, uint8_t row, uint8_t tag, const uint8_t *none);

/* Code that loads the row of the upper half in register `upper` into register `row`, or goes on at `none` if it has none. */
void tw_code_emit_row(struct as *as, const struct tw_code_area *a, uint8_t row, uint8_t upper, const uint8_t *none);

#endif
