/* OpenMP's loops, tasks and sections, compiled by gcc: which iterations access the same element, which variables are of each thread, what orders tasks. */
#include "cases.h"
#include <omp.h>
#include <sched.h>

enum { N = 200, SIDE = 20 };
int anti[N + 1], far_apart[N], by_index[N], rows[SIDE], matrix[SIDE][SIDE], kept, column, both_sides, counted, taken, in_group, told_early,
    between[N], histogram[4];
int plain[N], found_last, half_locked;

static void __attribute__((constructor)) two_threads(void)
{
	omp_set_num_threads(2);
}

/* Waits until both threads are here. The order of relaxed accesses is none. */
static void meet(int *arrived)
{
	__atomic_fetch_add(arrived, 1, __ATOMIC_RELAXED);
	while (__atomic_load_n(arrived, __ATOMIC_RELAXED) < 2)
		sched_yield();
}

/* ---- racy ---- */
static void loop_anti_dependence(void)
{
#pragma omp parallel for schedule(static)
	for (int i = 0; i < N; i++)
		anti[i] = anti[i + 1] + 1;
}
static void loop_half_way(void)
{
#pragma omp parallel for schedule(static)
	for (int i = 0; i < N; i++)
		far_apart[i] = i < N / 2 ? i : far_apart[i - N / 2] + 1;
}
static void loop_shared_index(void)
{
#pragma omp parallel for schedule(static)
	for (int i = 0; i < N; i++)
		by_index[i * 7 % 50] += i;
}
static void loop_shared_temporary(void)
{
#pragma omp parallel for schedule(static)
	for (int i = 0; i < N; i++) {
		kept = plain[i] + i;
		plain[i] = kept;
	}
}
static void loop_inner_shared(void)
{
#pragma omp parallel for schedule(static)
	for (int i = 0; i < SIDE; i++)
		for (column = 0; column < SIDE - 1; column++)
			matrix[i][column % SIDE] = i;
}
static void loop_into_one_row(void)
{
#pragma omp parallel for schedule(static)
	for (int i = 0; i < SIDE; i++)
		for (int k = 0; k < SIDE; k++)
			rows[k] += matrix[k][i];
}
static void add_up(int x)
{
	static int calls;
	int *volatile at = &calls;
	*at += x;
}
static void loop_static_in_function(void)
{
#pragma omp parallel for schedule(static)
	for (int i = 0; i < N; i++)
		add_up(i);
}
static void move(int *to, const int *from)
{
#pragma omp parallel for schedule(static)
	for (int i = 0; i < N - 1; i++)
		to[i] = from[i];
}
static void loop_alias(void)
{
	move(between, between + 1);
}
/* The second thread adds its part when the first has read already: had it been sooner, the sums would be in order. */
static void loop_sum_too_early(void)
{
	static int done;
#pragma omp parallel
	{
#pragma omp for schedule(static) nowait reduction(+ : counted)
		for (int i = 0; i < N; i++) {
			while (i == N - 1 && !__atomic_load_n(&done, __ATOMIC_RELAXED))
				sched_yield();
			counted += i;
		}
		if (omp_get_thread_num() == 0) {
			plain[0] = counted;
			__atomic_store_n(&done, 1, __ATOMIC_RELAXED);
		}
	}
}
static void loop_half_locked(void)
{
#pragma omp parallel for schedule(static)
	for (int i = 0; i < 2; i++)
		if (i) {
#pragma omp critical
			half_locked++;
		} else {
			half_locked++;
		}
}
static void loop_find_last(void)
{
#pragma omp parallel for schedule(static)
	for (int i = 0; i < N; i++)
		if (plain[i] == 0)
			found_last = i;
}
static void sections_both(void)
{
	static int arrived;
#pragma omp parallel sections
	{
#pragma omp section
		{
			meet(&arrived);
			both_sides = 1;
		}
#pragma omp section
		{
			meet(&arrived);
			both_sides = 2;
		}
	}
}
static void task_not_awaited(void)
{
	static int arrived;
#pragma omp parallel
#pragma omp single
	{
#pragma omp task
		{
			meet(&arrived);
			told_early = 1;
		}
		meet(&arrived);
		plain[1] = told_early;
	}
}
static void task_of_other_group(void)
{
	static int arrived;
#pragma omp parallel
#pragma omp single
	{
#pragma omp task
		{
			meet(&arrived);
			in_group++;
		}
#pragma omp taskgroup
		{
			meet(&arrived);
			in_group++;
		}
	}
}

/* ---- without races ---- */
static void loop_own_temporary(void)
{
	int own = 3;
#pragma omp parallel for schedule(static) firstprivate(own)
	for (int i = 0; i < N; i++) {
		own += plain[i];
		plain[i] = own;
	}
}
static void loop_same_thread(void)
{
#pragma omp parallel for schedule(static, 1)
	for (int i = 0; i < N; i++)
		far_apart[i] = i < N / 2 ? i : far_apart[i - N / 2] + 1;
}
static void loop_permuted(void)
{
#pragma omp parallel for schedule(static)
	for (int i = 0; i < N; i++)
		by_index[i * 7 % N] += i;
}
static void loop_collapsed(void)
{
#pragma omp parallel for collapse(2) schedule(static)
	for (int i = 0; i < SIDE; i++)
		for (int k = 0; k < SIDE; k++)
			matrix[i][k] = i * k;
}
static void loop_rows_reduced(void)
{
#pragma omp parallel for schedule(static) reduction(+ : rows)
	for (int i = 0; i < SIDE; i++)
		for (int k = 0; k < SIDE; k++)
			rows[k] += matrix[k][i];
}
static void loop_lastprivate(void)
{
	int last = 0;
#pragma omp parallel for schedule(static) lastprivate(last)
	for (int i = 0; i < N; i++)
		last = i;
	found_last = last;
}
static void loop_not_parallel(void)
{
#pragma omp parallel for if (0)
	for (int i = 0; i < N; i++)
		anti[i] = anti[i + 1] + 1;
}
static void loop_one_thread(void)
{
#pragma omp parallel for num_threads(1)
	for (int i = 0; i < N; i++)
		kept += i;
}
static void loop_histogram(void)
{
#pragma omp parallel for schedule(static)
	for (int i = 0; i < N; i++)
#pragma omp atomic
		histogram[i % 4]++;
}
static void loop_captured(void)
{
#pragma omp parallel for schedule(static)
	for (int i = 0; i < N; i++) {
		int mine;
#pragma omp atomic capture
		mine = taken++;
		plain[mine] = i;
	}
}
static void loop_dynamic(void)
{
#pragma omp parallel
	{
#pragma omp for schedule(dynamic, 3)
		for (int i = 0; i < N; i++)
			plain[i] = i;
#pragma omp for schedule(guided)
		for (int i = 0; i < N; i++)
			between[i] = plain[N - 1 - i];
	}
}
static void loop_doacross(void)
{
#pragma omp parallel for ordered(1) schedule(static, 1)
	for (int i = 1; i < 50; i++) {
#pragma omp ordered depend(sink : i - 1)
		anti[i] = anti[i - 1] + 1;
#pragma omp ordered depend(source)
	}
}
static int of_thread;
#pragma omp threadprivate(of_thread)
static void loop_threadprivate(void)
{
	of_thread = 5;
#pragma omp parallel copyin(of_thread)
	{
#pragma omp for schedule(static)
		for (int i = 0; i < N; i++)
			of_thread += i;
#pragma omp critical
		kept += of_thread;
	}
}
static void loop_summed(void)
{
#pragma omp parallel
	{
#pragma omp for schedule(static) reduction(+ : counted)
		for (int i = 0; i < N; i++)
			counted += i;
		if (omp_get_thread_num() == 0)
			plain[0] = counted;
	}
}
static void master_and_barrier(void)
{
#pragma omp parallel
	{
#pragma omp master
		both_sides = 5;
#pragma omp barrier
		plain[64 * omp_get_thread_num()] = both_sides;
	}
}
static void task_group(void)
{
#pragma omp parallel
#pragma omp single
	{
#pragma omp taskgroup
		{
#pragma omp task
			in_group = 1;
		}
		in_group++;
	}
}
static void task_loop(void)
{
#pragma omp parallel
#pragma omp single
	{
#pragma omp taskloop num_tasks(8)
		for (int i = 0; i < N; i++)
			plain[i] = i;
		for (int i = 0; i < N; i++)
			kept += plain[i];
	}
}
static void task_chain(void)
{
#pragma omp parallel
#pragma omp single
	for (int i = 1; i < 20; i++) {
#pragma omp task depend(in : plain[i - 1]) depend(out : plain[i])
		plain[i] = plain[i - 1] + 1;
	}
}
static int fibonacci(int n)
{
	int a, b;
	if (n < 2)
		return n;
#pragma omp task shared(a)
	a = fibonacci(n - 1);
#pragma omp task shared(b)
	b = fibonacci(n - 2);
#pragma omp taskwait
	return a + b;
}
static void task_recursive(void)
{
#pragma omp parallel
#pragma omp single
	kept = fibonacci(6);
}

const struct test_case cases[] = {RACY(loop_anti_dependence, anti),
                                  RACY(loop_half_way, far_apart),
                                  RACY(loop_shared_index, by_index),
                                  RACY(loop_shared_temporary, kept),
                                  RACY(loop_inner_shared, column),
                                  RACY(loop_into_one_row, rows),
                                  OBJECT(loop_static_in_function, "*"),
                                  RACY(loop_alias, between),
                                  RACY(loop_sum_too_early, counted),
                                  RACY(loop_half_locked, half_locked),
                                  RACY(loop_find_last, found_last),
                                  RACY(sections_both, both_sides),
                                  RACY(task_not_awaited, told_early),
                                  RACY(task_of_other_group, in_group),
                                  FREE(loop_own_temporary),
                                  FREE(loop_same_thread),
                                  FREE(loop_permuted),
                                  FREE(loop_collapsed),
                                  FREE(loop_rows_reduced),
                                  FREE(loop_lastprivate),
                                  FREE(loop_not_parallel),
                                  FREE(loop_one_thread),
                                  FREE(loop_histogram),
                                  FREE(loop_captured),
                                  FREE(loop_dynamic),
                                  FREE(loop_doacross),
                                  FREE(loop_threadprivate),
                                  FREE(loop_summed),
                                  FREE(master_and_barrier),
                                  FREE(task_group),
                                  FREE(task_loop),
                                  FREE(task_chain),
                                  FREE(task_recursive),
                                  {NULL, NULL, NULL}};
