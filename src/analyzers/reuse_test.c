/* Reuse distances against a list that is searched, and samples against the whole. */
#include "analyzers/reuse.h"
#include "unit.h"

#include <math.h>
#include <stdlib.h>

static unsigned seed = 1;

static unsigned next(unsigned n)
{
	seed = seed * 1103515245 + 12345;
	return (seed >> 8) % n;
}

/* The newest first. Number of lines before it; -1: it is not there. */
static long move_to_front(uint64_t *list, size_t *n, uint64_t line)
{
	size_t at = 0;
	while (at < *n && list[at] != line)
		at++;
	long distance = at < *n ? (long)at : -1;
	*n += at == *n;
	memmove(list + 1, list, at * sizeof *list);
	list[0] = line;
	return distance;
}

static unsigned bucket_of(long distance)
{
	unsigned k = 0;
	while (distance > 0 && distance >> k)
		k++;
	return distance < 0 ? TW_REUSE_FIRST : k;
}

static void compare_exactly(void)
{
	enum { LINES = 5000, ACCESSES = 40000 };
	static uint64_t list[LINES + 1], expected[TW_REUSE_BUCKETS];
	struct tw_reuse r = {.sample = 1, .lines = {.width = 1}};
	size_t n = 0;
	double error;
	for (int i = 0; i < ACCESSES; i++) {
		uint64_t line = next(3) ? next(100) * 64 : (unsigned)(i / 3) % LINES;
		expected[bucket_of(move_to_front(list, &n, line))]++;
		EQUAL(tw_reuse_access(&r, line), 0);
	}
	for (unsigned b = 0; b < TW_REUSE_BUCKETS; b++)
		EQUAL(tw_reuse_count(&r, b), expected[b]);
	CHECK(tw_reuse_share(&r, TW_REUSE_FIRST, &error) == 1 && error == 0);
	tw_reuse_free(&r);
}

/* Of 40,000 lines one in 20: shares are within four standard errors, which are not large. */
static void compare_sample(void)
{
	struct tw_reuse whole = {.sample = 1, .lines = {.width = 1}}, part = {.sample = 20, .lines = {.width = 1}};
	double none, error;
	for (int i = 0; i < 400000; i++) {
		uint64_t line = next(2) ? next(40000) : next(2000);
		CHECK(!tw_reuse_access(&whole, line) && !tw_reuse_access(&part, line));
	}
	for (unsigned b = 0; b < TW_REUSE_BUCKETS; b++) {
		double exact = tw_reuse_share(&whole, b, &none), about = tw_reuse_share(&part, b, &error);
		CHECK(fabs(exact - about) <= 4 * error + 1e-9);
		CHECK(error < 0.1);
	}
	tw_reuse_free(&whole);
	tw_reuse_free(&part);
}

int main(void)
{
	compare_exactly();
	compare_sample();
	return UNIT_END();
}
