/*
 * Scalar penta-diagonal systems: five quantities in a box of n^3 points diffuse, with dissipation of the fourth order; each time step is split by directions, so that
 * it comes to independent systems along lines, first along x, then y, then z, whose matrices have five diagonals.
 * Known: where nothing changes any more, the answer is the one that the forces were made from.
 */
#include "kernel.h"

enum { M = 5, MOST = 256 };

static const double dissipation = 0.05;
static int n;
static double *u, *force, *change, *known;

static inline size_t at(int x, int y, int z)
{
	return (((size_t)z * (size_t)n + (size_t)y) * (size_t)n + (size_t)x) * M;
}

/* The five diagonals of one direction's operator at point i of a line; what would stand outside is 0 there. */
static void coefficients(int i, double c[5])
{
	const double d4 = dissipation;
	c[0] = i >= 2 ? d4 : 0;
	c[1] = i >= 1 ? -1 - 4 * d4 : 0;
	c[2] = 2 + 6 * d4;
	c[3] = i < n - 1 ? -1 - 4 * d4 : 0;
	c[4] = i < n - 2 ? d4 : 0;
}

/* Adds `by` times one direction's operator on v to r; points of a line are `step` apart. */
static void apply(const double *v, double *r, double by, size_t step, size_t first)
{
	for (int i = 0; i < n; i++) {
		double c[5];
		coefficients(i, c);
		const double *p = v + first + (size_t)i * step;
		double *to = r + first + (size_t)i * step;
		for (int m = 0; m < M; m++) {
			double s = c[2] * p[m];
			if (i >= 2)
				s += c[0] * p[m - 2 * (long)step];
			if (i >= 1)
				s += c[1] * p[m - (long)step];
			if (i < n - 1)
				s += c[3] * p[m + (long)step];
			if (i < n - 2)
				s += c[4] * p[m + 2 * (long)step];
			to[m] += by * s;
		}
	}
}

/* Solves (1 + tau A) x = r along one line, in place: the two lower diagonals are eliminated, then it goes back. */
static void solve_line(double *r, double tau, size_t step, size_t first)
{
	static double c[MOST][5];
#pragma omp threadprivate(c)
	for (int i = 0; i < n; i++) {
		coefficients(i, c[i]);
		for (int k = 0; k < 5; k++)
			c[i][k] = tau * c[i][k] + (k == 2);
	}
	for (int i = 0; i < n; i++) {
		double *own = r + first + (size_t)i * step;
		const double by = 1 / c[i][2];
		c[i][3] *= by;
		c[i][4] *= by;
		for (int m = 0; m < M; m++)
			own[m] *= by;
		for (int k = 1; k <= 2 && i + k < n; k++) {
			double *next = own + (size_t)k * step, *row = c[i + k];
			const double lower = row[2 - k];
			row[3 - k] -= lower * c[i][3];
			row[4 - k] -= lower * c[i][4];
			for (int m = 0; m < M; m++)
				next[m] -= lower * own[m];
		}
	}
	for (int i = n; i-- > 0;) {
		double *own = r + first + (size_t)i * step;
		for (int m = 0; m < M; m++) {
			if (i < n - 1)
				own[m] -= c[i][3] * own[m + (long)step];
			if (i < n - 2)
				own[m] -= c[i][4] * own[m + 2 * (long)step];
		}
	}
}

/* All lines of a direction: fn for each. */
static void each_line(size_t step, size_t one, size_t other, double tau)
{
#pragma omp parallel for
	for (int i = 0; i < n; i++)
		for (int j = 0; j < n; j++)
			solve_line(change, tau, step, (size_t)i * one + (size_t)j * other);
}

/* What drives the change: the force less the operator's three directions on u. */
static void find_change(const double *v, double tau)
{
	const size_t x = M, y = x * (size_t)n, z = y * (size_t)n;
	for (size_t i = 0; i < z * (size_t)n; i++)
		change[i] = tau * force[i];
#pragma omp parallel for
	for (int i = 0; i < n; i++)
		for (int j = 0; j < n; j++)
			apply(v, change, -tau, x, (size_t)i * z + (size_t)j * y);
#pragma omp parallel for
	for (int i = 0; i < n; i++)
		for (int j = 0; j < n; j++)
			apply(v, change, -tau, y, (size_t)i * z + (size_t)j * x);
#pragma omp parallel for
	for (int i = 0; i < n; i++)
		for (int j = 0; j < n; j++)
			apply(v, change, -tau, z, (size_t)i * y + (size_t)j * x);
}

static double largest(const double *v)
{
	double most = 0;
	for (size_t i = 0; i < at(0, 0, n); i++)
		most = fmax(most, fabs(v[i]));
	return most;
}

int main(int argc, char **argv)
{
	n = size_given(argc, argv, 36);
	if (n > MOST)
		return 2;
	const size_t size = at(0, 0, n), x = M, y = x * (size_t)n, z = y * (size_t)n;
	u = make_array(size);
	force = make_array(size);
	change = make_array(size);
	known = make_array(size);
	for (size_t i = 0; i < size; i++)
		known[i] = next_random();
	find_change(known, 1); /* with no force: less the operator on what is known */
	for (size_t i = 0; i < size; i++)
		force[i] = -change[i];
	double tau = 60;
	for (int step = 0; step < 100; step++) {
		find_change(u, tau);
		each_line(x, z, y, tau);
		each_line(y, z, x, tau);
		each_line(z, y, x, tau);
		for (size_t i = 0; i < size; i++)
			u[i] += change[i];
		tau = tau > 0.1 ? tau / 3 : 60; /* long steps and short ones, for long waves and short ones */
	}
	find_change(u, 1);
	expect_below("what still drives a change", largest(change) / largest(force), 1e-6);
	for (size_t i = 0; i < size; i++)
		u[i] -= known[i];
	expect_below("error of the answer", largest(u), 1e-4);
	return kernel_wrong;
}
