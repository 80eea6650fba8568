/* OpenMP, compiled by gcc. */
#include "cases.h"
#include <omp.h>
#include <sched.h>

enum { N = 200 };
int numbers[N], sum, last, shared_x;

static void __attribute__((constructor)) two_threads(void)
{
	omp_set_num_threads(2);
}

/* ---- racy ---- */
static void omp_sum(void)
{
#pragma omp parallel for
	for (int i = 0; i < N; i++)
		sum += i;
}
static void omp_dependence(void)
{
#pragma omp parallel for schedule(static)
	for (int i = 0; i < N - 1; i++)
		numbers[i + 1] = numbers[i] + 1;
}
static void omp_nowait(void)
{
#pragma omp parallel
	{
#pragma omp for nowait schedule(static)
		for (int i = 0; i < N; i++)
			numbers[i] = i;
#pragma omp for schedule(static)
		for (int i = 0; i < N; i++)
			sum = numbers[N - 1 - i];
	}
}
static void omp_write(void)
{
#pragma omp parallel
	shared_x = omp_get_thread_num();
}
static void omp_two_criticals(void)
{
#pragma omp parallel
	{
		if (omp_get_thread_num()) {
#pragma omp critical(a)
			shared_x++;
		} else {
#pragma omp critical(b)
			shared_x++;
		}
	}
}
static void omp_atomic_read(void)
{
#pragma omp parallel
	{
		if (omp_get_thread_num()) {
#pragma omp atomic
			shared_x++;
		} else {
			last = shared_x;
		}
	}
}
static void omp_master(void)
{
#pragma omp parallel
	{
#pragma omp master
		shared_x = 5;
		if (omp_get_thread_num())
			last = shared_x;
	}
}
static void omp_single_nowait(void)
{
#pragma omp parallel
	{
#pragma omp single nowait
		shared_x = 5;
		numbers[omp_get_thread_num() * 64] = shared_x;
	}
}
/* Two tasks that run at once: each waits for the other to begin. */
static void omp_tasks(void)
{
	static int begun;
#pragma omp parallel
#pragma omp single
	{
		for (int i = 0; i < 2; i++) {
#pragma omp task
			{
				__atomic_fetch_add(&begun, 1, __ATOMIC_RELAXED);
				while (__atomic_load_n(&begun, __ATOMIC_RELAXED) < 2)
					sched_yield();
				shared_x++;
			}
		}
	}
}
static void omp_lastprivate(void)
{
	int x = 0;
#pragma omp parallel for
	for (int i = 0; i < N; i++)
		x = i;
	last = x;
}

/* Tasks that nothing orders, whichever thread runs them. */
static void omp_task_and_maker(void)
{
#pragma omp parallel
#pragma omp single
	{
#pragma omp task
		shared_x = 1;
		shared_x = 2;
	}
}
static void omp_tasks_beside(void)
{
#pragma omp parallel
#pragma omp single
	for (int i = 0; i < 4; i++) {
#pragma omp task
		sum += i;
	}
}
static void omp_task_of_task(void)
{
#pragma omp parallel
#pragma omp single
	{
#pragma omp task
		{
#pragma omp task
			shared_x = 1;
		}
#pragma omp taskwait
		last = shared_x;
	}
}
static void omp_taskloop_on(void)
{
#pragma omp parallel
#pragma omp single
	{
#pragma omp taskloop grainsize(10) nogroup
		for (int i = 0; i < N; i++)
			numbers[i] = i;
		numbers[3]++;
	}
}

/* ---- without races ---- */
static void omp_for(void)
{
	for (int k = 0; k < 20; k++) {
#pragma omp parallel for
		for (int i = 0; i < N; i++)
			numbers[i] += i;
	}
}
static void omp_reduction(void)
{
#pragma omp parallel for reduction(+ : sum)
	for (int i = 0; i < N; i++)
		sum += numbers[i];
	printf("%d\n", sum);
}
static void omp_critical(void)
{
#pragma omp parallel for
	for (int i = 0; i < N; i++) {
#pragma omp critical
		sum += i;
	}
}
static void omp_named_critical(void)
{
#pragma omp parallel for
	for (int i = 0; i < N; i++) {
#pragma omp critical(name)
		sum += i;
	}
}
static void omp_atomic(void)
{
#pragma omp parallel for
	for (int i = 0; i < N; i++) {
#pragma omp atomic
		sum += i;
	}
}
static void omp_barrier(void)
{
#pragma omp parallel
	for (int k = 0; k < 20; k++) {
		const int me = omp_get_thread_num();
		numbers[me] = k;
#pragma omp barrier
		if (numbers[!me] != k)
			abort();
#pragma omp barrier
	}
}
static void omp_two_loops(void)
{
#pragma omp parallel
	{
#pragma omp for schedule(dynamic, 5)
		for (int i = 0; i < N; i++)
			numbers[i] = i;
#pragma omp for schedule(dynamic, 3)
		for (int i = 0; i < N; i++)
			numbers[N - 1 - i]++;
	}
}
static void omp_locks(void)
{
	omp_lock_t lock;
	omp_init_lock(&lock);
#pragma omp parallel for
	for (int i = 0; i < N; i++) {
		omp_set_lock(&lock);
		sum += i;
		omp_unset_lock(&lock);
	}
	omp_destroy_lock(&lock);
}
static void omp_single(void)
{
#pragma omp parallel
	{
#pragma omp single
		shared_x = 5;
		if (shared_x != 5)
			abort();
	}
}
static void omp_copyprivate(void)
{
	int x;
#pragma omp parallel private(x)
	{
#pragma omp single copyprivate(x)
		x = 7;
		if (x != 7)
			abort();
	}
}
static void omp_ordered(void)
{
#pragma omp parallel for ordered
	for (int i = 0; i < N; i++) {
#pragma omp ordered
		sum += i;
	}
}
static void omp_sections(void)
{
#pragma omp parallel sections
	{
#pragma omp section
		numbers[0] = 1;
#pragma omp section
		numbers[1] = 1;
	}
}
static void omp_taskwait(void)
{
	int a = 0, b = 0;
#pragma omp parallel
#pragma omp single
	{
#pragma omp task shared(a)
		a = 1;
#pragma omp task shared(b)
		b = 1;
#pragma omp taskwait
		sum = a + b;
	}
}
static void omp_depend(void)
{
	int x = 0;
#pragma omp parallel
#pragma omp single
	{
#pragma omp task shared(x) depend(out : x)
		x = 1;
#pragma omp task shared(x) depend(inout : x)
		x++;
	}
	last = x;
}
/* A task that another thread runs at the barrier behind the region, when its own part has ended. */
static void omp_task_at_end(void)
{
	static int begun;
#pragma omp parallel
#pragma omp single
	{
#pragma omp task
		{
			shared_x = 5;
			__atomic_store_n(&begun, 1, __ATOMIC_RELAXED);
		}
		while (!__atomic_load_n(&begun, __ATOMIC_RELAXED))
			sched_yield();
	}
	last = shared_x;
}
/* Its variables stand where those of other calls stood before. */
static int fibonacci(int n)
{
	int a = 0, b = 0;
	if (n < 2)
		return n;
#pragma omp task shared(a)
	a = fibonacci(n - 1);
#pragma omp task shared(b)
	b = fibonacci(n - 2);
#pragma omp taskwait
	return a + b;
}
static void omp_fibonacci(void)
{
#pragma omp parallel
#pragma omp single
	last = fibonacci(8);
}
/* Each thread has its part, which the tasks that it runs use in turn. */
static void omp_task_reductions(void)
{
#pragma omp parallel reduction(task, + : shared_x)
#pragma omp single
	{
#pragma omp taskloop reduction(+ : sum)
		for (int i = 0; i < N; i++)
			sum += i;
#pragma omp taskgroup task_reduction(+ : last)
		for (int i = 0; i < 8; i++) {
#pragma omp task in_reduction(+ : last, shared_x)
			{
				last += i;
				shared_x++;
			}
		}
	}
}
static int of_thread;
#pragma omp threadprivate(of_thread)
static void omp_task_threadprivate(void)
{
#pragma omp parallel
	for (int i = 0; i < 8; i++) {
#pragma omp task
		of_thread++;
	}
}
/* These run at once. */
static void omp_task_included(void)
{
#pragma omp parallel
#pragma omp single
	for (int i = 0; i < 4; i++) {
#pragma omp task if (0)
		shared_x++;
#pragma omp taskloop if (0)
		for (int k = 0; k < 4; k++)
			shared_x++;
	}
}
static void omp_taskloop(void)
{
#pragma omp parallel
#pragma omp single
	{
#pragma omp taskloop grainsize(10)
		for (int i = 0; i < N; i++)
			numbers[i] = i;
		numbers[3]++;
	}
}
static void omp_nested(void)
{
	omp_set_max_active_levels(2);
#pragma omp parallel num_threads(2)
	{
		int mine = 0;
#pragma omp parallel num_threads(2)
		{
#pragma omp critical
			mine++;
		}
		if (mine < 1)
			abort();
	}
}

/* The lines of a directive that goes on are one. */
static void omp_atomic_in_two_lines(void)
{
#pragma omp parallel num_threads(2)
	for (int i = 0; i < N; i++) {
		int now;
/* clang-format off */
#pragma omp \
	atomic write
		shared_x = i;
#pragma omp \
	atomic read
		now = shared_x;
		/* clang-format on */
		if (now < 0)
			abort();
	}
}

/* What compare-and-exchange adds up is read first by an ordinary mov, whose line is the pragma's. */
static void omp_reduced_by_exchange(void)
{
	int both = 1, either = 0, most = -1;
	double sum_of = 0;
#pragma omp parallel reduction(&& : both) reduction(|| : either)
	{
		both = numbers[0] == 0;
		either = omp_get_thread_num() == 1;
	}
#pragma omp parallel for reduction(max : most)
	for (int i = 0; i < 100; i++)
		most = numbers[i] > most ? numbers[i] : most;
#pragma omp parallel for reduction(+ : sum_of)
	for (int i = 0; i < 100; i++)
		sum_of += numbers[i] + 1;
	if (sum_of != 100 || !both || most || either != (omp_get_max_threads() > 1))
		abort();
}
/* The line of the load is any of the loop's. */
static double orphan_sum;
static void __attribute__((noinline)) add_up_orphan(void)
{
#pragma omp for reduction(+ : orphan_sum)
	for (int i = 0; i < 100; i++) {
		orphan_sum = orphan_sum + numbers[i];
		if (i == 50)
			puts("half");
	}
}
static void omp_reduced_in_function(void)
{
#pragma omp parallel
	add_up_orphan();
	if (orphan_sum != 0)
		abort();
}
/* In no region nothing is deferred. */
static void omp_taskloop_alone(void)
{
#pragma omp parallel
	__atomic_add_fetch(&shared_x, 1, __ATOMIC_RELAXED);
#pragma omp taskloop num_tasks(8)
	for (int i = 0; i < 64; i++)
		numbers[i % 4]++;
}

const struct test_case cases[] = {RACY(omp_sum, sum),
                                  RACY(omp_dependence, numbers),
                                  RACY(omp_nowait, numbers),
                                  RACY(omp_write, shared_x),
                                  RACY(omp_two_criticals, shared_x),
                                  RACY(omp_atomic_read, shared_x),
                                  RACY(omp_master, shared_x),
                                  RACY(omp_single_nowait, shared_x),
                                  RACY(omp_tasks, shared_x),
                                  OBJECT(omp_lastprivate, "*"),
                                  RACY(omp_task_and_maker, shared_x),
                                  RACY(omp_tasks_beside, sum),
                                  RACY(omp_task_of_task, shared_x),
                                  RACY(omp_taskloop_on, numbers),
                                  FREE(omp_for),
                                  FREE(omp_reduction),
                                  FREE(omp_critical),
                                  FREE(omp_named_critical),
                                  FREE(omp_atomic),
                                  FREE(omp_atomic_in_two_lines),
                                  FREE(omp_barrier),
                                  FREE(omp_two_loops),
                                  FREE(omp_locks),
                                  FREE(omp_single),
                                  FREE(omp_copyprivate),
                                  FREE(omp_ordered),
                                  FREE(omp_sections),
                                  FREE(omp_taskwait),
                                  FREE(omp_depend),
                                  FREE(omp_task_at_end),
                                  FREE(omp_fibonacci),
                                  FREE(omp_task_reductions),
                                  FREE(omp_task_threadprivate),
                                  FREE(omp_task_included),
                                  FREE(omp_taskloop),
                                  FREE(omp_taskloop_alone),
                                  FREE(omp_reduced_by_exchange),
                                  FREE(omp_reduced_in_function),
                                  FREE(omp_nested),
                                  {NULL, NULL, NULL}};
