#include "analyze/by_fragment.h"
#include "unit.h"

#include <stdlib.h>

enum { ROW = 65536 };

static uint32_t seen[8];
static int n_seen;

static int note(void *stop_at, void *item)
{
	seen[n_seen++] = *(uint32_t *)item;
	return stop_at && *(uint32_t *)item == *(uint32_t *)stop_at;
}

static void see_all(const struct tw_by_fragment *t, int n, const uint32_t *numbers)
{
	n_seen = 0;
	EQUAL(tw_by_fragment_each(t, note, NULL), 0);
	EQUAL(n_seen, n);
	for (int i = 0; i < n && i < n_seen; i++)
		EQUAL(seen[i], numbers[i]);
}

int main(void)
{
	static struct tw_by_fragment t;
	static uint32_t number[] = {0, 5, ROW - 1, ROW, 3 * ROW + 7, UINT32_MAX};
	static const int order[] = {3, 1, 5, 0, 4, 2};
	see_all(&t, 0, NULL);
	tw_by_fragment_free(&t, NULL);
	CHECK(tw_by_fragment_set(&t, 0, &number[0]));
	see_all(&t, 1, number);
	for (int i = 0; i < 6; i++)
		CHECK(tw_by_fragment_set(&t, number[order[i]], &number[order[i]]));
	see_all(&t, 6, number);
	EQUAL(*(uint32_t *)tw_by_fragment_get(&t, ROW), ROW);
	CHECK(!tw_by_fragment_get(&t, 4) && !tw_by_fragment_get(&t, 2 * ROW));
	n_seen = 0;
	EQUAL(tw_by_fragment_each(&t, note, &number[2]), 1);
	EQUAL(n_seen, 3);
	tw_by_fragment_free(&t, NULL);
	see_all(&t, 0, NULL);

	/* Of a few fragments a few pages are touched. */
	const long before = unit_faults();
	for (uint32_t i = 40000; i < 40100; i++)
		CHECK(tw_by_fragment_set(&t, i, malloc(8)));
	for (uint32_t i = 40000; i < 40100; i++)
		*(uint32_t *)tw_by_fragment_get(&t, i) = i;
	n_seen = 0;
	CHECK(tw_by_fragment_each(&t, note, tw_by_fragment_get(&t, 40005)));
	tw_by_fragment_free(&t, free);
	CHECK(unit_faults() - before < 32);
	CHECK(!tw_by_fragment_get(&t, 40000));
	return UNIT_END();
}
