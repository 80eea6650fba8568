/*
 * Conjugate gradient: the smallest eigenvalue of a large sparse symmetric positive definite matrix with a random pattern, by inverse iteration, each step of which
 * solves a system by 25 steps of the conjugate gradient method. Irregular references: x[column[k]].
 * Known: what was solved must be solved, and the eigenvalue is that of the bordered block that the matrix was given.
 */
#include "kernel.h"

enum { PER_ROW = 12, STEPS = 25 };

struct matrix {
	int n;
	int *first, *column; /* of row i: [first[i], first[i + 1]) */
	double *value;
};

/* Rows with PER_ROW pairs of entries at random places, each pair symmetric; the diagonal outweighs them, and that of row 0, which stands alone, is 1. */
static struct matrix make_matrix(int n)
{
	const size_t pairs = (size_t)n * PER_ROW;
	struct matrix m = {n, calloc((size_t)n + 2, sizeof(int)), calloc(2 * pairs + (size_t)n, sizeof(int)),
	                   make_array(2 * pairs + (size_t)n)};
	int *from = calloc(pairs, sizeof *from), *to = calloc(pairs, sizeof *to);
	double *value = make_array(pairs), *sum = make_array((size_t)n);
	if (!m.first || !m.column || !from || !to)
		exit(2);
	for (size_t k = 0; k < pairs; k++) {
		from[k] = 1 + (int)(next_random() * (n - 1));
		to[k] = 1 + (int)(next_random() * (n - 1));
		value[k] = next_random() - 0.5;
		m.first[from[k] + 2 < n + 1 ? from[k] + 2 : n + 1]++;
		m.first[to[k] + 2 < n + 1 ? to[k] + 2 : n + 1]++;
		sum[from[k]] += fabs(value[k]);
		sum[to[k]] += fabs(value[k]);
	}
	for (int i = 0; i < n; i++)
		m.first[i + 2 < n + 1 ? i + 2 : n + 1]++;
	for (int i = 2; i <= n + 1; i++)
		m.first[i] += m.first[i - 1];
	for (int i = 0; i < n; i++) {
		m.column[m.first[i + 1]] = i;
		m.value[m.first[i + 1]++] = i ? sum[i] + 2 : 1;
	}
	for (size_t k = 0; k < pairs; k++) {
		m.column[m.first[from[k] + 1]] = to[k];
		m.value[m.first[from[k] + 1]++] = value[k];
		m.column[m.first[to[k] + 1]] = from[k];
		m.value[m.first[to[k] + 1]++] = value[k];
	}
	free(from);
	free(to);
	free(value);
	free(sum);
	return m;
}

static void multiply(const struct matrix *m, const double *x, double *y)
{
#pragma omp parallel for
	for (int i = 0; i < m->n; i++) {
		double s = 0;
		for (int k = m->first[i]; k < m->first[i + 1]; k++)
			s += m->value[k] * x[m->column[k]];
		y[i] = s;
	}
}

static double dot(int n, const double *a, const double *b)
{
	double s = 0;
#pragma omp parallel for reduction(+ : s)
	for (int i = 0; i < n; i++)
		s += a[i] * b[i];
	return s;
}

static void add_scaled(int n, double *y, double scale, const double *x)
{
#pragma omp parallel for
	for (int i = 0; i < n; i++)
		y[i] += scale * x[i];
}

/* z with A z = x. Returns how much of x is left. */
static double solve(const struct matrix *m, const double *x, double *z, double *r, double *p, double *q)
{
	const int n = m->n;
	for (int i = 0; i < n; i++) {
		z[i] = 0;
		r[i] = p[i] = x[i];
	}
	double rho = dot(n, r, r);
	for (int step = 0; step < STEPS && rho > 0; step++) {
		multiply(m, p, q);
		const double alpha = rho / dot(n, p, q), before = rho;
		add_scaled(n, z, alpha, p);
		add_scaled(n, r, -alpha, q);
		rho = dot(n, r, r);
		for (int i = 0; i < n; i++)
			p[i] = r[i] + rho / before * p[i];
	}
	multiply(m, z, q);
	for (int i = 0; i < n; i++)
		r[i] = x[i] - q[i];
	return sqrt(dot(n, r, r) / dot(n, x, x));
}

int main(int argc, char **argv)
{
	const int n = 1000 * size_given(argc, argv, 30), iterations = 20;
	struct matrix m = make_matrix(n);
	double *x = make_array((size_t)n), *z = make_array((size_t)n), *r = make_array((size_t)n), *p = make_array((size_t)n),
	       *q = make_array((size_t)n);
	double left = 0, eigenvalue = 0;
	for (int i = 0; i < n; i++)
		x[i] = 1;
	for (int k = 0; k < iterations; k++) {
		left = fmax(left, solve(&m, x, z, r, p, q));
		eigenvalue = dot(n, x, x) / dot(n, x, z);
		const double norm = sqrt(dot(n, z, z));
		for (int i = 0; i < n; i++)
			x[i] = z[i] / norm;
	}
	expect_below("rest of a system that was solved", left, 1e-9);
	expect_below("error of the smallest eigenvalue", fabs(eigenvalue - 1), 1e-6);
	return kernel_wrong;
}
