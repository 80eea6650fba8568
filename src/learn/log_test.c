/* The logs of the paper, by its examples (section 3.2), and ours. */
#include "learn/log.h"
#include "recording/recording.h"
#include "unit.h"

/* With one trace in the log, is another known? */
static int knows(const char *name, uint64_t there, uint64_t bytes, uint64_t address, uint64_t length)
{
	struct tw_log *l = tw_log_new(name);
	EQUAL(tw_log_add(l, there, bytes), TW_OK);
	const int known = tw_log_knows(l, address, length);
	tw_log_free(l);
	return known;
}

static void examples(void)
{
	CHECK(knows("hash", 100, 20, 100, 80));  /* false negative: 120 to 180 are never instrumented */
	CHECK(!knows("hash", 100, 80, 150, 20)); /* false positive: it is part of the other */
	CHECK(knows("tree", 100, 80, 150, 20));
	CHECK(knows("tree", 50, 80, 100, 200)); /* false negative: 130 to 300 */
	CHECK(!knows("merging", 50, 80, 100, 200));
	CHECK(knows("merging", 50, 80, 100, 20));
	CHECK(!knows("merging", 50, 80, 100, 30)); /* false positive: it ends where the range does */
	CHECK(knows("exact", 50, 80, 100, 30));
	CHECK(!knows("exact", 50, 80, 100, 31));
	CHECK(!knows("exact", 50, 80, 49, 2));
	CHECK(!knows("exact", 50, 80, 130, 1));
}

/* Ranges that touch, overlap, or are connected by another become one. */
static void merge(void)
{
	static const char *const names[] = {"merging", "exact"};
	for (unsigned k = 0; k < 2; k++) {
		struct tw_log *l = tw_log_new(names[k]);
		tw_log_add(l, 100, 50);
		tw_log_add(l, 200, 50);
		EQUAL(tw_log_entries(l), 2);
		tw_log_add(l, 150, 50);
		EQUAL(tw_log_entries(l), 1);
		CHECK(tw_log_knows(l, 100, 149));
		tw_log_add(l, 300, 10);
		tw_log_add(l, 10, 1000);
		EQUAL(tw_log_entries(l), 1);
		CHECK(tw_log_knows(l, 10, 999));
		tw_log_free(l);
	}
}

/* Whatever is added: `exact` agrees with a table of bytes, and the others err only in their stated directions. */
static void compare(void)
{
	enum { SPACE = 400, TRACES = 3000 };
	static uint8_t by_exact[SPACE], by_hash[SPACE], by_merging[SPACE];
	struct tw_log *exact = tw_log_new("exact"), *hash = tw_log_new("hash"), *merging = tw_log_new("merging");
	uint32_t seed = 1;
	for (int i = 0; i < TRACES; i++) {
		seed = seed * 1103515245 + 12345;
		const uint64_t at = seed / 65536 % (SPACE - 40), n = 1 + seed / 4096 % 12;
		int all = 1, all_merging = 1;
		for (uint64_t k = at; k < at + n; k++) {
			all &= by_exact[k];
			all_merging &= by_merging[k];
		}
		EQUAL(tw_log_knows(exact, at, n), all);
		CHECK(!tw_log_knows(merging, at, n) || all_merging); /* it misses nothing */
		if (!tw_log_knows(exact, at, n))
			for (uint64_t k = at; k < at + n; k++)
				by_exact[k] = 1;
		for (uint64_t k = at; k < at + n; k++)
			by_merging[k] = 1;
		by_hash[at] = 1;
		tw_log_add(exact, at, n);
		tw_log_add(merging, at, n);
		tw_log_add(hash, at, n);
		EQUAL(tw_log_knows(hash, at + 1, n), by_hash[at + 1]);
	}
	tw_log_free(exact);
	tw_log_free(hash);
	tw_log_free(merging);
}

int main(void)
{
	CHECK(!tw_log_new("cuneiform"));
	SAME_TEXT(tw_log_name(3), "exact");
	CHECK(!tw_log_name(4));
	examples();
	merge();
	compare();
	return 0;
}
