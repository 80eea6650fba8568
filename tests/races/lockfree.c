/* Programs that hand over by atomic variables, most of whose accesses are plain mov instructions: publication, spinning, queues, locks of their own. */
#include <linux/futex.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cases.h"

static void relax(void)
{
	static __thread unsigned n;
	if (++n % 1000 == 0)
		sched_yield();
}

/* ---- without a race ---- */

static atomic_int ready;
static int published;
static void *publish(void *a)
{
	published = 7;
	atomic_store_explicit(&ready, 1, memory_order_release);
	return a;
}
static void *check_now_and_then(void *a)
{
	static int own[100];
	for (int n = 0; n < 100000; n++) {
		if (atomic_load_explicit(&ready, memory_order_acquire))
			return published == 7 ? a : NULL;
		for (int i = 0; i < 100; i++)
			own[i] += n;
		relax();
	}
	return a;
}
static void now_and_then(void)
{
	both(check_now_and_then, publish);
}

static atomic_int phase;
static int first_part, second_part;
static void *two_phases(void *a)
{
	first_part = 1;
	atomic_store_explicit(&phase, 1, memory_order_release);
	for (int i = 0; i < 1000; i++)
		second_part += i;
	atomic_store_explicit(&phase, 2, memory_order_release);
	return a;
}
static void *await_second(void *a)
{
	while (atomic_load_explicit(&phase, memory_order_acquire) < 2)
		relax();
	return first_part + second_part ? a : NULL;
}
static void phases(void)
{
	both(await_second, two_phases);
}

static atomic_int sequence, halves[2];
static void *write_halves(void *a)
{
	for (int i = 1; i <= TURNS; i++) {
		atomic_store_explicit(&sequence, 2 * i - 1, memory_order_relaxed);
		atomic_thread_fence(memory_order_release);
		atomic_store_explicit(&halves[0], i, memory_order_relaxed);
		atomic_store_explicit(&halves[1], -i, memory_order_relaxed);
		atomic_store_explicit(&sequence, 2 * i, memory_order_release);
	}
	return a;
}
static void *read_halves(void *a)
{
	int sum = 0;
	for (int i = 0; i < TURNS; i++) {
		int before, after, x, y;
		do {
			before = atomic_load_explicit(&sequence, memory_order_acquire);
			x = atomic_load_explicit(&halves[0], memory_order_relaxed);
			y = atomic_load_explicit(&halves[1], memory_order_relaxed);
			atomic_thread_fence(memory_order_acquire);
			after = atomic_load_explicit(&sequence, memory_order_relaxed);
			relax();
		} while (before != after || (before & 1));
		sum += x + y;
	}
	return sum ? NULL : a;
}
static void seqlock(void)
{
	both(read_halves, write_halves);
}

static atomic_int fenced_flag;
static int fenced_data;
static void *give_behind_fence(void *a)
{
	fenced_data = 7;
	atomic_thread_fence(memory_order_release);
	atomic_store_explicit(&fenced_flag, 1, memory_order_relaxed);
	return a;
}
static void *take_behind_fence(void *a)
{
	while (!atomic_load_explicit(&fenced_flag, memory_order_relaxed))
		relax();
	atomic_thread_fence(memory_order_acquire);
	return fenced_data ? a : NULL;
}
static void fences(void)
{
	both(take_behind_fence, give_behind_fence);
}

struct thing {
	int value;
};
static _Atomic(struct thing *) instance;
static pthread_mutex_t instance_lock = PTHREAD_MUTEX_INITIALIZER;
static void *use_instance(void *a)
{
	for (int i = 0; i < TURNS; i++) {
		struct thing *t = atomic_load_explicit(&instance, memory_order_acquire);
		if (!t) {
			pthread_mutex_lock(&instance_lock);
			t = atomic_load_explicit(&instance, memory_order_relaxed);
			if (!t) {
				t = malloc(sizeof *t);
				t->value = 7;
				atomic_store_explicit(&instance, t, memory_order_release);
			}
			pthread_mutex_unlock(&instance_lock);
		}
		if (t->value != 7)
			return NULL;
	}
	return a;
}
static void double_checked(void)
{
	both(use_instance, use_instance);
}

struct node {
	struct node *next;
	int value;
};
static _Atomic(struct node *) top;
static void push(struct node *n)
{
	struct node *old = atomic_load_explicit(&top, memory_order_relaxed);
	do
		n->next = old;
	while (!atomic_compare_exchange_weak_explicit(&top, &old, n, memory_order_release, memory_order_relaxed));
}
static struct node *pop(void)
{
	struct node *n = atomic_load_explicit(&top, memory_order_acquire);
	while (n && !atomic_compare_exchange_weak_explicit(&top, &n, n->next, memory_order_acquire, memory_order_acquire))
		;
	return n;
}
static void *push_some(void *a)
{
	static struct node nodes[TURNS];
	for (int i = 0; i < TURNS; i++) {
		nodes[i].value = i;
		push(&nodes[i]);
	}
	return a;
}
static void *pop_some(void *a)
{
	int sum = 0;
	for (int n = 0; n < TURNS;) {
		struct node *p = pop();
		if (p)
			sum += p->value, n++;
		else
			relax();
	}
	return sum ? a : NULL;
}
static void stack(void)
{
	both(pop_some, push_some);
}

enum { CELLS = 8 };
static struct {
	int cell[CELLS];
	atomic_uint head, tail;
} ring;
static void *produce(void *a)
{
	for (unsigned i = 0; i < 10 * TURNS; i++) {
		while (i - atomic_load_explicit(&ring.head, memory_order_acquire) == CELLS)
			relax();
		ring.cell[i % CELLS] = (int)i;
		atomic_store_explicit(&ring.tail, i + 1, memory_order_release);
	}
	return a;
}
static void *consume(void *a)
{
	int sum = 0;
	for (unsigned i = 0; i < 10 * TURNS; i++) {
		while (atomic_load_explicit(&ring.tail, memory_order_acquire) == i)
			relax();
		sum += ring.cell[i % CELLS];
		atomic_store_explicit(&ring.head, i + 1, memory_order_release);
	}
	return sum ? a : NULL;
}
static void queue(void)
{
	both(produce, consume);
}
static void queue_from_behind(void)
{
	both(consume, produce);
}

static struct {
	atomic_uint sequence;
	int value;
} cells[CELLS];
static atomic_uint put_at, get_at;
static void *put_many(void *a)
{
	for (int i = 0; i < TURNS; i++) {
		const unsigned at = atomic_fetch_add_explicit(&put_at, 1, memory_order_relaxed);
		while (atomic_load_explicit(&cells[at % CELLS].sequence, memory_order_acquire) != at / CELLS * 2)
			relax();
		cells[at % CELLS].value = i;
		atomic_store_explicit(&cells[at % CELLS].sequence, at / CELLS * 2 + 1, memory_order_release);
	}
	return a;
}
static void *get_many(void *a)
{
	int sum = 0;
	for (int i = 0; i < TURNS; i++) {
		const unsigned at = atomic_fetch_add_explicit(&get_at, 1, memory_order_relaxed);
		while (atomic_load_explicit(&cells[at % CELLS].sequence, memory_order_acquire) != at / CELLS * 2 + 1)
			relax();
		sum += cells[at % CELLS].value;
		atomic_store_explicit(&cells[at % CELLS].sequence, at / CELLS * 2 + 2, memory_order_release);
	}
	return sum ? a : NULL;
}
static void queue_of_many(void)
{
	void *(*const run[])(void *) = {put_many, get_many, put_many, get_many};
	pthread_t t[4];
	for (int i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, run[i], NULL);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
}

static atomic_int mutex_word;
static int under_mutex;
static void mutex_take(void)
{
	int c = 0;
	if (atomic_compare_exchange_strong_explicit(&mutex_word, &c, 1, memory_order_acquire, memory_order_acquire))
		return;
	if (c != 2)
		c = atomic_exchange_explicit(&mutex_word, 2, memory_order_acquire);
	while (c) {
		syscall(SYS_futex, &mutex_word, FUTEX_WAIT_PRIVATE, 2, NULL, NULL, 0);
		c = atomic_exchange_explicit(&mutex_word, 2, memory_order_acquire);
	}
}
static void mutex_give(void)
{
	if (atomic_fetch_sub_explicit(&mutex_word, 1, memory_order_release) != 1) {
		atomic_store_explicit(&mutex_word, 0, memory_order_release);
		syscall(SYS_futex, &mutex_word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	}
}
static void *use_mutex(void *a)
{
	for (int i = 0; i < TURNS; i++) {
		mutex_take();
		under_mutex++;
		mutex_give();
	}
	return a;
}
static void futex_mutex(void)
{
	both(use_mutex, use_mutex);
}

static atomic_uint next_ticket, serving;
static int by_ticket;
static void *use_tickets(void *a)
{
	for (int i = 0; i < TURNS; i++) {
		const unsigned mine = atomic_fetch_add_explicit(&next_ticket, 1, memory_order_relaxed);
		while (atomic_load_explicit(&serving, memory_order_acquire) != mine)
			relax();
		by_ticket++;
		atomic_store_explicit(&serving, mine + 1, memory_order_release);
	}
	return a;
}
static void tickets(void)
{
	both(use_tickets, use_tickets);
}

static atomic_int interested[2], victim;
static int by_turns;
static void *peterson(void *a)
{
	const int me = a != NULL;
	for (int i = 0; i < TURNS; i++) {
		atomic_store(&interested[me], 1);
		atomic_store(&victim, me);
		while (atomic_load(&interested[!me]) && atomic_load(&victim) == me)
			relax();
		by_turns++;
		atomic_store_explicit(&interested[me], 0, memory_order_release);
	}
	return a;
}
static void petersons_lock(void)
{
	both(peterson, peterson);
}

static atomic_int left = 2, sense;
static int columns[2];
static void *step(void *a)
{
	const int me = a != NULL;
	for (int i = 1; i <= TURNS; i++) {
		columns[me] = i + columns[me];
		for (int part = 0; part < 2; part++) {
			const int now = atomic_load_explicit(&sense, memory_order_relaxed);
			if (atomic_fetch_sub_explicit(&left, 1, memory_order_acq_rel) == 1) {
				atomic_store_explicit(&left, 2, memory_order_relaxed);
				atomic_store_explicit(&sense, !now, memory_order_release);
			} else {
				while (atomic_load_explicit(&sense, memory_order_acquire) == now)
					relax();
			}
			if (!part && columns[!me] < 0)
				return NULL;
		}
	}
	return a;
}
static void own_barrier(void)
{
	both(step, step);
}

static atomic_int asked, answered;
static int question, answer;
static void *ask(void *a)
{
	for (int i = 1; i <= TURNS; i++) {
		question = i;
		atomic_store_explicit(&asked, i, memory_order_release);
		while (atomic_load_explicit(&answered, memory_order_acquire) != i)
			relax();
		if (answer != 2 * i)
			return NULL;
	}
	return a;
}
static void *reply(void *a)
{
	for (int i = 1; i <= TURNS; i++) {
		while (atomic_load_explicit(&asked, memory_order_acquire) != i)
			relax();
		answer = 2 * question;
		atomic_store_explicit(&answered, i, memory_order_release);
	}
	return a;
}
static void questions(void)
{
	both(reply, ask);
}

static atomic_int chain[2];
static int chained;
static void *chain_first(void *a)
{
	chained = 7;
	atomic_store_explicit(&chain[0], 1, memory_order_release);
	return a;
}
static void *chain_second(void *a)
{
	while (!atomic_load_explicit(&chain[0], memory_order_acquire))
		relax();
	atomic_store_explicit(&chain[1], 1, memory_order_release);
	return a;
}
static void *chain_third(void *a)
{
	while (!atomic_load_explicit(&chain[1], memory_order_acquire))
		relax();
	return chained ? a : NULL;
}
static void all_three(void *(*a)(void *), void *(*b)(void *), void *(*c)(void *))
{
	void *(*const run[])(void *) = {a, b, c};
	pthread_t t[3];
	for (int i = 0; i < 3; i++)
		pthread_create(&t[i], NULL, run[i], NULL);
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
}
static void three_in_a_row(void)
{
	all_three(chain_third, chain_second, chain_first);
}

/* The same, where the second looks for the last time long after it began to, and the third in the meantime: the second has not come that far yet. Relaxed accesses, which order nothing, see to it. */
static atomic_int late_chain[2], second_works, third_looked, first_wrote;
static int late_chained;
static int is_set(atomic_int *x)
{
	return atomic_load_explicit(x, memory_order_relaxed);
}
static void set(atomic_int *x)
{
	atomic_store_explicit(x, 1, memory_order_relaxed);
}
static void *late_first(void *a)
{
	while (!is_set(&third_looked))
		usleep(1000);
	late_chained = 7;
	atomic_store_explicit(&late_chain[0], 1, memory_order_release);
	set(&first_wrote);
	return a;
}
static void work_until_written(void)
{
	sched_yield();
	set(&second_works);
	while (!is_set(&first_wrote))
		;
}
static void *late_second(void *a)
{
	while (!atomic_load_explicit(&late_chain[0], memory_order_acquire))
		work_until_written();
	atomic_store_explicit(&late_chain[1], 1, memory_order_release);
	return a;
}
static void *late_third(void *a)
{
	for (int n = 0; !atomic_load_explicit(&late_chain[1], memory_order_acquire); n += is_set(&second_works)) {
		if (n == 3)
			set(&third_looked);
		usleep(1000);
	}
	return late_chained ? a : NULL;
}
static void late_in_a_row(void)
{
	all_three(late_third, late_second, late_first);
}

/* Again, where the second looks only once. */
static atomic_int once_chain[2], once_works, once_third_looked, once_first_wrote;
static int once_chained;
static void *once_first(void *a)
{
	while (!is_set(&once_third_looked))
		usleep(1000);
	once_chained = 7;
	atomic_store_explicit(&once_chain[0], 1, memory_order_release);
	set(&once_first_wrote);
	return a;
}
static void *once_second(void *a)
{
	sched_yield();
	set(&once_works);
	while (!is_set(&once_first_wrote))
		;
	if (!atomic_load_explicit(&once_chain[0], memory_order_acquire))
		abort();
	atomic_store_explicit(&once_chain[1], 1, memory_order_release);
	return a;
}
static void *once_third(void *a)
{
	for (int n = 0; !atomic_load_explicit(&once_chain[1], memory_order_acquire); n += is_set(&once_works)) {
		if (n == 3)
			set(&once_third_looked);
		usleep(1000);
	}
	return once_chained ? a : NULL;
}
static void once_in_a_row(void)
{
	all_three(once_third, once_second, once_first);
}

static int failing_is_relaxed, given_by_exchange;
static void *give_by_exchange(void *a)
{
	int expected = 0;
	given_by_exchange = 7;
	__atomic_compare_exchange_n(&failing_is_relaxed, &expected, 1, 0, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
	return a;
}
static void *take_what_is_given(void *a)
{
	while (!__atomic_load_n(&failing_is_relaxed, __ATOMIC_ACQUIRE))
		relax();
	return given_by_exchange ? a : NULL;
}
static void relaxed_failure(void)
{
	both(take_what_is_given, give_by_exchange);
}

/* ---- racy ---- */

static atomic_int early_flag;
int told_too_early;
static void *tell_early(void *a)
{
	atomic_store_explicit(&early_flag, 1, memory_order_release);
	told_too_early = 7;
	return a;
}
static void *believe(void *a)
{
	while (!atomic_load_explicit(&early_flag, memory_order_acquire))
		relax();
	return told_too_early ? a : NULL;
}
static void too_early(void)
{
	both(believe, tell_early);
}

struct late {
	struct late *next;
	int value;
};
static struct late late_nodes[TURNS];
static _Atomic(struct late *) late_top;
static void *push_then_fill(void *a)
{
	for (int i = 0; i < TURNS; i++) {
		struct late *old = atomic_load(&late_top);
		do
			late_nodes[i].next = old;
		while (!atomic_compare_exchange_weak(&late_top, &old, &late_nodes[i]));
		late_nodes[i].value = i;
	}
	return a;
}
static void *pop_filled(void *a)
{
	int sum = 0;
	for (int n = 0; n < TURNS;) {
		struct late *p = atomic_load(&late_top);
		while (p && !atomic_compare_exchange_weak(&late_top, &p, p->next))
			;
		if (p)
			sum += p->value, n++;
		else
			relax();
	}
	return sum ? a : NULL;
}
static void filled_later(void)
{
	both(pop_filled, push_then_fill);
}

static atomic_uint ticket_of, served;
int beyond_ticket;
static void *leave_early(void *a)
{
	for (int i = 0; i < TURNS; i++) {
		const unsigned mine = atomic_fetch_add(&ticket_of, 1);
		while (atomic_load_explicit(&served, memory_order_acquire) != mine)
			relax();
		atomic_store_explicit(&served, mine + 1, memory_order_release);
		beyond_ticket++;
	}
	return a;
}
static void after_the_lock(void)
{
	both(leave_early, leave_early);
}

static atomic_int half_fenced_flag;
int half_fenced;
static void *give_without_order(void *a)
{
	half_fenced = 7;
	atomic_store_explicit(&half_fenced_flag, 1, memory_order_relaxed);
	return a;
}
static void *take_with_fence(void *a)
{
	while (!atomic_load_explicit(&half_fenced_flag, memory_order_relaxed))
		relax();
	atomic_thread_fence(memory_order_acquire);
	return half_fenced ? a : NULL;
}
static void one_fence(void)
{
	both(take_with_fence, give_without_order);
}

const struct test_case cases[] = {RACY(too_early, told_too_early),
                                  RACY(filled_later, late_nodes),
                                  RACY(after_the_lock, beyond_ticket),
                                  RACY(one_fence, half_fenced),
                                  FREE(now_and_then),
                                  FREE(phases),
                                  FREE(seqlock),
                                  FREE(fences),
                                  FREE(double_checked),
                                  FREE(stack),
                                  FREE(queue),
                                  FREE(queue_from_behind),
                                  FREE(queue_of_many),
                                  FREE(futex_mutex),
                                  FREE(tickets),
                                  FREE(petersons_lock),
                                  FREE(own_barrier),
                                  FREE(questions),
                                  FREE(three_in_a_row),
                                  FREE(late_in_a_row),
                                  FREE(once_in_a_row),
                                  FREE(relaxed_failure),
                                  {NULL, NULL, NULL}};
