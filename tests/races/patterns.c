/* How programs with pthreads and C11's threads are made: pools, queues, caches, locks by hand. In the manner of ThreadSanitizer's and Go's tests. */
#define _GNU_SOURCE
#include "cases.h"
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <threads.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, lock2 = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER;
static sem_t empty, full;
int upgraded, lazily_bad, lazily_good, by_tss, pooled, result_of[16], lost, sequence_data[2], plain_sequence[2], read_copy, shared_by_tas;
int ring[8], ring_bad[8], once_made, half_done, joined_late, detached_value, spun, spun_relaxed, phase_data[2], phase_bad[2], two_locks,
    counted, stopped, elided;
int waited_for, read_without, tree_sum, timed, recursive_data, in_cleanup, by_key, handed, published, bank[2], polled;

static void nap(void)
{
	usleep(2000);
}

/* ---- racy ---- */
static void *upgrade(void *a)
{
	pthread_rwlock_rdlock(&rw);
	if (a)
		upgraded++;
	else
		counted = upgraded;
	pthread_rwlock_unlock(&rw);
	return a;
}
static void write_under_read_lock(void)
{
	both(upgrade, upgrade);
}
static struct thing {
	int value;
} * plain_thing, thing_of_bad;
static void *get_badly(void *a)
{
	if (!plain_thing) {
		pthread_mutex_lock(&lock);
		if (!plain_thing) {
			thing_of_bad.value = 1;
			plain_thing = &thing_of_bad;
		}
		pthread_mutex_unlock(&lock);
	}
	lazily_bad += plain_thing->value + !a;
	return a;
}
static void double_checked_badly(void)
{
	both(get_badly, get_badly);
}
static int ready;
static void *wait_without(void *a)
{
	if (a) {
		nap();
		lost = 1;
		pthread_cond_signal(&cond);
		ready = 1;
	} else {
		pthread_mutex_lock(&lock);
		struct timespec t;
		clock_gettime(CLOCK_REALTIME, &t);
		t.tv_nsec += 50000000;
		t.tv_sec += t.tv_nsec / 1000000000;
		t.tv_nsec %= 1000000000;
		while (!ready && pthread_cond_timedwait(&cond, &lock, &t) != ETIMEDOUT)
			;
		pthread_mutex_unlock(&lock);
		counted = ready;
	}
	return a;
}
static void signal_without_lock(void)
{
	both(wait_without, wait_without);
}
static unsigned plain_count;
static void *sequence_plainly(void *a)
{
	for (int i = 0; i < TURNS; i++) {
		if (a) {
			plain_count++;
			plain_sequence[0] = plain_sequence[1] = i;
			plain_count++;
		} else if (!(plain_count & 1)) {
			counted += plain_sequence[0];
		}
	}
	return a;
}
static void seqlock_plain(void)
{
	both(sequence_plainly, sequence_plainly);
}
static atomic_flag relaxed_flag = ATOMIC_FLAG_INIT;
static void *spin_relaxed(void *a)
{
	for (int i = 0; i < TURNS; i++) {
		while (atomic_flag_test_and_set_explicit(&relaxed_flag, memory_order_relaxed))
			sched_yield();
		spun_relaxed++;
		atomic_flag_clear_explicit(&relaxed_flag, memory_order_relaxed);
	}
	return a;
}
static void spin_lock_relaxed(void)
{
	both(spin_relaxed, spin_relaxed);
}
static int head_bad, tail_bad;
static void *ring_badly(void *a)
{
	for (int i = 0; i < TURNS; i++) {
		if (a) {
			ring_bad[head_bad % 8] = i;
			head_bad++;
		} else if (tail_bad < head_bad) {
			counted += ring_bad[tail_bad % 8];
			tail_bad++;
		}
	}
	return a;
}
static void ring_plain(void)
{
	both(ring_badly, ring_badly);
}
static pthread_barrier_t barrier;
static void *phases_badly(void *a)
{
	for (int i = 0; i < 4; i++) {
		phase_bad[a != NULL] = i;
		pthread_barrier_wait(&barrier);
		counted = phase_bad[a == NULL];
	}
	return a;
}
static void one_barrier_of_two(void)
{
	pthread_barrier_init(&barrier, NULL, 2);
	both(phases_badly, phases_badly);
	pthread_barrier_destroy(&barrier);
}
static void *transfer(void *a)
{
	pthread_mutex_lock(a ? &lock : &lock2);
	bank[0]--;
	bank[1]++;
	pthread_mutex_unlock(a ? &lock : &lock2);
	return a;
}
static void accounts_by_two_locks(void)
{
	both(transfer, transfer);
}
static void *write_late(void *a)
{
	nap();
	joined_late = 1;
	return a;
}
static void read_before_join(void)
{
	pthread_t t;
	pthread_create(&t, NULL, write_late, NULL);
	counted = joined_late;
	pthread_join(t, NULL);
}
static atomic_int is_done;
static void *end_detached(void *a)
{
	atomic_store_explicit(&is_done, 1, memory_order_relaxed);
	detached_value = 1;
	return a;
}
static void detached_relaxed(void)
{
	pthread_t t;
	pthread_create(&t, NULL, end_detached, NULL);
	pthread_detach(t);
	while (!atomic_load_explicit(&is_done, memory_order_relaxed))
		sched_yield();
	while (!*(volatile int *)&detached_value)
		sched_yield();
}
static void *poll_stop(void *a)
{
	if (a)
		stopped = 1;
	else
		for (volatile int i = 0; i < 1000 && !*(volatile int *)&stopped; i++)
			;
	return a;
}
static void stop_flag_plain(void)
{
	both(poll_stop, poll_stop);
}
static sem_t two;
static void *by_two(void *a)
{
	pthread_barrier_wait(&barrier);
	sem_wait(&two);
	pthread_barrier_wait(&barrier);
	counted++;
	sem_post(&two);
	return a;
}
static void semaphore_of_two(void)
{
	pthread_barrier_init(&barrier, NULL, 2);
	sem_init(&two, 0, 2);
	both(by_two, by_two);
}
static struct node {
	struct node *next;
	int value;
} * _Atomic stack_of, nodes[2], *taken;
static void *push_relaxed(void *a)
{
	struct node *n = &nodes[a != NULL];
	if (a) {
		n->value = 7;
		n->next = atomic_load_explicit(&stack_of, memory_order_relaxed);
		while (!atomic_compare_exchange_weak_explicit(&stack_of, &n->next, n, memory_order_relaxed, memory_order_relaxed))
			;
	} else {
		while (!(taken = atomic_load_explicit(&stack_of, memory_order_relaxed)))
			sched_yield();
		counted = taken->value;
	}
	return a;
}
static void stack_relaxed(void)
{
	both(push_relaxed, push_relaxed);
}
static void *alternately(void *a)
{
	for (int i = 0; i < TURNS; i++) {
		if (pthread_mutex_trylock(&lock) == 0) {
			timed++;
			pthread_mutex_unlock(&lock);
		} else {
			timed++;
		}
		if (a)
			sched_yield();
	}
	pthread_barrier_wait(&barrier);
	timed += a != NULL;
	return a;
}
static void trylock_unchecked(void)
{
	pthread_barrier_init(&barrier, NULL, 2);
	both(alternately, alternately);
	counted = timed;
}

/* ---- free of races ---- */
static void *upgrade_rightly(void *a)
{
	for (int i = 0; i < TURNS; i++) {
		pthread_rwlock_rdlock(&rw);
		int mine = upgraded;
		pthread_rwlock_unlock(&rw);
		pthread_rwlock_wrlock(&rw);
		upgraded = mine + 1;
		pthread_rwlock_unlock(&rw);
	}
	return a;
}
static void upgrades(void)
{
	both(upgrade_rightly, upgrade_rightly);
}
static _Atomic(struct thing *) good_thing;
static struct thing thing_of_good;
static void *get_rightly(void *a)
{
	struct thing *t = atomic_load_explicit(&good_thing, memory_order_acquire);
	if (!t) {
		pthread_mutex_lock(&lock);
		t = atomic_load_explicit(&good_thing, memory_order_relaxed);
		if (!t) {
			t = &thing_of_good;
			t->value = 1;
			atomic_store_explicit(&good_thing, t, memory_order_release);
		}
		pthread_mutex_unlock(&lock);
	}
	pthread_mutex_lock(&lock2);
	lazily_good += t->value;
	pthread_mutex_unlock(&lock2);
	return a;
}
static void double_checked(void)
{
	both(get_rightly, get_rightly);
}
static void *by_semaphores(void *a)
{
	for (int i = 0; i < TURNS; i++) {
		if (a) {
			sem_wait(&empty);
			ring[i % 4] = i;
			sem_post(&full);
		} else {
			sem_wait(&full);
			counted += ring[i % 4];
			sem_post(&empty);
		}
	}
	return a;
}
static void bounded_buffer(void)
{
	sem_init(&empty, 0, 4);
	sem_init(&full, 0, 0);
	both(by_semaphores, by_semaphores);
}
/* A pool: tasks in a queue, results behind them. */
static struct {
	void (*run)(int);
	int argument;
} queue[32];
static int first, last_one, closed, outstanding;
static pthread_cond_t has_some = PTHREAD_COND_INITIALIZER, all_done = PTHREAD_COND_INITIALIZER;
static void work(int i)
{
	result_of[i % 16] = i;
}
static void *worker(void *a)
{
	pthread_mutex_lock(&lock);
	for (;;) {
		while (first == last_one && !closed)
			pthread_cond_wait(&has_some, &lock);
		if (first == last_one)
			break;
		const int i = first++;
		pthread_mutex_unlock(&lock);
		queue[i].run(queue[i].argument);
		pthread_mutex_lock(&lock);
		if (!--outstanding)
			pthread_cond_signal(&all_done);
	}
	pthread_mutex_unlock(&lock);
	return a;
}
static void pool(void)
{
	pthread_t t[2];
	for (int i = 0; i < 2; i++)
		pthread_create(&t[i], NULL, worker, NULL);
	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < 16; i++) {
			pthread_mutex_lock(&lock);
			queue[last_one].run = work;
			queue[last_one++].argument = i;
			outstanding++;
			pthread_cond_signal(&has_some);
			pthread_mutex_unlock(&lock);
		}
		pthread_mutex_lock(&lock);
		while (outstanding)
			pthread_cond_wait(&all_done, &lock);
		pthread_mutex_unlock(&lock);
		for (int i = 0; i < 16; i++)
			pooled += result_of[i]++;
	}
	pthread_mutex_lock(&lock);
	closed = 1;
	pthread_cond_broadcast(&has_some);
	pthread_mutex_unlock(&lock);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
}
static atomic_uint sequence;
static atomic_int seq_data[2];
static void *by_sequence(void *a)
{
	for (int i = 0; i < TURNS; i++) {
		if (a) {
			const unsigned s = atomic_load_explicit(&sequence, memory_order_relaxed);
			atomic_store_explicit(&sequence, s + 1, memory_order_relaxed);
			atomic_thread_fence(memory_order_release);
			atomic_store_explicit(&seq_data[0], i, memory_order_relaxed);
			atomic_store_explicit(&seq_data[1], i, memory_order_relaxed);
			atomic_store_explicit(&sequence, s + 2, memory_order_release);
		} else {
			const unsigned before = atomic_load_explicit(&sequence, memory_order_acquire);
			const int x = atomic_load_explicit(&seq_data[0], memory_order_relaxed);
			const int y = atomic_load_explicit(&seq_data[1], memory_order_relaxed);
			atomic_thread_fence(memory_order_acquire);
			if (!(before & 1) && before == atomic_load_explicit(&sequence, memory_order_relaxed))
				counted += x == y;
		}
	}
	return a;
}
static void seqlock(void)
{
	both(by_sequence, by_sequence);
}
/* Readers look at what is current; the writer waits for a moment in which nobody reads before it uses the old one again. */
static struct thing versions[2];
static _Atomic(struct thing *) current = &versions[0];
static atomic_int reading;
static void *copy_and_update(void *a)
{
	for (int i = 0; i < 10; i++) {
		if (a) {
			struct thing *old = atomic_load(&current), *next = old == &versions[0] ? &versions[1] : &versions[0];
			next->value = i;
			atomic_store(&current, next);
			while (atomic_load(&reading))
				sched_yield();
			old->value = -1;
		} else {
			atomic_fetch_add(&reading, 1);
			counted += atomic_load(&current)->value;
			atomic_fetch_sub(&reading, 1);
			sched_yield();
		}
	}
	return a;
}
static void read_copy_update(void)
{
	both(copy_and_update, copy_and_update);
}
static atomic_flag held_flag = ATOMIC_FLAG_INIT;
static void *spin(void *a)
{
	for (int i = 0; i < TURNS; i++) {
		while (atomic_flag_test_and_set_explicit(&held_flag, memory_order_acquire))
			sched_yield();
		shared_by_tas++;
		atomic_flag_clear_explicit(&held_flag, memory_order_release);
	}
	return a;
}
static void spin_lock(void)
{
	both(spin, spin);
}
static atomic_uint next_ticket, now_serving;
static void *by_ticket(void *a)
{
	for (int i = 0; i < TURNS; i++) {
		const unsigned mine = atomic_fetch_add_explicit(&next_ticket, 1, memory_order_relaxed);
		while (atomic_load_explicit(&now_serving, memory_order_acquire) != mine)
			sched_yield();
		spun++;
		atomic_store_explicit(&now_serving, mine + 1, memory_order_release);
	}
	return a;
}
static void ticket_lock(void)
{
	both(by_ticket, by_ticket);
}
static int sums[2];
static void *phases_apart(void *a)
{
	for (int i = 0; i < 6; i++) {
		phase_data[a != NULL] = i;
		pthread_barrier_wait(&barrier);
		sums[a != NULL] += phase_data[a == NULL];
		pthread_barrier_wait(&barrier);
	}
	return a;
}
static void barrier_reused(void)
{
	pthread_barrier_init(&barrier, NULL, 2);
	both(phases_apart, phases_apart);
	pthread_barrier_destroy(&barrier);
	pthread_barrier_init(&barrier, NULL, 2);
	both(phases_apart, phases_apart);
}
static mtx_t m11;
static cnd_t c11;
static once_flag once11 = ONCE_FLAG_INIT;
static tss_t key11;
static int go11;
static void make_once(void)
{
	once_made = 1;
}
static void end_value(void *p)
{
	*(int *)p += 1;
	free(p);
}
static int run11(void *a)
{
	call_once(&once11, make_once);
	int *mine = malloc(sizeof *mine);
	*mine = once_made;
	tss_set(key11, mine);
	mtx_lock(&m11);
	if (a) {
		go11 = 1;
		cnd_signal(&c11);
	} else {
		while (!go11)
			cnd_wait(&c11, &m11);
	}
	by_tss += *(int *)tss_get(key11);
	mtx_unlock(&m11);
	return once_made;
}
static void threads_of_c11(void)
{
	thrd_t t[2];
	int result;
	mtx_init(&m11, mtx_plain);
	cnd_init(&c11);
	tss_create(&key11, end_value);
	thrd_create(&t[0], run11, NULL);
	thrd_create(&t[1], run11, &result);
	thrd_join(t[0], &result);
	counted += result;
	thrd_join(t[1], &result);
	counted += result + by_tss;
	mtx_destroy(&m11);
	cnd_destroy(&c11);
	tss_delete(key11);
}
static void *recurse(void *a)
{
	pthread_mutex_t *m = a;
	for (int i = 0; i < TURNS; i++) {
		pthread_mutex_lock(m);
		pthread_mutex_lock(m);
		recursive_data++;
		pthread_mutex_unlock(m);
		recursive_data++;
		pthread_mutex_unlock(m);
	}
	return a;
}
static void recursive_lock(void)
{
	static pthread_mutex_t m = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
	pthread_t t[2];
	pthread_create(&t[0], NULL, recurse, &m);
	pthread_create(&t[1], NULL, recurse, &m);
	pthread_join(t[0], NULL);
	pthread_join(t[1], NULL);
}
static void unlock_it(void *m)
{
	in_cleanup++;
	pthread_mutex_unlock(m);
}
static void *wait_cancelled(void *a)
{
	pthread_mutex_lock(&lock);
	pthread_cleanup_push(unlock_it, &lock);
	handed = 1;
	while (1)
		pthread_cond_wait(&cond, &lock);
	pthread_cleanup_pop(1);
	return a;
}
static void cancelled_in_wait(void)
{
	pthread_t t;
	int seen = 0;
	pthread_create(&t, NULL, wait_cancelled, NULL);
	while (!seen) {
		pthread_mutex_lock(&lock);
		seen = handed;
		pthread_mutex_unlock(&lock);
		sched_yield();
	}
	pthread_cancel(t);
	pthread_mutex_lock(&lock);
	in_cleanup++;
	pthread_mutex_unlock(&lock);
	pthread_join(t, NULL);
	in_cleanup++;
}
static void *ends_by_exit(void *a)
{
	published = 1;
	pthread_exit(&published);
	return a;
}
static void exits(void)
{
	pthread_t t;
	void *r;
	pthread_create(&t, NULL, ends_by_exit, NULL);
	pthread_join(t, &r);
	counted += *(int *)r;
	published = 2;
}
static int sum_of(int low, int high);
struct range {
	int low, high, sum;
};
static void *sum_range(void *a)
{
	struct range *r = a;
	r->sum = sum_of(r->low, r->high);
	return a;
}
static int sum_of(int low, int high)
{
	if (high - low < 4)
		return high - low;
	struct range left = {low, (low + high) / 2, 0};
	pthread_t t;
	pthread_create(&t, NULL, sum_range, &left);
	const int right = sum_of((low + high) / 2, high);
	pthread_join(t, NULL);
	return left.sum + right;
}
static void divide_and_conquer(void)
{
	tree_sum = sum_of(0, 16);
}
static void *message_in_heap(void *a)
{
	static struct message {
		struct message *next;
		int value;
	} * _Atomic box;
	for (int i = 0; i < TURNS; i++) {
		if (a) {
			struct message *m = malloc(sizeof *m);
			m->value = i;
			m->next = atomic_load_explicit(&box, memory_order_relaxed);
			while (!atomic_compare_exchange_weak_explicit(&box, &m->next, m, memory_order_release, memory_order_relaxed))
				;
		} else {
			struct message *m = atomic_exchange_explicit(&box, NULL, memory_order_acquire), *next;
			for (; m; m = next) {
				next = m->next;
				polled += m->value;
				free(m);
			}
		}
	}
	return a;
}
static void mailbox(void)
{
	both(message_in_heap, message_in_heap);
}
static void *timed_lock(void *a)
{
	for (int i = 0; i < TURNS; i++) {
		struct timespec t;
		clock_gettime(CLOCK_REALTIME, &t);
		t.tv_sec += 10;
		if (pthread_mutex_timedlock(&lock, &t) == 0) {
			timed++;
			pthread_mutex_unlock(&lock);
		}
	}
	return a;
}
static void by_timed_lock(void)
{
	both(timed_lock, timed_lock);
}
static sem_t *named_semaphore;
static void *by_named(void *a)
{
	for (int i = 0; i < TURNS; i++) {
		sem_wait(named_semaphore);
		half_done++;
		sem_post(named_semaphore);
	}
	return a;
}
static void semaphore_with_name(void)
{
	char name[64];
	snprintf(name, sizeof name, "/races-%d", (int)getpid());
	named_semaphore = sem_open(name, O_CREAT | O_EXCL, 0600, 1);
	if (named_semaphore == SEM_FAILED)
		abort();
	sem_unlink(name);
	both(by_named, by_named);
}
static pthread_key_t key;
static void free_key(void *p)
{
	*(int *)p = 0;
	free(p);
}
static void *use_key(void *a)
{
	int *mine = calloc(1, sizeof *mine);
	pthread_setspecific(key, mine);
	for (int i = 0; i < TURNS; i++)
		*(int *)pthread_getspecific(key) += 1;
	return a;
}
static void keys(void)
{
	pthread_key_create(&key, free_key);
	both(use_key, use_key);
	pthread_key_delete(key);
}

const struct test_case cases[] = {RACY(write_under_read_lock, upgraded),
                                  RACY(double_checked_badly, plain_thing),
                                  RACY(signal_without_lock, ready),
                                  RACY(seqlock_plain, plain_sequence),
                                  RACY(spin_lock_relaxed, spun_relaxed),
                                  RACY(ring_plain, head_bad),
                                  RACY(one_barrier_of_two, phase_bad),
                                  RACY(accounts_by_two_locks, bank),
                                  RACY(read_before_join, joined_late),
                                  RACY(detached_relaxed, detached_value),
                                  RACY(stop_flag_plain, stopped),
                                  RACY(semaphore_of_two, counted),
                                  RACY(stack_relaxed, nodes),
                                  RACY(trylock_unchecked, timed),
                                  FREE(upgrades),
                                  FREE(double_checked),
                                  FREE(bounded_buffer),
                                  FREE(pool),
                                  FREE(seqlock),
                                  FREE(read_copy_update),
                                  FREE(spin_lock),
                                  FREE(ticket_lock),
                                  FREE(barrier_reused),
                                  FREE(threads_of_c11),
                                  FREE(recursive_lock),
                                  FREE(cancelled_in_wait),
                                  FREE(exits),
                                  FREE(divide_and_conquer),
                                  FREE(mailbox),
                                  FREE(by_timed_lock),
                                  FREE(semaphore_with_name),
                                  FREE(keys),
                                  {NULL, NULL, NULL}};
