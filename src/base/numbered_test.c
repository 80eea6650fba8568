#include "base/numbered.h"
#include "unit.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Kilobytes of memory that this process has. */
static long resident(void)
{
	long all = 0, pages = 0;
	FILE *f = fopen("/proc/self/statm", "r");
	CHECK(f && fscanf(f, "%ld %ld", &all, &pages) == 2);
	fclose(f);
	return pages * sysconf(_SC_PAGESIZE) / 1024;
}

static uint64_t *at(const struct tw_numbered *t, uint32_t number)
{
	return (uint64_t *)tw_numbered_row(t, number >> 16) + (number & 0xffff);
}

static void set(struct tw_numbered *t, uint32_t number)
{
	CHECK(tw_numbered_add_row(t, number >> 16));
	*at(t, number) = number;
}

/* Forgotten items are zero, others stay; rows that are completely forgotten no longer exist. */
static void test_forgetting(struct tw_numbered *t)
{
	for (uint32_t n = 0; n < 3 * TW_NUMBERED_ROW; n++)
		set(t, n);
	tw_numbered_forget(t, 2 * TW_STRETCH);
	for (uint32_t n = 0; n < TW_NUMBERED_ROW; n++)
		EQUAL(*at(t, n), n / TW_STRETCH == 2 ? 0 : n);
	for (uint32_t n = TW_NUMBERED_ROW; n < 2 * TW_NUMBERED_ROW; n += TW_STRETCH)
		tw_numbered_forget(t, n);
	CHECK(!tw_numbered_row(t, 1));
	EQUAL(*at(t, 2 * TW_NUMBERED_ROW), 2 * TW_NUMBERED_ROW);
	CHECK(!tw_numbered_row(t, 3) && !tw_numbered_row(t, TW_NUMBERED_ROW));
}

/* Twenty million numbers, of which two stretches at a time are there, and one stays. */
static void test_memory(struct tw_numbered *t)
{
	const uint32_t from = 4 * TW_NUMBERED_ROW;
	long before = resident();
	set(t, from);
	for (uint32_t n = from + TW_STRETCH; n < 20000000; n += TW_STRETCH) {
		set(t, n);
		set(t, n + TW_STRETCH - 1);
		if (n > from + TW_STRETCH)
			tw_numbered_forget(t, n - TW_STRETCH);
	}
	EQUAL(*at(t, from), from);
	CHECK(resident() - before < 2000);
}

int main(void)
{
	struct tw_numbered *t = calloc(1, sizeof *t);
	CHECK(t);
	t->item = sizeof(uint64_t);
	test_forgetting(t);
	test_memory(t);
	tw_numbered_free(t);
	free(t);
	return UNIT_END();
}
