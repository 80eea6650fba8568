/* Regions in the channel's table: what each log of the paper (section 3.2) knows, compared with learn/log.h. */
#include "base/region.h"
#include "learn/log.h"
#include "unit.h"

#include <string.h>

enum { ENTRIES = 4096 };
static uint64_t of[ENTRIES];
static const struct tw_region_table table = {of, ENTRIES};

static struct tw_told_place place(uint64_t offset)
{
	return (struct tw_told_place){tw_told_module("/bin/true"), offset};
}

static int knows(enum tw_region_log log, uint64_t there, uint64_t bytes, uint64_t address, uint64_t length)
{
	memset(of, 0, sizeof of);
	tw_region_add(log, table, place(there), bytes);
	return tw_region_knows(log, table, place(address), length);
}

static void examples(void)
{
	CHECK(knows(TW_REGION_HASH, 100, 20, 100, 80));
	CHECK(!knows(TW_REGION_HASH, 100, 80, 150, 20));
	CHECK(knows(TW_REGION_TREE, 100, 80, 150, 20));
	CHECK(knows(TW_REGION_TREE, 50, 80, 100, 200));
	CHECK(!knows(TW_REGION_TREE, 50, 80, 130, 1));
	CHECK(!knows(TW_REGION_MERGING, 50, 80, 100, 200));
	CHECK(knows(TW_REGION_MERGING, 50, 80, 100, 20));
	CHECK(!knows(TW_REGION_MERGING, 50, 80, 100, 30));
}

/* Endless blocks, some known: the same answers as the sorted log's. */
static void compare(const char *name, enum tw_region_log log)
{
	struct tw_log *l = tw_log_new(name);
	uint32_t seed = 7, different = 0;
	memset(of, 0, sizeof of);
	for (int i = 0; i < 4000; i++) {
		seed = seed * 1103515245 + 12345;
		const uint64_t at = 1000 + seed / 65536 % 900, n = 1 + seed / 4096 % 12;
		different += !tw_log_knows(l, at, n) != !tw_region_knows(log, table, place(at), n);
		if (seed >> 30 || tw_log_knows(l, at, n))
			continue;
		tw_log_add(l, at, n);
		tw_region_add(log, table, place(at), n);
	}
	EQUAL(different, 0);
	tw_log_free(l);
}

/* A full table: what finds no place is not known. */
static void full(void)
{
	uint64_t few[2] = {0};
	const struct tw_region_table t = {few, 2};
	for (uint64_t at = 0; at < 3200; at += 32)
		tw_region_add(TW_REGION_TREE, t, place(at), 32);
	unsigned n = 0;
	for (uint64_t at = 0; at < 3200; at += 32)
		n += (unsigned)tw_region_knows(TW_REGION_TREE, t, place(at), 32);
	EQUAL(n, 2);
}

int main(void)
{
	examples();
	compare("hash", TW_REGION_HASH);
	compare("merging", TW_REGION_MERGING);
	full();
	return 0;
}
