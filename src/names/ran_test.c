/* Many pieces are sorted by digits, few by comparing: both give the same result. */
#include "names/ran.h"
#include "unit.h"

#include <stdlib.h>

/* The same numbers each time. */
static uint64_t next(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return *state >> 20;
}

static void check_order(size_t n, uint64_t among)
{
	struct tw_ran_list l = {0};
	uint64_t state = n, sum = 0, sum_after = 0;
	for (size_t i = 0; i < n; i++) {
		const uint64_t start = 0x7f0000000000 * (i % 3 == 0) + next(&state) % among;
		CHECK(tw_ran_add(&l, start, start + 1 + i));
		sum += start * (1 + i);
	}
	tw_ran_order(&l);
	EQUAL(l.n, n);
	for (size_t i = 0; i < l.n; i++) {
		sum_after += l.pieces[i].start * (l.pieces[i].end - l.pieces[i].start);
		if (i)
			CHECK(l.pieces[i - 1].start <= l.pieces[i].start);
	}
	EQUAL(sum_after, sum);
	free(l.pieces);
}

/* What is joined: multiples of 8 from 0 on, of 4 bytes each but every fourth, which reaches into the next. */
static void check_joined(size_t n)
{
	struct tw_ran_list l = {0};
	for (size_t i = 0; i < n; i++) {
		const size_t k = i * 7919 % n; /* each once: 7919 is prime, and n no multiple of it */
		CHECK(tw_ran_add(&l, 8 * k, 8 * k + (k % 4 ? 4 : 9)));
	}
	tw_ran_sort(&l);
	EQUAL(l.n, n - (n + 2) / 4);
	CHECK(tw_ran_any(&l, 8, 9) && !tw_ran_any(&l, 12, 16));
	free(l.pieces);
}

int main(void)
{
	static const size_t n[] = {0, 1, 2, 100, 511, 512, 5000, 100000};
	for (size_t i = 0; i < sizeof n / sizeof *n; i++) {
		check_order(n[i], 1);
		check_order(n[i], 1000);
		check_order(n[i], 1ull << 40);
	}
	check_joined(100);
	check_joined(100000);
	return unit_end();
}
