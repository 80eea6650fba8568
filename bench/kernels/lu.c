/*
 * Symmetric successive over-relaxation: five coupled quantities in a box of n^3 points, each coupled to its six neighbours by a matrix of 5 by 5. Each step goes through the lower
 * triangle of the system forwards and through the upper one backwards, where every point waits for the three before it, and solves the 5 by 5 system of the point.
 * Known: the right side was made from an answer that was chosen.
 */
#include "kernel.h"

#include <string.h>

enum { M = 5 };

static int n;
static double diagonal[M][M], side[6][M][M]; /* the same at all points */
static double *u, *f, *known;

/* Points of the border are there, and 0. */
static inline size_t at(int x, int y, int z)
{
	return (((size_t)z * ((size_t)n + 2) + (size_t)y) * ((size_t)n + 2) + (size_t)x) * M;
}

static void make_system(void)
{
	for (int i = 0; i < M; i++)
		for (int j = 0; j < M; j++) {
			double sum = 0;
			for (int k = 0; k < 6; k++) {
				side[k][i][j] = (i == j ? -1 : 0) + 0.1 * (next_random() - 0.5);
				sum += fabs(side[k][i][j]);
			}
			diagonal[i][j] = i == j ? sum + 1.5 : 0.1 * (next_random() - 0.5);
		}
}

static inline void subtract_product(const double a[M][M], const double *x, double *r)
{
	for (int i = 0; i < M; i++)
		r[i] -= a[i][0] * x[0] + a[i][1] * x[1] + a[i][2] * x[2] + a[i][3] * x[3] + a[i][4] * x[4];
}

/* x with a x = r, by elimination; the diagonal outweighs the rest. */
static void solve_point(const double a[M][M], double *r, double *x)
{
	double t[M][M];
	memcpy(t, a, sizeof t);
	for (int k = 0; k < M; k++)
		for (int i = k + 1; i < M; i++) {
			const double by = t[i][k] / t[k][k];
			for (int j = k + 1; j < M; j++)
				t[i][j] -= by * t[k][j];
			r[i] -= by * r[k];
		}
	for (int i = M; i-- > 0;) {
		double s = r[i];
		for (int j = i + 1; j < M; j++)
			s -= t[i][j] * x[j];
		x[i] = s / t[i][i];
	}
}

/* What the neighbours leave of the right side. */
static void rest(const double *v, int x, int y, int z, double *r)
{
	const size_t neighbour[6] = {at(x - 1, y, z), at(x, y - 1, z), at(x, y, z - 1), at(x + 1, y, z), at(x, y + 1, z), at(x, y, z + 1)};
	for (int k = 0; k < 6; k++)
		subtract_product(side[k], v + neighbour[k], r);
}

static void relax(int x, int y, int z)
{
	const double omega = 1.2;
	double r[M], now[M] = {0};
	memcpy(r, f + at(x, y, z), sizeof r);
	rest(u, x, y, z, r);
	solve_point(diagonal, r, now);
	for (int i = 0; i < M; i++)
		u[at(x, y, z) + (size_t)i] += omega * (now[i] - u[at(x, y, z) + (size_t)i]);
}

static void step(void)
{
	for (int z = 1; z <= n; z++)
		for (int y = 1; y <= n; y++)
			for (int x = 1; x <= n; x++)
				relax(x, y, z);
	for (int z = n; z >= 1; z--)
		for (int y = n; y >= 1; y--)
			for (int x = n; x >= 1; x--)
				relax(x, y, z);
}

/* Of f less the system's product with v. */
static double residual(const double *v)
{
	double s = 0;
	for (int z = 1; z <= n; z++)
		for (int y = 1; y <= n; y++)
			for (int x = 1; x <= n; x++) {
				double r[M];
				memcpy(r, f + at(x, y, z), sizeof r);
				rest(v, x, y, z, r);
				subtract_product(diagonal, v + at(x, y, z), r);
				for (int i = 0; i < M; i++)
					s += r[i] * r[i];
			}
	return sqrt(s);
}

static void make_right_side(void)
{
	for (int z = 1; z <= n; z++)
		for (int y = 1; y <= n; y++)
			for (int x = 1; x <= n; x++)
				for (int i = 0; i < M; i++)
					known[at(x, y, z) + (size_t)i] = sin(x + 2 * i) * cos(0.5 * y) + 0.01 * z;
	for (int z = 1; z <= n; z++)
		for (int y = 1; y <= n; y++)
			for (int x = 1; x <= n; x++) {
				double r[M] = {0};
				rest(known, x, y, z, r);
				subtract_product(diagonal, known + at(x, y, z), r);
				for (int i = 0; i < M; i++)
					f[at(x, y, z) + (size_t)i] = -r[i];
			}
}

int main(int argc, char **argv)
{
	n = size_given(argc, argv, 40);
	const size_t size = at(0, 0, n + 2);
	u = make_array(size);
	f = make_array(size);
	known = make_array(size);
	make_system();
	make_right_side();
	const double start = residual(u);
	for (int k = 0; k < 25; k++)
		step();
	expect_below("residual that is left", residual(u) / start, 1e-8);
	double most = 0;
	for (size_t i = 0; i < size; i++)
		most = fmax(most, fabs(u[i] - known[i]));
	expect_below("error of the answer", most, 1e-8);
	return kernel_wrong;
}
