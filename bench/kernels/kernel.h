/*
 * What the five kernels share. Each solves a problem of the kind that the NAS parallel benchmarks describe (Bailey and others: The NAS Parallel Benchmarks, 1991), written anew
 * from the description of the problem, on data of which the answer is known. It prints what it found, which is the same in every run, and fails where that is wrong.
 * An argument says how large the problem is (default: a second or so).
 */
#ifndef KERNEL_H
#define KERNEL_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static int kernel_wrong;

/* `value` is to be below `limit`. */
static inline void expect_below(const char *what, double value, double limit)
{
	const int good = value < limit;
	printf("%s: %s %g\n", what, good ? "below" : "NOT below", limit);
	if (!good)
		fprintf(stderr, "%s: %g\n", what, value);
	kernel_wrong |= !good;
}

static inline double *make_array(size_t n)
{
	double *a = calloc(n, sizeof *a);
	if (!a) {
		fprintf(stderr, "no memory\n");
		exit(2);
	}
	return a;
}

/* In [0, 1), the same sequence everywhere. */
static inline double next_random(void)
{
	static unsigned long long state = 314159265;
	state = state * 6364136223846793005ull + 1442695040888963407ull;
	return (double)(state >> 11) / 9007199254740992.0;
}

static inline int size_given(int argc, char **argv, int otherwise)
{
	return argc > 1 && atoi(argv[1]) > 0 ? atoi(argv[1]) : otherwise;
}

#endif
