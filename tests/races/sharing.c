/* OpenMP's worksharing and what orders its threads, compiled by gcc: programs in the manner of DataRaceBench. */
#include "cases.h"
#include <omp.h>

enum { N = 64 };
int a[N], b[N], m[N][N], count, one_named, other_named, captured, ticket, in_section, copied, per_thread, flag, doacross[N], on_host,
    nested;
int lower[N], steps, without_ordered, ordered_sum, last_private, first_private, reduced, in_nest, masked, swept[N], lanes[N], far,
    critical_and_not;
int updated, read_atomically, hidden, ended, column, barriered, other_lock, scoped, skewed[N][N], sunk[N], collapsed, read_back;
static int own;
#pragma omp threadprivate(own)
static omp_lock_t l, k;
static omp_nest_lock_t nest, nest2;

static void __attribute__((constructor)) two_threads(void)
{
	omp_set_num_threads(2);
	omp_init_lock(&l);
	omp_init_lock(&k);
	omp_init_nest_lock(&nest);
	omp_init_nest_lock(&nest2);
}
static void __attribute__((noinline)) pass_time(void)
{
	for (volatile int i = 0; i < 2000; i++)
		;
}

static int met;
/* Until both threads are here. It orders nothing. */
static void meet(void)
{
	__atomic_fetch_add(&met, 1, __ATOMIC_RELAXED);
	while (__atomic_load_n(&met, __ATOMIC_RELAXED) < 2)
		;
}

/* ---- racy ---- */
static void simd_and_threads(void)
{
#pragma omp parallel for simd
	for (int i = 0; i < N - 1; i++)
		lanes[i] = lanes[i + 1] + 1;
}
static void critical_in_one(void)
{
#pragma omp parallel
	if (omp_get_thread_num()) {
#pragma omp critical
		critical_and_not++;
	} else {
		critical_and_not++;
	}
}
static void read_of_captured(void)
{
#pragma omp parallel
	{
		int mine;
#pragma omp atomic capture
		mine = captured++;
		if (mine && captured > 1)
			a[0] = mine;
	}
}
static void sections_share(void)
{
#pragma omp parallel sections
	{
#pragma omp section
		{
			meet();
			in_section = 1;
		}
#pragma omp section
		{
			meet();
			a[1] = in_section;
		}
	}
}
static void single_nowait(void)
{
#pragma omp parallel
	{
#pragma omp single nowait
		copied = 1;
		a[omp_get_thread_num()] = copied;
	}
}
static void nest_locks_differ(void)
{
#pragma omp parallel
	{
		omp_nest_lock_t *mine = omp_get_thread_num() ? &nest : &nest2;
		omp_set_nest_lock(mine);
		omp_set_nest_lock(mine);
		in_nest++;
		omp_unset_nest_lock(mine);
		omp_unset_nest_lock(mine);
	}
}
static void without_barrier(void)
{
#pragma omp parallel
	{
#pragma omp for nowait schedule(static)
		for (int i = 0; i < N; i++)
			swept[i] = i;
#pragma omp for schedule(static)
		for (int i = 0; i < N; i++)
			b[i] = swept[N - 1 - i];
	}
}
static void column_shared(void)
{
#pragma omp parallel for schedule(static)
	for (int i = 0; i < N; i++)
		for (column = 0; column < 4; column++)
			m[i][column & 3]++;
}
static void flag_without_flush(void)
{
#pragma omp parallel
	{
		if (omp_get_thread_num()) {
			hidden = 1;
		} else {
			pass_time();
			a[2] = hidden;
		}
	}
}
static void ordered_outside(void)
{
#pragma omp parallel for ordered schedule(static, 1)
	for (int i = 0; i < N; i++) {
#pragma omp ordered
		ordered_sum += i;
		without_ordered++;
	}
}
static void skewed_wrongly(void)
{
	for (int d = 1; d < 4; d++) {
#pragma omp parallel for schedule(static)
		for (int i = 1; i < N; i++)
			skewed[d][i] = skewed[d][i - 1] + skewed[d - 1][i];
	}
}
static void lock_in_one(void)
{
#pragma omp parallel
	{
		omp_lock_t *mine = omp_get_thread_num() ? &l : &k;
		omp_set_lock(mine);
		other_lock++;
		omp_unset_lock(mine);
	}
}
static void masters_copy(void)
{
#pragma omp parallel
	{
#pragma omp master
		masked = 3;
		pass_time();
		a[omp_get_thread_num()] = masked;
	}
}
static void sinks_too_far(void)
{
#pragma omp parallel for ordered(1) schedule(static, 1)
	for (int i = 2; i < N; i++) {
#pragma omp ordered depend(sink : i - 2)
		sunk[i] = sunk[i - 1] + 1;
#pragma omp ordered depend(source)
	}
}
static void nested_regions(void)
{
	omp_set_max_active_levels(2);
#pragma omp parallel
#pragma omp parallel
	nested++;
}
static void write_and_atomic_read(void)
{
#pragma omp parallel
	{
		int x;
		if (omp_get_thread_num()) {
#pragma omp atomic read
			x = read_atomically;
			a[4] = x;
		} else {
			read_atomically = 1;
		}
	}
}

/* ---- free of races ---- */
static void simd_only(void)
{
#pragma omp parallel
#pragma omp single
	{
#pragma omp simd
		for (int i = 0; i < N; i++)
			a[i] = b[i] + 1;
	}
}
static void one_name_of_critical(void)
{
#pragma omp parallel
	for (int i = 0; i < 10; i++) {
#pragma omp critical(one)
		one_named++;
#pragma omp critical(other)
		other_named++;
	}
}
static void tickets(void)
{
#pragma omp parallel
	for (int i = 0; i < 10; i++) {
		int mine;
#pragma omp atomic capture
		mine = ticket++;
		a[mine] = mine;
	}
}
static void updates(void)
{
#pragma omp parallel for
	for (int i = 0; i < N; i++) {
#pragma omp atomic update
		updated += i;
	}
}
static void separate_sections(void)
{
#pragma omp parallel
	{
#pragma omp sections
		{
#pragma omp section
			a[0] = 1;
#pragma omp section
			b[0] = 1;
		}
		int mine = a[0] + b[0];
#pragma omp critical
		count += mine;
	}
}
static void copied_by_single(void)
{
#pragma omp parallel
	{
		int x;
#pragma omp single copyprivate(x)
		x = copied + 1;
		a[omp_get_thread_num()] = x;
	}
}
static void threads_own(void)
{
	own = 3;
#pragma omp parallel copyin(own)
	{
		own += omp_get_thread_num();
		own++;
	}
#pragma omp parallel
	own++;
}
static void nest_lock(void)
{
#pragma omp parallel
	for (int i = 0; i < 10; i++) {
		omp_set_nest_lock(&nest);
		in_nest++;
		if (omp_test_nest_lock(&nest)) {
			in_nest++;
			omp_unset_nest_lock(&nest);
		}
		omp_unset_nest_lock(&nest);
	}
}
static void tested_lock(void)
{
#pragma omp parallel
	for (int i = 0; i < 10; i++) {
		while (!omp_test_lock(&l))
			;
		other_lock++;
		omp_unset_lock(&l);
	}
}
static void flag_with_flush(void)
{
#pragma omp parallel sections
	{
#pragma omp section
		{
			hidden = 1;
#pragma omp flush
#pragma omp atomic write
			flag = 1;
		}
#pragma omp section
		{
			int f = 0;
			while (!f) {
#pragma omp atomic read
				f = flag;
			}
#pragma omp flush
			a[0] = hidden;
		}
	}
}
static void flag_by_order(void)
{
	flag = 0;
#pragma omp parallel sections
	{
#pragma omp section
		{
			hidden = 1;
#pragma omp atomic write release
			flag = 1;
		}
#pragma omp section
		{
			int f = 0;
			while (!f) {
#pragma omp atomic read acquire
				f = flag;
			}
			a[0] = hidden;
		}
	}
}
static void in_order(void)
{
#pragma omp parallel for ordered schedule(dynamic)
	for (int i = 1; i < N; i++) {
		b[i] = i;
#pragma omp ordered
		a[i] = a[i - 1] + b[i];
	}
}
static void sinks(void)
{
#pragma omp parallel for ordered(1) schedule(static, 1)
	for (int i = 1; i < N; i++) {
#pragma omp ordered depend(sink : i - 1)
		doacross[i] = doacross[i - 1] + 1;
#pragma omp ordered depend(source)
	}
}
static void sinks_in_two(void)
{
#pragma omp parallel for ordered(2) schedule(static, 1)
	for (int i = 1; i < 8; i++)
		for (int j = 1; j < 8; j++) {
#pragma omp ordered depend(sink : i - 1, j) depend(sink : i, j - 1)
			m[i][j] = m[i - 1][j] + m[i][j - 1];
#pragma omp ordered depend(source)
		}
}
static void target_on_host(void)
{
	int x = 1;
#pragma omp target map(tofrom : x)
	x++;
	on_host = x;
#pragma omp target teams distribute parallel for map(tofrom : a)
	for (int i = 0; i < N; i++)
		a[i] = i;
	for (int i = 0; i < N; i++)
		on_host += a[i];
}
static void target_then_region(void)
{
#pragma omp target map(tofrom : a)
#pragma omp parallel for
	for (int i = 0; i < N; i++)
		a[i] = i;
#pragma omp parallel for reduction(+ : on_host)
	for (int i = 0; i < N; i++)
		on_host += a[i];
}
static void target_deferred(void)
{
#pragma omp parallel
#pragma omp single
	{
#pragma omp target map(tofrom : a) nowait depend(out : a)
		for (int i = 0; i < N; i++)
			a[i] = i;
#pragma omp task depend(in : a)
		on_host = a[1];
#pragma omp taskwait
		a[1]++;
	}
}
static void last_and_first(void)
{
	int x = 5, y = 0;
#pragma omp parallel for firstprivate(x) lastprivate(y)
	for (int i = 0; i < N; i++)
		y = x + i;
	last_private = y;
}
static void reductions(void)
{
	int low = 100, high = 0, all = 0;
#pragma omp parallel for reduction(min : low) reduction(max : high) reduction(+ : all)
	for (int i = 0; i < N; i++) {
		low = a[i] < low ? a[i] : low;
		high = a[i] > high ? a[i] : high;
		all += a[i];
	}
	reduced = low + high + all;
}
static void reduction_of_array(void)
{
#pragma omp parallel for reduction(+ : lower[:8])
	for (int i = 0; i < N; i++)
		lower[i % 8] += i;
}
static void scan(void)
{
	int sum = 0;
#pragma omp parallel for simd reduction(inscan, + : sum)
	for (int i = 0; i < N; i++) {
		sum += i;
#pragma omp scan inclusive(sum)
		b[i] = sum;
	}
}
static void skewed_rightly(void)
{
	for (int d = 2; d < N; d++) {
#pragma omp parallel for
		for (int i = 1; i < d; i++)
			skewed[i][d - i] = skewed[i - 1][d - i] + skewed[i][d - i - 1];
	}
}
static void red_and_black(void)
{
	for (int colour = 0; colour < 2; colour++) {
#pragma omp parallel for
		for (int i = 1 + colour; i < N - 1; i += 2)
			swept[i] = (swept[i - 1] + swept[i + 1]) / 2;
	}
}
static void barriers(void)
{
#pragma omp parallel
	{
		const int me = omp_get_thread_num();
		for (int i = 0; i < 10; i++) {
			a[me] = i;
#pragma omp barrier
			b[me] = a[!me];
#pragma omp barrier
		}
	}
}
static void collapsing(void)
{
#pragma omp parallel for collapse(2) schedule(guided)
	for (int i = 0; i < N; i++)
		for (int j = 0; j < N; j++)
			m[i][j] = i * j;
}
static void nested_apart(void)
{
	omp_set_max_active_levels(2);
#pragma omp parallel
	{
		const int outer = omp_get_thread_num();
#pragma omp parallel
		m[outer][omp_get_thread_num()]++;
		m[outer][0] += m[outer][1];
	}
}
static void teams(void)
{
#pragma omp teams num_teams(2)
	{
		const int me = omp_get_team_num();
#pragma omp parallel for
		for (int i = 0; i < N; i++)
			m[me][i]++;
	}
}
static void runtime_schedule(void)
{
	omp_set_schedule(omp_sched_dynamic, 3);
#pragma omp parallel for schedule(runtime)
	for (int i = 0; i < N; i++)
		a[i] = b[i] + 1;
}
static void cancelled(void)
{
#pragma omp parallel
	{
#pragma omp for
		for (int i = 0; i < N; i++) {
			a[i] = i;
#pragma omp cancel for if (i == 3)
		}
#pragma omp critical
		count++;
	}
}
static void hints(void)
{
#pragma omp parallel
	for (int i = 0; i < 10; i++) {
#pragma omp critical(one) hint(omp_sync_hint_contended)
		one_named++;
	}
}
static void loop_construct(void)
{
#pragma omp parallel
#pragma omp loop
	for (int i = 0; i < N; i++)
		a[i] = i;
}
static void producer_and_consumer(void)
{
	int full = 0;
#pragma omp parallel sections shared(full)
	{
#pragma omp section
		for (int i = 0; i < 10; i++) {
			int f = 1;
			while (f) {
#pragma omp atomic read seq_cst
				f = full;
			}
			hidden = i;
#pragma omp atomic write seq_cst
			full = 1;
		}
#pragma omp section
		for (int i = 0; i < 10; i++) {
			int f = 0;
			while (!f) {
#pragma omp atomic read seq_cst
				f = full;
			}
			a[5] = hidden;
#pragma omp atomic write seq_cst
			full = 0;
		}
	}
}

const struct test_case cases[] = {RACY(simd_and_threads, lanes),
                                  RACY(critical_in_one, critical_and_not),
                                  RACY(read_of_captured, captured),
                                  RACY(sections_share, in_section),
                                  RACY(single_nowait, copied),
                                  RACY(nest_locks_differ, in_nest),
                                  RACY(without_barrier, swept),
                                  RACY(column_shared, column),
                                  RACY(flag_without_flush, hidden),
                                  RACY(ordered_outside, without_ordered),
                                  RACY(skewed_wrongly, skewed),
                                  RACY(lock_in_one, other_lock),
                                  RACY(masters_copy, masked),
                                  RACY(sinks_too_far, sunk),
                                  RACY(nested_regions, nested),
                                  RACY(write_and_atomic_read, read_atomically),
                                  FREE(simd_only),
                                  FREE(one_name_of_critical),
                                  FREE(tickets),
                                  FREE(updates),
                                  FREE(separate_sections),
                                  FREE(copied_by_single),
                                  FREE(threads_own),
                                  FREE(nest_lock),
                                  FREE(tested_lock),
                                  FREE(flag_with_flush),
                                  FREE(flag_by_order),
                                  FREE(in_order),
                                  FREE(sinks),
                                  FREE(sinks_in_two),
                                  FREE(target_on_host),
                                  FREE(target_then_region),
                                  FREE(target_deferred),
                                  FREE(last_and_first),
                                  FREE(reductions),
                                  FREE(reduction_of_array),
                                  FREE(scan),
                                  FREE(skewed_rightly),
                                  FREE(red_and_black),
                                  FREE(barriers),
                                  FREE(collapsing),
                                  FREE(nested_apart),
                                  FREE(teams),
                                  FREE(runtime_schedule),
                                  FREE(cancelled),
                                  FREE(hints),
                                  FREE(loop_construct),
                                  FREE(producer_and_consumer),
                                  {NULL, NULL, NULL}};
