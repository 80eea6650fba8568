/* OpenMP's tasks, compiled by gcc: what they depend on, who made them, who waits for them. */
#include "cases.h"
#include <omp.h>

enum { N = 20 };
int x, y, z, other_x, mixed, unordered, parts[N], results[N], chained[N], child_x, sibling, awaited, one_awaited, firsts, half_awaited;
int objects, called_twice, early, looped, grouped, late, plain_late, pipeline[3][N], at_end, weak, runs_elsewhere;

static void __attribute__((constructor)) two_threads(void)
{
	omp_set_num_threads(2);
}
static void __attribute__((noinline)) pass_time(void)
{
	for (volatile int n = 0; n < 2000; n++)
		;
}

/* ---- racy ---- */
static void depend_on_others(void)
{
#pragma omp parallel
#pragma omp single
	{
#pragma omp task depend(out : x)
		other_x++;
#pragma omp task depend(out : y)
		other_x++;
	}
}
static void readers_write(void)
{
#pragma omp parallel
#pragma omp single
	{
#pragma omp task depend(out : x)
		x = 1;
#pragma omp task depend(in : x)
		unordered += x;
#pragma omp task depend(in : x)
		unordered -= x;
	}
}
static void not_siblings(void)
{
#pragma omp parallel
#pragma omp single
	{
#pragma omp task
		{
#pragma omp task depend(out : x)
			sibling++;
#pragma omp taskwait
		}
#pragma omp task
		{
#pragma omp task depend(in : x)
			sibling++;
#pragma omp taskwait
		}
	}
}
static void makers_of_both_threads(void)
{
#pragma omp parallel
	{
#pragma omp task depend(inout : x)
		mixed++;
	}
}
static void some_without(void)
{
#pragma omp parallel
#pragma omp single
	{
#pragma omp task depend(inout : x)
		weak++;
#pragma omp task
		weak++;
	}
}
static void waits_for_others(void)
{
#pragma omp parallel
#pragma omp single
	{
#pragma omp task depend(out : x)
		x++;
#pragma omp task depend(out : y)
		one_awaited++;
#pragma omp taskwait depend(in : x)
		one_awaited++;
	}
}
static void grandchild_not_awaited(void)
{
#pragma omp parallel
#pragma omp single
	{
#pragma omp task
		{
#pragma omp task
			{
				pass_time();
				child_x++;
			}
		}
#pragma omp taskwait
		child_x++;
	}
}
static void __attribute__((noinline)) add(int *to)
{
#pragma omp task firstprivate(to)
	(*to)++;
}
static void same_code_twice(void)
{
#pragma omp parallel
#pragma omp single
	{
		add(&called_twice);
		add(&called_twice);
	}
}
/* What the one made is awaited, the other is not, though both are of the same code. */
static void same_code_half_awaited(void)
{
#pragma omp parallel
#pragma omp single
	{
#pragma omp task
		add(&half_awaited);
		add(&firsts);
#pragma omp taskwait
		half_awaited++;
	}
}
static void elements_of_chain(void)
{
#pragma omp parallel
#pragma omp single
	for (int i = 1; i < N; i++) {
#pragma omp task depend(out : chained[i])
		chained[i] = chained[i - 1] + 1;
	}
}
static void out_of_order(void)
{
#pragma omp parallel
#pragma omp single
	{
#pragma omp task depend(in : late)
		plain_late++;
#pragma omp task depend(in : late)
		pass_time();
#pragma omp task depend(out : y)
		plain_late++;
	}
}
static void __attribute__((noinline)) make_and_return(void)
{
	volatile int own = 1;
#pragma omp task shared(own)
	{
		__atomic_store_n(&runs_elsewhere, 1, __ATOMIC_RELAXED);
		pass_time();
		own++;
	}
	while (!__atomic_load_n(&runs_elsewhere, __ATOMIC_RELAXED))
		;
}
static void maker_returns(void)
{
#pragma omp parallel
#pragma omp single
	make_and_return();
}

/* ---- free of races ---- */
static void depend_on_one(void)
{
#pragma omp parallel
#pragma omp single
	{
#pragma omp task depend(out : x)
		x = 1;
#pragma omp task depend(inout : x)
		x++;
#pragma omp task depend(in : x)
		y = x;
#pragma omp task depend(in : x)
		z = x;
#pragma omp task depend(out : x)
		x = 0;
	}
}
static void chain(void)
{
#pragma omp parallel
#pragma omp single
	for (int i = 1; i < N; i++) {
#pragma omp task depend(in : chained[i - 1]) depend(out : chained[i])
		chained[i] = chained[i - 1] + 1;
	}
}
static void pipe(void)
{
#pragma omp parallel
#pragma omp single
	for (int i = 0; i < N; i++) {
#pragma omp task depend(out : pipeline[0][i])
		pipeline[0][i] = i;
#pragma omp task depend(in : pipeline[0][i]) depend(out : pipeline[1][i])
		pipeline[1][i] = pipeline[0][i] + 1;
#pragma omp task depend(in : pipeline[1][i]) depend(inout : z)
		z += pipeline[1][i];
	}
}
static void exclusive(void)
{
#pragma omp parallel
#pragma omp single
	{
#pragma omp task depend(out : x)
		mixed = 0;
		for (int i = 0; i < N; i++)
#pragma omp task depend(mutexinoutset : x)
			mixed++;
#pragma omp task depend(in : x)
		y = mixed;
	}
}
static void independent(void)
{
#pragma omp parallel
#pragma omp single
	for (int i = 0; i < N; i++) {
#pragma omp task depend(out : parts[i])
		parts[i]++;
#pragma omp task depend(in : parts[i])
		results[i] = parts[i];
	}
}
static void many(void)
{
#pragma omp parallel
#pragma omp single
	{
#pragma omp task depend(iterator(i = 0 : N), out : parts[i])
		for (int i = 0; i < N; i++)
			parts[i] = i;
		for (int i = 0; i < N; i++)
#pragma omp task depend(in : parts[i])
			results[i] = parts[i];
	}
}
static void by_objects(void)
{
	omp_depend_t o;
#pragma omp depobj(o) depend(inout : objects)
#pragma omp parallel
#pragma omp single
	{
#pragma omp task depend(depobj : o)
		objects++;
#pragma omp task depend(inout : objects)
		objects++;
#pragma omp task depend(depobj : o)
		objects++;
	}
#pragma omp depobj(o) destroy
}
static void waits_for_one(void)
{
#pragma omp parallel
#pragma omp single
	{
#pragma omp task depend(out : x)
		awaited++;
#pragma omp task depend(out : y)
		y++;
#pragma omp taskwait depend(in : x)
		awaited++;
	}
}
static void not_deferred(void)
{
#pragma omp parallel
#pragma omp single
	{
#pragma omp task depend(out : x)
		{
			pass_time();
			x = 1;
		}
#pragma omp task depend(inout : x) if (0)
		x++;
		y = 1;
#pragma omp task depend(in : x) if (0)
		y += x;
	}
}
static void nested_waits(void)
{
#pragma omp parallel
#pragma omp single
	{
#pragma omp task depend(out : x)
		{
#pragma omp task
			child_x++;
#pragma omp taskwait
			child_x++;
		}
#pragma omp task depend(in : x)
		child_x++;
	}
}
static void groups(void)
{
#pragma omp parallel
#pragma omp single
	{
#pragma omp taskgroup
		{
#pragma omp task
			{
#pragma omp task
				grouped++;
			}
		}
		grouped++;
	}
}
static void loops_of_tasks(void)
{
#pragma omp parallel
#pragma omp single
	{
#pragma omp taskloop grainsize(2)
		for (int i = 0; i < N; i++)
			parts[i] = i;
		for (int i = 0; i < N; i++)
			looped += parts[i];
#pragma omp taskloop num_tasks(4) firstprivate(looped)
		for (int i = 0; i < N; i++)
			parts[i] += looped;
	}
}
static void awaited_in_time(void)
{
#pragma omp parallel
#pragma omp single
	{
		int own = 1;
#pragma omp task shared(own)
		{
			pass_time();
			own++;
		}
#pragma omp taskwait
		at_end = own;
	}
}
static int fib(int n)
{
	int a, b;
	if (n < 2)
		return n;
#pragma omp task shared(a)
	a = fib(n - 1);
#pragma omp task shared(b)
	b = fib(n - 2);
#pragma omp taskwait
	return a + b;
}
static void recursion(void)
{
#pragma omp parallel
#pragma omp single
	x = fib(8);
}
static void both_make(void)
{
#pragma omp parallel
	{
		const int me = omp_get_thread_num();
#pragma omp task depend(out : parts[me])
		parts[me]++;
#pragma omp task depend(inout : parts[me])
		parts[me]++;
	}
}
static void many_wait(void)
{
#pragma omp parallel
#pragma omp single
	{
		for (int i = 0; i < 200; i++)
#pragma omp task depend(inout : parts[i % N])
			parts[i % N]++;
#pragma omp taskwait
		for (int i = 0; i < N; i++)
			x += parts[i];
	}
}
static void reads_then_writes(void)
{
#pragma omp parallel
#pragma omp single
	for (int i = 0; i < N; i++) {
#pragma omp task depend(in : x)
		parts[i] = x;
#pragma omp task depend(in : x)
		results[i] = x;
#pragma omp task depend(inout : x)
		x++;
	}
}
static void blocks_of_matrix(void)
{
	enum { B = 4 };
	static double m[B][B][64];
#pragma omp parallel
#pragma omp single
	for (int k = 0; k < B; k++) {
#pragma omp task depend(inout : m[k][k])
		for (int e = 0; e < 64; e++)
			m[k][k][e] += 1;
		for (int i = k + 1; i < B; i++)
#pragma omp task depend(in : m[k][k]) depend(inout : m[i][k])
			for (int e = 0; e < 64; e++)
				m[i][k][e] += m[k][k][e];
		for (int i = k + 1; i < B; i++)
			for (int j = k + 1; j <= i; j++)
#pragma omp task depend(in : m[i][k], m[j][k]) depend(inout : m[i][j])
				for (int e = 0; e < 64; e++)
					m[i][j][e] -= m[i][k][e] * m[j][k][e];
	}
}

/* A task that is over when its event is fulfilled: who waits for it knows what came before that, and not what came after. */
static void fulfil(int *after)
{
	omp_event_handle_t event;
	int before = 0;
#pragma omp parallel
#pragma omp single
	{
#pragma omp task detach(event) depend(out : x)
		x = 1;
		pass_time();
#pragma omp task depend(in : x) shared(before)
		{
			results[0] = before;
			if (after)
				*after += 2;
		}
		before++;
		omp_fulfill_event(event);
		if (after)
			++*after;
	}
}
static void fulfilled(void)
{
	fulfil(NULL);
}
static void fulfilled_too_early(void)
{
	fulfil(&early);
}

/* So many that the library's own code runs often. */
static void long_chain(void)
{
#pragma omp parallel
#pragma omp single
	for (int i = 0; i < 500; i++) {
#pragma omp task depend(out : x)
		x++;
	}
}

const struct test_case cases[] = {RACY(depend_on_others, other_x),
                                  RACY(readers_write, unordered),
                                  RACY(not_siblings, sibling),
                                  RACY(makers_of_both_threads, mixed),
                                  RACY(some_without, weak),
                                  RACY(waits_for_others, one_awaited),
                                  RACY(grandchild_not_awaited, child_x),
                                  RACY(same_code_twice, called_twice),
                                  RACY(same_code_half_awaited, half_awaited),
                                  RACY(elements_of_chain, chained),
                                  RACY(out_of_order, plain_late),
                                  RACY(fulfilled_too_early, early),
                                  OBJECT(maker_returns, "*"),
                                  FREE(depend_on_one),
                                  FREE(chain),
                                  FREE(long_chain),
                                  FREE(pipe),
                                  FREE(exclusive),
                                  FREE(independent),
                                  FREE(many),
                                  FREE(by_objects),
                                  FREE(waits_for_one),
                                  FREE(not_deferred),
                                  FREE(nested_waits),
                                  FREE(groups),
                                  FREE(loops_of_tasks),
                                  FREE(awaited_in_time),
                                  FREE(recursion),
                                  FREE(both_make),
                                  FREE(many_wait),
                                  FREE(reads_then_writes),
                                  FREE(blocks_of_matrix),
                                  FREE(fulfilled),
                                  {NULL, NULL, NULL}};
