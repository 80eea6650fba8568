/* Lattice Boltzmann, D2Q9 with single relaxation time: a lid that moves over a closed box. lbm STEPS */
#include <stdio.h>
#include <stdlib.h>

enum { N = 96, Q = 9 };
static const int cx[Q] = {0, 1, 0, -1, 0, 1, -1, -1, 1}, cy[Q] = {0, 0, 1, 0, -1, 1, 1, -1, -1};
static const int back[Q] = {0, 3, 4, 1, 2, 7, 8, 5, 6};
static const double weight[Q] = {4. / 9, 1. / 9, 1. / 9, 1. / 9, 1. / 9, 1. / 36, 1. / 36, 1. / 36, 1. / 36};
static double now[N][N][Q], next[N][N][Q];

static double equilibrium(int q, double rho, double u, double v)
{
	const double c = cx[q] * u + cy[q] * v;
	return weight[q] * rho * (1 + 3 * c + 4.5 * c * c - 1.5 * (u * u + v * v));
}

static void collide(double *f, double omega)
{
	double rho = 0, u = 0, v = 0;
	for (int q = 0; q < Q; q++) {
		rho += f[q];
		u += f[q] * cx[q];
		v += f[q] * cy[q];
	}
	for (int q = 0; q < Q; q++)
		f[q] += omega * (equilibrium(q, rho, u / rho, v / rho) - f[q]);
}

static void stream(int x, int y)
{
	for (int q = 0; q < Q; q++) {
		const int a = x + cx[q], b = y + cy[q];
		if (a >= 0 && a < N && b >= 0 && b < N)
			next[a][b][q] = now[x][y][q];
		else
			next[x][y][back[q]] = now[x][y][q] - (b == N ? 6 * weight[q] * cx[q] * 0.1 : 0);
	}
}

int main(int argc, char **argv)
{
	const int steps = argc > 1 ? atoi(argv[1]) : 100;
	double sum = 0;
	for (int x = 0; x < N; x++)
		for (int y = 0; y < N; y++)
			for (int q = 0; q < Q; q++)
				now[x][y][q] = weight[q];
	for (int s = 0; s < steps; s++) {
		for (int x = 0; x < N; x++)
			for (int y = 0; y < N; y++)
				collide(now[x][y], 1.2);
		for (int x = 0; x < N; x++)
			for (int y = 0; y < N; y++)
				stream(x, y);
		for (int x = 0; x < N; x++)
			for (int y = 0; y < N; y++)
				for (int q = 0; q < Q; q++)
					now[x][y][q] = next[x][y][q];
	}
	for (int x = 0; x < N; x++)
		sum += now[x][N / 2][1] - now[x][N / 2][3];
	printf("%.9f\n", sum);
	return 0;
}
