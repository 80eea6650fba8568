/* Molecular dynamics: particles with Lennard-Jones forces in a periodic box, by cells, with velocity Verlet. md STEPS */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { SIDE = 10, N = SIDE * SIDE * SIDE, CELLS = 4, MOST = 128 };
static const double box = SIDE * 1.2, cut = 2.5, dt = 0.004;
static double r[N][3], v[N][3], f[N][3];
static int cell[CELLS][CELLS][CELLS][MOST], n_in[CELLS][CELLS][CELLS];

static double wrap(double d)
{
	return d - box * floor(d / box + .5);
}

static int place(double x)
{
	const int k = (int)(x / box * CELLS);
	return k < 0 ? 0 : k >= CELLS ? CELLS - 1 : k;
}

static void sort_into_cells(void)
{
	for (int k = 0; k < CELLS * CELLS * CELLS; k++)
		(&n_in[0][0][0])[k] = 0;
	for (int i = 0; i < N; i++) {
		const int x = place(r[i][0]), y = place(r[i][1]), z = place(r[i][2]);
		if (n_in[x][y][z] < MOST)
			cell[x][y][z][n_in[x][y][z]++] = i;
	}
}

static double pull(int i, int j)
{
	double d[3], sum = 0;
	for (int k = 0; k < 3; k++) {
		d[k] = wrap(r[i][k] - r[j][k]);
		sum += d[k] * d[k];
	}
	if (sum > cut * cut)
		return 0;
	const double s2 = 1 / sum, s6 = s2 * s2 * s2, force = 24 * s2 * s6 * (2 * s6 - 1);
	for (int k = 0; k < 3; k++)
		f[i][k] += force * d[k];
	return 2 * s6 * (s6 - 1);
}

static double forces(void)
{
	double energy = 0;
	sort_into_cells();
	for (int i = 0; i < N; i++) {
		f[i][0] = f[i][1] = f[i][2] = 0;
		for (int k = 0; k < 27; k++) {
			const int x = (place(r[i][0]) + k % 3 + CELLS - 1) % CELLS, y = (place(r[i][1]) + k / 3 % 3 + CELLS - 1) % CELLS,
			          z = (place(r[i][2]) + k / 9 + CELLS - 1) % CELLS;
			for (int m = 0; m < n_in[x][y][z]; m++)
				if (cell[x][y][z][m] != i)
					energy += pull(i, cell[x][y][z][m]);
		}
	}
	return energy;
}

int main(int argc, char **argv)
{
	const int steps = argc > 1 ? atoi(argv[1]) : 10;
	double energy = 0;
	srand(1);
	for (int i = 0; i < N; i++)
		for (int k = 0; k < 3; k++) {
			r[i][k] = (k ? k == 1 ? i / SIDE % SIDE : i / SIDE / SIDE : i % SIDE) * 1.2 + .1;
			v[i][k] = rand() % 1000 / 1000. - .5;
		}
	forces();
	for (int s = 0; s < steps; s++) {
		for (int i = 0; i < N; i++)
			for (int k = 0; k < 3; k++) {
				v[i][k] += f[i][k] * dt / 2;
				r[i][k] += v[i][k] * dt;
				r[i][k] -= box * floor(r[i][k] / box);
			}
		energy = forces();
		for (int i = 0; i < N; i++)
			for (int k = 0; k < 3; k++)
				v[i][k] += f[i][k] * dt / 2;
	}
	printf("%.3f\n", energy);
	return 0;
}
