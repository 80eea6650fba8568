#include "jit/area.h"
#include "base/array.h"
#include "base/dear.h"
#include "jit/assemble.h"

#include <linux/mman.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

/* Fragments that have run less often have no code. */
enum { HOT = 32 };

/* The counters of an upper half, or NULL. */
static _Atomic uint8_t *counts_of(struct tw_code_counts *c, uint32_t upper)
{
	_Atomic uint8_t *row = __atomic_load_n(&c->row[upper], __ATOMIC_ACQUIRE), *new = row ? NULL : calloc(TW_NUMBERED_ROW, 1);
	if (!new)
		return row;
	if (__atomic_compare_exchange_n(&c->row[upper], &row, new, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
		c->upper[atomic_fetch_add(&c->n_rows, 1)] = (uint16_t)upper;
		return new;
	}
	free(new); /* another thread was quicker */
	return row;
}

int tw_code_ran(struct tw_code_counts *c, uint32_t number)
{
	_Atomic uint8_t *row = counts_of(c, number >> 16), *ran = row ? &row[number & 0xffff] : NULL;
	return ran && atomic_load_explicit(ran, memory_order_relaxed) < HOT && ++*ran == HOT;
}

void tw_code_counts_fini(struct tw_code_counts *c)
{
	for (uint32_t i = 0; i < c->n_rows; i++)
		free(c->row[c->upper[i]]);
}

/* Code is put into huge pages, if the kernel has them, once there is enough code not to waste memory. */
enum { HUGE_FROM = 256 << 10, HUGE_FROM_DEAR = 64 << 10 };

/* With a limited address space (ulimit -v), code may not take a large part of it: everything works without it, by interpretation. */
static int is_too_much(size_t bytes)
{
	enum { PART = 4 };
	struct rlimit l;
	return !getrlimit(RLIMIT_AS, &l) && bytes > l.rlim_cur / PART;
}

/*
 * Maps the same memory twice, since no address may be both writable and executable. No file stands behind it: a file
 * would be subject to the limit on file sizes (ulimit -f). mremap(2) of a shared mapping with an old size of 0 makes
 * a second one.
 */
static int map_area(struct tw_code_area *a)
{
	if (is_too_much(2 * a->bytes))
		return -1;
	a->written = tw_array_addresses(a->bytes, 0);
	a->run = tw_array_addresses(a->bytes, MAP_32BIT); /* what has such an address is named in fewer bytes */
	a->run = a->run ? a->run : tw_array_addresses(a->bytes, 0);
	if (!a->written || !a->run)
		return -1;
	void *at = mmap(a->written, a->bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
	if (at == MAP_FAILED || mremap(at, 0, a->bytes, MREMAP_MAYMOVE | MREMAP_FIXED, a->run) == MAP_FAILED)
		return -1;
	return mprotect(a->run, a->bytes, PROT_READ | PROT_EXEC);
}

void tw_code_area_grew(const struct tw_code_area *a, size_t *huge, const void *end)
{
	const size_t used = (size_t)((const uint8_t *)end - a->written), from = tw_dear_pages() ? HUGE_FROM_DEAR : HUGE_FROM;
	if (used < *huge + from || a->bytes - *huge < TW_HUGE_PAGE)
		return;
	madvise(a->written + *huge, TW_HUGE_PAGE, MADV_COLLAPSE); /* without it the code is there all the same */
	*huge += TW_HUGE_PAGE;
}

int tw_code_area_init(struct tw_code_area *a, size_t bytes)
{
	a->bytes = bytes;
	a->entries.item = sizeof(const uint8_t *);
	int error = map_area(a);
	if (error)
		tw_code_area_fini(a);
	return error;
}

void tw_code_area_fini(struct tw_code_area *a)
{
	tw_numbered_free(&a->entries);
	if (a->written)
		munmap(a->written, a->bytes);
	if (a->run)
		munmap(a->run, a->bytes);
}

void tw_code_area_begin(struct tw_code_area *a, const uint8_t *upper)
{
	a->upper = tw_code_runnable(a, upper);
}

void tw_code_area_fill(struct tw_code_area *a, const uint8_t *none)
{
	a->entries.fill = (uintptr_t)tw_code_runnable(a, none);
}

void tw_code_area_set(struct tw_code_area *a, uint32_t number, const uint8_t *code)
{
	const uint8_t **row = tw_numbered_add_row(&a->entries, number >> 16);
	if (!row)
		return;
	row[TW_TAG_UPPER] = a->upper;
	__atomic_store_n(&row[number & 0xffff], tw_code_runnable(a, code), __ATOMIC_RELEASE);
	tw_code_area_grew(a, &a->huge, code);
}

void tw_code_area_forget(struct tw_code_area *a, uint32_t first)
{
	tw_numbered_forget(&a->entries, first);
}

void tw_code_area_forget_one(struct tw_code_area *a, uint32_t number)
{
	const uint8_t **row = tw_numbered_row(&a->entries, number >> 16);
	if (row)
		__atomic_store_n(&row[number & 0xffff], (const uint8_t *)(uintptr_t)a->entries.fill, __ATOMIC_RELEASE);
}

const uint8_t *const *tw_code_area_row(const struct tw_code_area *a, uint32_t upper)
{
	static const uint8_t *const none[TW_NUMBERED_ROW];
	const uint8_t *const *row = tw_numbered_row(&a->entries, upper);
	return row ? row : none;
}

void tw_code_emit_jump(struct as *as, uint8_t row, uint8_t tag, const uint8_t *none)
{
	as_load(as, AS_RAX, (struct as_mem){row, tag, 3, 0});
	as_test(as, AS_RAX, 1);
	as_jump_if(as, AS_EQUAL, none);
	as_jump_reg(as, AS_RAX);
}

void tw_code_emit_row(struct as *as, const struct tw_code_area *a, uint8_t row, uint8_t upper, const uint8_t *none)
{
	as_constant(as, row, (uintptr_t)a->entries.row);
	as_load(as, row, (struct as_mem){row, upper, 3, 0});
	as_test(as, row, 1);
	as_jump_if(as, AS_EQUAL, none);
}
