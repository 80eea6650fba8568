/*
 * C11 atomics that acquire or release only (no fence stands in this file), memory that is given back when nobody uses it, condition variables, cancelled threads, exit destructors, timers.
 */
#define _GNU_SOURCE
#include "cases.h"
#include <signal.h>
#include <stdatomic.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

static volatile int sink; /* so that what is read is read */

/* ---- what acquires only, or releases only ---- */

static atomic_int permits = 2, inside;
static int by_permit;
static void take_permit(void)
{
	int old = atomic_load_explicit(&permits, memory_order_relaxed);
	while (!old || !atomic_compare_exchange_weak_explicit(&permits, &old, old - 1, memory_order_acquire, memory_order_relaxed))
		;
}
static void *use_permit(void *a)
{
	take_permit();
	atomic_fetch_add_explicit(&inside, 1, memory_order_relaxed);
	while (atomic_load_explicit(&inside, memory_order_relaxed) < 2)
		sched_yield();
	by_permit++;
	atomic_fetch_add_explicit(&permits, 1, memory_order_release);
	return a;
}
static void both_permits(void)
{
	both(use_permit, use_permit);
}

static atomic_int exchange_word;
static int by_exchange;
static void *use_exchange(void *a)
{
	for (int i = 0; i < TURNS; i++) {
		while (atomic_exchange_explicit(&exchange_word, 1, memory_order_acquire))
			sched_yield();
		by_exchange++;
		atomic_store_explicit(&exchange_word, 0, memory_order_release);
	}
	return a;
}
static void exchange_lock(void)
{
	both(use_exchange, use_exchange);
}

static atomic_int headed;
static int sequence_data;
static void *head_sequence(void *a)
{
	sequence_data = 1;
	atomic_store_explicit(&headed, 1, memory_order_release);
	return a;
}
static void *continue_sequence(void *a)
{
	int expected = 1;
	while (!atomic_compare_exchange_weak_explicit(&headed, &expected, 2, memory_order_relaxed, memory_order_relaxed)) {
		expected = 1;
		sched_yield();
	}
	return a;
}
static void *end_sequence(void *a)
{
	while (atomic_load_explicit(&headed, memory_order_acquire) < 2)
		sched_yield();
	sink = sequence_data;
	return a;
}
static void three(void *(*a)(void *), void *(*b)(void *), void *(*c)(void *))
{
	pthread_t t[3];
	pthread_create(&t[0], NULL, a, NULL);
	pthread_create(&t[1], NULL, b, NULL);
	pthread_create(&t[2], NULL, c, NULL);
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
}
static void release_sequence(void)
{
	three(head_sequence, continue_sequence, end_sequence);
}

static atomic_int relaxed_head;
static int headless_data;
static void *head_relaxed(void *a)
{
	headless_data = 1;
	atomic_store_explicit(&relaxed_head, 1, memory_order_relaxed);
	return a;
}
static void *continue_relaxed(void *a)
{
	while (atomic_load_explicit(&relaxed_head, memory_order_relaxed) != 1)
		sched_yield();
	atomic_fetch_add_explicit(&relaxed_head, 1, memory_order_release);
	return a;
}
static void *end_relaxed(void *a)
{
	while (atomic_load_explicit(&relaxed_head, memory_order_acquire) < 2)
		sched_yield();
	sink = headless_data;
	return a;
}
static void headless_sequence(void)
{
	three(head_relaxed, continue_relaxed, end_relaxed);
}

static atomic_int users = 2;
static int *used;
static void drop_user(void)
{
	if (atomic_fetch_sub_explicit(&users, 1, memory_order_acq_rel) == 1)
		free(used);
}
static void *use_counted(void *a)
{
	used[a != NULL]++;
	drop_user();
	return a;
}
static void counted_users(void)
{
	used = calloc(2, sizeof *used);
	both(use_counted, use_counted);
}

static atomic_int releasing_users = 2;
static int *released;
static void *use_released(void *a)
{
	released[a != NULL]++;
	if (atomic_fetch_sub_explicit(&releasing_users, 1, memory_order_release) == 1)
		released[0] = released[1] = 0;
	return a;
}
static void users_release_only(void)
{
	released = calloc(2, sizeof *released);
	both(use_released, use_released);
	free(released);
}

/* ---- memory that is given back when nobody uses it ---- */

struct item {
	int value, of_writer;
};
static _Atomic(struct item *) newest, hazard;
static atomic_int finished, seen_sum;
static void *read_guarded(void *a)
{
	while (!atomic_load_explicit(&finished, memory_order_acquire)) {
		struct item *p;
		do {
			p = atomic_load_explicit(&newest, memory_order_acquire);
			atomic_store(&hazard, p);
		} while (p != atomic_load(&newest));
		atomic_fetch_add_explicit(&seen_sum, p->value, memory_order_relaxed);
		atomic_store_explicit(&hazard, NULL, memory_order_release);
	}
	return a;
}
static void *replace_guarded(void *a)
{
	for (int i = 0; i < TURNS; i++) {
		struct item *n = malloc(sizeof *n);
		n->value = i;
		struct item *old = atomic_exchange(&newest, n);
		while (atomic_load(&hazard) == old)
			sched_yield();
		free(old);
	}
	atomic_store_explicit(&finished, 1, memory_order_release);
	return a;
}
static void hazard_pointer(void)
{
	atomic_store(&newest, calloc(1, sizeof(struct item)));
	both(read_guarded, replace_guarded);
	free(atomic_load(&newest));
}

static atomic_int reader_has_it;
static void *read_unguarded(void *a)
{
	struct item *p = atomic_load_explicit(&newest, memory_order_acquire);
	atomic_fetch_add_explicit(&seen_sum, p->value, memory_order_relaxed);
	atomic_store_explicit(&reader_has_it, 1, memory_order_relaxed);
	return a;
}
static void *replace_unguarded(void *a)
{
	struct item *n = calloc(1, sizeof *n);
	while (!atomic_load_explicit(&reader_has_it, memory_order_relaxed))
		sched_yield();
	free(atomic_exchange_explicit(&newest, n, memory_order_release));
	return a;
}
static void no_hazard_pointer(void)
{
	atomic_store(&newest, calloc(1, sizeof(struct item)));
	both(read_unguarded, replace_unguarded);
}

static struct item copies[2];
static _Atomic(struct item *) current = &copies[0];
static atomic_int reading, stop_reading, read_sum;
static void *read_copies(void *a)
{
	while (!atomic_load_explicit(&stop_reading, memory_order_relaxed)) {
		atomic_store(&reading, 1);
		const struct item *p = atomic_load(&current);
		atomic_fetch_add_explicit(&read_sum, p->value, memory_order_relaxed);
		atomic_store_explicit(&reading, 0, memory_order_release);
		sched_yield();
	}
	return a;
}
static void *update_copies(void *a)
{
	for (int i = 0; i < TURNS; i++) {
		struct item *now = atomic_load_explicit(&current, memory_order_relaxed), *other = &copies[now == &copies[0]];
		other->value = i;
		atomic_store(&current, other);
		while (atomic_load(&reading))
			sched_yield();
	}
	atomic_store_explicit(&stop_reading, 1, memory_order_relaxed);
	return a;
}
static void grace_period(void)
{
	both(read_copies, update_copies);
}

static struct item early_copies[2];
static _Atomic(struct item *) early_current = &early_copies[0];
static atomic_int early_has, early_wrote;
static void *read_early(void *a)
{
	const struct item *p = atomic_load_explicit(&early_current, memory_order_acquire);
	atomic_store_explicit(&early_has, 1, memory_order_relaxed);
	while (!atomic_load_explicit(&early_wrote, memory_order_relaxed))
		sched_yield();
	sink = p->value;
	return a;
}
static void *update_early(void *a)
{
	while (!atomic_load_explicit(&early_has, memory_order_relaxed))
		sched_yield();
	atomic_store_explicit(&early_current, &early_copies[1], memory_order_release);
	early_copies[0].value = 7;
	atomic_store_explicit(&early_wrote, 1, memory_order_relaxed);
	return a;
}
static void no_grace_period(void)
{
	both(read_early, update_early);
}

static atomic_int version, half_written, half_read;
static int unguarded_pair[2];
static void *write_pair(void *a)
{
	atomic_fetch_add(&version, 1);
	unguarded_pair[0] = unguarded_pair[1] = 1;
	atomic_store_explicit(&half_written, 1, memory_order_relaxed);
	while (!atomic_load_explicit(&half_read, memory_order_relaxed))
		sched_yield();
	atomic_fetch_add(&version, 1);
	return a;
}
static void *read_pair(void *a)
{
	while (!atomic_load_explicit(&half_written, memory_order_relaxed))
		sched_yield();
	int before = atomic_load(&version);
	sink = unguarded_pair[0];
	if (!(before & 1) && before == atomic_load(&version))
		sink++;
	atomic_fetch_add_explicit(&half_read, 1, memory_order_relaxed); /* which has a time */
	return a;
}
static void seqlock_of_plain_data(void)
{
	both(write_pair, read_pair);
}

/* ---- condition variables ---- */

static pthread_mutex_t cond_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static int unlocked_flag, cond_sum;
static void *set_without_lock(void *a)
{
	unlocked_flag = 1;
	pthread_cond_signal(&cond);
	return a;
}
static void *wait_for_flag(void *a)
{
	pthread_mutex_lock(&cond_lock);
	while (!*(volatile int *)&unlocked_flag) {
		struct timespec until;
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += 1000000;
		if (until.tv_nsec >= 1000000000)
			until.tv_sec++, until.tv_nsec -= 1000000000;
		pthread_cond_timedwait(&cond, &cond_lock, &until);
	}
	pthread_mutex_unlock(&cond_lock);
	return a;
}
static void condition_without_lock(void)
{
	both(wait_for_flag, set_without_lock);
}

static int waiters, go, cond_data[3];
static void *wait_for_go(void *a)
{
	pthread_mutex_lock(&cond_lock);
	waiters++;
	pthread_cond_broadcast(&cond);
	while (!go)
		pthread_cond_wait(&cond, &cond_lock);
	pthread_mutex_unlock(&cond_lock);
	cond_data[a != NULL] += cond_data[2];
	return a;
}
static void broadcast(void)
{
	pthread_t t[2];
	for (long i = 0; i < 2; i++)
		pthread_create(&t[i], NULL, wait_for_go, (void *)i);
	pthread_mutex_lock(&cond_lock);
	while (waiters < 2)
		pthread_cond_wait(&cond, &cond_lock);
	cond_data[2] = 5;
	go = 1;
	pthread_cond_broadcast(&cond);
	pthread_mutex_unlock(&cond_lock);
	pthread_join(t[0], NULL);
	pthread_join(t[1], NULL);
	cond_sum = cond_data[0] + cond_data[1];
}

/* ---- threads that end in other ways ---- */

static pthread_key_t key;
static int by_destructor;
static atomic_int destroyed;
static void destroy(void *a)
{
	by_destructor += *(int *)a;
	free(a);
	atomic_store_explicit(&destroyed, 1, memory_order_relaxed);
}
static void *use_key(void *a)
{
	int *mine = malloc(sizeof *mine);
	*mine = 1;
	pthread_setspecific(key, mine);
	return a;
}
static void key_destructor(void)
{
	pthread_t t;
	pthread_key_create(&key, destroy);
	for (int i = 0; i < 2; i++) {
		pthread_create(&t, NULL, use_key, NULL);
		pthread_join(t, NULL);
	}
	by_destructor++;
}
static void key_destructor_early(void)
{
	pthread_t t;
	pthread_key_create(&key, destroy);
	pthread_create(&t, NULL, use_key, NULL);
	while (!atomic_load_explicit(&destroyed, memory_order_relaxed))
		sched_yield();
	by_destructor++;
	pthread_join(t, NULL);
}

static int by_cleanup;
static atomic_int may_be_cancelled;
static void clean_up(void *a)
{
	by_cleanup++;
	(void)a;
}
static void *be_cancelled(void *a)
{
	pthread_cleanup_push(clean_up, NULL);
	by_cleanup++;
	atomic_store_explicit(&may_be_cancelled, 1, memory_order_relaxed);
	while (1)
		pause();
	pthread_cleanup_pop(0);
	return a;
}
static void cancelled(void)
{
	pthread_t t;
	pthread_create(&t, NULL, be_cancelled, NULL);
	while (!atomic_load_explicit(&may_be_cancelled, memory_order_relaxed))
		sched_yield();
	pthread_cancel(t);
	pthread_join(t, NULL);
	by_cleanup++;
}
static void cancelled_early(void)
{
	pthread_t t;
	pthread_create(&t, NULL, be_cancelled, NULL);
	while (!atomic_load_explicit(&may_be_cancelled, memory_order_relaxed))
		sched_yield();
	pthread_cancel(t);
	by_cleanup++;
	pthread_join(t, NULL);
}

static pthread_mutex_t cancel_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static int under_cancel;
static void give_back(void *a)
{
	under_cancel++;
	pthread_mutex_unlock(a);
}
static void *wait_for_ever(void *a)
{
	pthread_mutex_lock(&cancel_lock);
	pthread_cleanup_push(give_back, &cancel_lock);
	under_cancel++;
	atomic_store_explicit(&may_be_cancelled, 1, memory_order_relaxed);
	while (1)
		pthread_cond_wait(&never, &cancel_lock);
	pthread_cleanup_pop(0);
	return a;
}
static void cancelled_while_waiting(void)
{
	pthread_t t;
	pthread_create(&t, NULL, wait_for_ever, NULL);
	while (!atomic_load_explicit(&may_be_cancelled, memory_order_relaxed))
		sched_yield();
	pthread_cancel(t);
	pthread_mutex_lock(&cancel_lock);
	under_cancel++;
	pthread_mutex_unlock(&cancel_lock);
	pthread_join(t, NULL);
}

static int exit_data;
static void leave_thread(void)
{
	exit_data++;
	pthread_exit(NULL);
}
static void *leave_from_within(void *a)
{
	leave_thread();
	return a;
}
static void pthread_exit_within(void)
{
	pthread_t t;
	pthread_create(&t, NULL, leave_from_within, NULL);
	pthread_join(t, NULL);
	exit_data++;
}

/* ---- timers and signals ---- */

static int timed_data;
static atomic_int timer_ran;
static void on_timer(union sigval v)
{
	timed_data += *(int *)v.sival_ptr;
	atomic_fetch_add(&timer_ran, 1);
}
static void start_timer(timer_t *t, int *data)
{
	struct sigevent e = {.sigev_notify = SIGEV_THREAD, .sigev_notify_function = on_timer, .sigev_value.sival_ptr = data};
	const struct itimerspec soon = {.it_value.tv_nsec = 1000000};
	timer_create(CLOCK_MONOTONIC, &e, t);
	*data = 3;
	timer_settime(*t, 0, &soon, NULL);
}
static void timer_threads(void)
{
	static int data[2];
	timer_t t[2];
	for (int i = 0; i < 2; i++) {
		start_timer(&t[i], &data[i]);
		while (atomic_load(&timer_ran) <= i)
			sched_yield();
		timed_data++;
	}
}

static int for_alarm, alarm_sum;
static atomic_int rang, has_alarm_thread;
static void on_alarm(int number)
{
	alarm_sum = for_alarm + number;
	atomic_store(&rang, 1);
}
static void *wait_for_alarm(void *a)
{
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGALRM);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	atomic_store_explicit(&has_alarm_thread, 1, memory_order_relaxed);
	while (!atomic_load(&rang))
		sched_yield();
	return a;
}
static void alarm_in_other_thread(void)
{
	pthread_t t;
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGALRM);
	signal(SIGALRM, on_alarm);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	pthread_create(&t, NULL, wait_for_alarm, NULL);
	while (!atomic_load_explicit(&has_alarm_thread, memory_order_relaxed))
		sched_yield();
	for_alarm = 4;
	ualarm(1000, 0);
	while (!atomic_load(&rang))
		sched_yield();
	alarm_sum++;
	pthread_join(t, NULL);
}

static volatile sig_atomic_t by_handler;
static int of_one_thread;
static void on_usr1(int number)
{
	of_one_thread += number;
	by_handler = 1;
}
static void *raise_here(void *a)
{
	of_one_thread++;
	raise(SIGUSR1);
	of_one_thread++;
	return a;
}
static void handler_of_same_thread(void)
{
	pthread_t t;
	signal(SIGUSR1, on_usr1);
	pthread_create(&t, NULL, raise_here, NULL);
	pthread_join(t, NULL);
	of_one_thread++;
}

/* ---- C11 threads ---- */

static once_flag c11_flag = ONCE_FLAG_INIT;
static int c11_once_data, c11_sums[2];
static void c11_init(void)
{
	c11_once_data = 3;
}
static int c11_run(void *a)
{
	call_once(&c11_flag, c11_init);
	c11_sums[a != NULL] = c11_once_data;
	return 5;
}
static void c11_once(void)
{
	thrd_t t[2];
	int result;
	thrd_create(&t[0], c11_run, NULL);
	thrd_create(&t[1], c11_run, &t);
	thrd_join(t[0], &result);
	thrd_join(t[1], &result);
	c11_sums[0] += c11_sums[1] + result;
}

static cnd_t c11_cond;
static mtx_t c11_lock;
static int c11_ready, c11_payload;
static int c11_wait(void *a)
{
	mtx_lock(&c11_lock);
	while (!c11_ready)
		cnd_wait(&c11_cond, &c11_lock);
	mtx_unlock(&c11_lock);
	return c11_payload + (a != NULL);
}
static void c11_condition(void)
{
	thrd_t t;
	mtx_init(&c11_lock, mtx_plain);
	cnd_init(&c11_cond);
	thrd_create(&t, c11_wait, NULL);
	c11_payload = 2;
	mtx_lock(&c11_lock);
	c11_ready = 1;
	cnd_signal(&c11_cond);
	mtx_unlock(&c11_lock);
	thrd_join(t, NULL);
	c11_payload++;
}

const struct test_case cases[] = {RACY(both_permits, by_permit),
                                  RACY(headless_sequence, headless_data),
                                  OBJECT(users_release_only, "*"),
                                  OBJECT(no_hazard_pointer, "*"),
                                  RACY(no_grace_period, early_copies),
                                  RACY(seqlock_of_plain_data, unguarded_pair),
                                  RACY(condition_without_lock, unlocked_flag),
                                  RACY(key_destructor_early, by_destructor),
                                  RACY(cancelled_early, by_cleanup),
                                  FREE(exchange_lock),
                                  FREE(release_sequence),
                                  FREE(counted_users),
                                  FREE(hazard_pointer),
                                  FREE(grace_period),
                                  FREE(broadcast),
                                  FREE(key_destructor),
                                  FREE(cancelled),
                                  FREE(cancelled_while_waiting),
                                  FREE(pthread_exit_within),
                                  FREE(timer_threads),
                                  FREE(alarm_in_other_thread),
                                  FREE(handler_of_same_thread),
                                  FREE(c11_once),
                                  FREE(c11_condition),
                                  {NULL, NULL, NULL}};
