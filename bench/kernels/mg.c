/*
 * Multigrid: Poisson's equation in a periodic box of n^3 points by V-cycles: smoothed and restricted down to 2^3 points, interpolated and smoothed on the way back. Stencils
 * over grids of all sizes, long and short distances.
 * Known: a wave is an eigenfunction of the discrete operator, so that the right side of it has the wave itself as its answer.
 */
#include "kernel.h"

enum { LEVELS = 10 };

/* A grid has a border of one point on each side, which repeats the opposite one. */
struct grid {
	int n;
	double *u, *f, *r;
};

#define AT(n, x, y, z) (((size_t)(z) * ((size_t)(n) + 2) + (size_t)(y)) * ((size_t)(n) + 2) + (size_t)(x))

static void wrap(int n, double *u)
{
	for (int z = 1; z <= n; z++)
		for (int y = 1; y <= n; y++) {
			u[AT(n, 0, y, z)] = u[AT(n, n, y, z)];
			u[AT(n, n + 1, y, z)] = u[AT(n, 1, y, z)];
		}
	for (int z = 1; z <= n; z++)
		for (int x = 0; x <= n + 1; x++) {
			u[AT(n, x, 0, z)] = u[AT(n, x, n, z)];
			u[AT(n, x, n + 1, z)] = u[AT(n, x, 1, z)];
		}
	for (int y = 0; y <= n + 1; y++)
		for (int x = 0; x <= n + 1; x++) {
			u[AT(n, x, y, 0)] = u[AT(n, x, y, n)];
			u[AT(n, x, y, n + 1)] = u[AT(n, x, y, 1)];
		}
}

/* The discrete operator at a point: six neighbours less six times the point, by the square of the distance (1 / n). */
static inline double neighbours(int n, const double *u, size_t at)
{
	const size_t y = (size_t)n + 2, z = y * y;
	return u[at - 1] + u[at + 1] + u[at - y] + u[at + y] + u[at - z] + u[at + z];
}

/* r = f - A u */
static void residual(struct grid *g)
{
	const int n = g->n;
	const double by = (double)n * n;
#pragma omp parallel for
	for (int z = 1; z <= n; z++)
		for (int y = 1; y <= n; y++)
			for (int x = 1; x <= n; x++) {
				const size_t at = AT(n, x, y, z);
				g->r[at] = g->f[at] - by * (neighbours(n, g->u, at) - 6 * g->u[at]);
			}
	wrap(n, g->r);
}

/* Jacobi's, damped: the residual is added where it is. */
static void smooth(struct grid *g)
{
	const int n = g->n;
	const double weight = -6.0 / 7 / 6 / ((double)n * n);
	residual(g);
#pragma omp parallel for
	for (int z = 1; z <= n; z++)
		for (int y = 1; y <= n; y++)
			for (int x = 1; x <= n; x++)
				g->u[AT(n, x, y, z)] += weight * g->r[AT(n, x, y, z)];
	wrap(n, g->u);
}

/* The coarse grid's right side: the mean of the eight fine points in each of its cells. */
static void restrict_to(const struct grid *fine, struct grid *coarse)
{
	const int n = coarse->n;
	for (int z = 1; z <= n; z++)
		for (int y = 1; y <= n; y++)
			for (int x = 1; x <= n; x++) {
				double s = 0;
				for (int k = 0; k < 8; k++)
					s += fine->r[AT(fine->n, 2 * x - (k & 1), 2 * y - (k >> 1 & 1), 2 * z - (k >> 2))];
				coarse->f[AT(n, x, y, z)] = s / 8;
				coarse->u[AT(n, x, y, z)] = 0;
			}
	wrap(n, coarse->u);
}

/* Adds the coarse grid's answer to the fine one's, linearly between cells' middles. */
static void interpolate(const struct grid *coarse, struct grid *fine)
{
	const int n = fine->n, m = coarse->n;
#pragma omp parallel for
	for (int z = 1; z <= n; z++)
		for (int y = 1; y <= n; y++)
			for (int x = 1; x <= n; x++) {
				const int cx = (x + 1) / 2, cy = (y + 1) / 2, cz = (z + 1) / 2, dx = x & 1 ? -1 : 1, dy = y & 1 ? -1 : 1,
				          dz = z & 1 ? -1 : 1;
				const double *u = coarse->u;
				const double near = 9 * u[AT(m, cx, cy, cz)] + 3 * u[AT(m, cx + dx, cy, cz)],
				             above = 9 * u[AT(m, cx, cy + dy, cz)] + 3 * u[AT(m, cx + dx, cy + dy, cz)],
				             behind = 9 * u[AT(m, cx, cy, cz + dz)] + 3 * u[AT(m, cx + dx, cy, cz + dz)],
				             far = 9 * u[AT(m, cx, cy + dy, cz + dz)] + 3 * u[AT(m, cx + dx, cy + dy, cz + dz)];
				fine->u[AT(n, x, y, z)] += (9 * near + 3 * above + 3 * behind + far) / 192;
			}
	wrap(n, fine->u);
}

static void cycle(struct grid *g)
{
	smooth(g);
	smooth(g);
	if (g->n > 2) {
		residual(g);
		restrict_to(g, g + 1);
		cycle(g + 1);
		interpolate(g + 1, g);
	}
	smooth(g);
	smooth(g);
}

static double norm(int n, const double *u)
{
	double s = 0;
	for (int z = 1; z <= n; z++)
		for (int y = 1; y <= n; y++)
			for (int x = 1; x <= n; x++)
				s += u[AT(n, x, y, z)] * u[AT(n, x, y, z)];
	return sqrt(s / ((double)n * n * n));
}

int main(int argc, char **argv)
{
	const int n = 1 << size_given(argc, argv, 7), cycles = 14;
	struct grid grid[LEVELS];
	int levels = 0;
	for (int m = n; m >= 2 && levels < LEVELS; m /= 2) {
		const size_t points = AT(m, 0, 0, m + 2);
		grid[levels++] = (struct grid){m, make_array(points), make_array(points), make_array(points)};
	}
	const double turn = 2 * 3.14159265358979323846,
	             value = 2 * (double)n * n * (cos(turn / n) + cos(2 * turn / n) + cos(turn * 3 / n) - 3);
	double *known = make_array(AT(n, 0, 0, n + 2));
	for (int z = 1; z <= n; z++)
		for (int y = 1; y <= n; y++)
			for (int x = 1; x <= n; x++) {
				known[AT(n, x, y, z)] = sin(turn * x / n) * sin(turn * 2 * y / n) * cos(turn * 3 * z / n);
				grid[0].f[AT(n, x, y, z)] = value * known[AT(n, x, y, z)];
			}
	residual(&grid[0]);
	const double start = norm(n, grid[0].r);
	for (int k = 0; k < cycles; k++)
		cycle(&grid[0]);
	residual(&grid[0]);
	expect_below("residual that is left", norm(n, grid[0].r) / start, 1e-6);
	for (size_t i = 0; i < AT(n, 0, 0, n + 2); i++)
		known[i] -= grid[0].u[i];
	expect_below("error of the answer", norm(n, known), 1e-6);
	return kernel_wrong;
}
