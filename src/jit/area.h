/*
 * Memory for machine code that is made while the tool runs, and the table of where the code of each fragment begins.
 *
 * One thread at a time adds, under the lock; any number may run code and look in the table meanwhile. Code is never changed or moved. Pages nobody
 * writes take no memory.
 */
#ifndef TW_JIT_AREA_H
#define TW_JIT_AREA_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

enum { TW_CODE_ROW = 65536 };

struct tw_code_area {
	const uint8_t **row[TW_CODE_ROW]; /* by upper half and tag; each is no_row, or of its own */
	const uint8_t *no_row[TW_CODE_ROW];
	pthread_mutex_t lock;
	size_t bytes;
	uint8_t *written; /* the area, to be written */
	uint8_t *run;     /* the same memory, to be run */
};

/* Returns 0, or -1 where no memory can be had that is executable. Then there is nothing to be freed. */
int tw_code_area_init(struct tw_code_area *a, size_t bytes);
void tw_code_area_fini(struct tw_code_area *a);

/* Where code that is written here is run. */
static inline const uint8_t *tw_code_runnable(const struct tw_code_area *a, const uint8_t *written)
{
	return a->run + (written - a->written);
}

/* What all tags lead to at first, as written: `upper` that of TW_TAG_UPPER, `other` all the rest. Once, before any code is added. */
void tw_code_area_begin(struct tw_code_area *a, const uint8_t *other, const uint8_t *upper);

/* Where the code of a fragment begins, as written. Under the lock. Without memory for it the fragment has none. */
void tw_code_area_set(struct tw_code_area *a, uint32_t number, const uint8_t *code);

/* By tag, where code of an upper half begins. */
static inline const uint8_t *const *tw_code_area_row(const struct tw_code_area *a, uint32_t upper)
{
	return upper < TW_CODE_ROW ? __atomic_load_n(&a->row[upper], __ATOMIC_ACQUIRE) : a->no_row;
}

#endif
