/*
 * A partial differential equation solved by 3-D fast Fourier transforms: diffusion in a periodic box. What is there at the start is transformed, each wave decays at
 * its own rate, and for each time step the result is transformed back. Long strides.
 * Known: a single wave only decays; at time 0 it comes back as it was; energies before and after a transform are the same (Parseval).
 */
#include "kernel.h"

#include <complex.h>
#include <string.h>

static int n; /* points in each direction, a power of 2 */
static double complex *root;

/* Of n points, in place: a and b in turn (Stockham). The result is in a. */
static void transform_line(double complex *a, double complex *b, int inverse)
{
	double complex *from = a, *to = b;
	for (int half = n / 2, stride = 1; half >= 1; half /= 2, stride *= 2) {
		for (int k = 0; k < half; k++) {
			const double complex w = inverse ? conj(root[k * stride]) : root[k * stride];
			for (int j = 0; j < stride; j++) {
				const double complex u = from[j + stride * k], v = from[j + stride * (k + half)];
				to[j + stride * 2 * k] = u + v;
				to[j + stride * (2 * k + 1)] = (u - v) * w;
			}
		}
		double complex *t = from;
		from = to;
		to = t;
	}
	if (from != a)
		memcpy(a, from, sizeof *a * (size_t)n);
}

/* All lines whose points are `step` apart; `other`: how far the lines' beginnings are. */
static void transform_direction(double complex *u, size_t step, size_t other1, size_t other2, int inverse)
{
#pragma omp parallel for
	for (int i = 0; i < n; i++) {
		double complex line[1024], work[1024];
		for (int j = 0; j < n; j++) {
			double complex *first = u + (size_t)i * other1 + (size_t)j * other2;
			for (int k = 0; k < n; k++)
				line[k] = first[(size_t)k * step];
			transform_line(line, work, inverse);
			for (int k = 0; k < n; k++)
				first[(size_t)k * step] = line[k];
		}
	}
}

static void transform(double complex *u, int inverse)
{
	const size_t x = 1, y = (size_t)n, z = (size_t)n * (size_t)n;
	transform_direction(u, x, z, y, inverse);
	transform_direction(u, y, z, x, inverse);
	transform_direction(u, z, y, x, inverse);
	for (size_t i = 0; inverse && i < (size_t)n * z; i++)
		u[i] /= (double)n * (double)z;
}

static double energy(const double complex *u, size_t points)
{
	double s = 0;
	for (size_t i = 0; i < points; i++)
		s += creal(u[i]) * creal(u[i]) + cimag(u[i]) * cimag(u[i]);
	return s;
}

static int wave_number(int i)
{
	return i > n / 2 ? i - n : i;
}

/* What each wave has decayed to after `time`. */
static void decay(const double complex *from, double complex *to, double time)
{
	size_t at = 0;
	for (int z = 0; z < n; z++)
		for (int y = 0; y < n; y++)
			for (int x = 0; x < n; x++, at++) {
				const int k2 =
				    wave_number(x) * wave_number(x) + wave_number(y) * wave_number(y) + wave_number(z) * wave_number(z);
				to[at] = from[at] * exp(-1e-3 * k2 * time);
			}
}

/* Noise, and one wave that is known. */
static void fill(double complex *u, double noise)
{
	size_t at = 0;
	for (int z = 0; z < n; z++)
		for (int y = 0; y < n; y++)
			for (int x = 0; x < n; x++, at++)
				u[at] = root[(3 * x + 2 * y + z) % n] + noise * (next_random() - 0.5);
}

static double largest_difference(const double complex *a, const double complex *b, double scale, size_t points)
{
	double most = 0;
	for (size_t i = 0; i < points; i++)
		most = fmax(most, cabs(a[i] - scale * b[i]));
	return most;
}

int main(int argc, char **argv)
{
	n = 1 << size_given(argc, argv, 7);
	const size_t points = (size_t)n * (size_t)n * (size_t)n;
	double complex *start = calloc(points, sizeof *start), *waves = calloc(points, sizeof *waves), *u = calloc(points, sizeof *u);
	root = calloc((size_t)n, sizeof *root);
	if (!start || !waves || !u || !root || n > 1024)
		return 2;
	for (int k = 0; k < n; k++)
		root[k] = cexp(-2 * I * 3.14159265358979323846 * k / n);
	fill(start, 1);
	memcpy(waves, start, points * sizeof *waves);
	transform(waves, 0);
	expect_below("energy that a transform loses", fabs(energy(waves, points) / energy(start, points) / (double)points - 1), 1e-12);
	for (int step = 0; step <= 4; step++) {
		decay(waves, u, step);
		transform(u, 1);
		if (!step)
			expect_below("change there and back", largest_difference(u, start, 1, points), 1e-12);
	}
	fill(start, 0);
	memcpy(waves, start, points * sizeof *waves);
	transform(waves, 0);
	decay(waves, u, 6);
	transform(u, 1);
	expect_below("error of a single wave's decay", largest_difference(u, start, exp(-1e-3 * (9 + 4 + 1) * 6), points), 1e-12);
	return kernel_wrong;
}
