/* pthreads, C11 threads, semaphores and atomics. */
#include "cases.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <stdint.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <threads.h>
#include <unistd.h>

/* Between two looks: others may want the processor. */
static void relax(void)
{
	static __thread unsigned n;
	if (++n % 1000 == 0)
		sched_yield();
}

/* ---- racy ---- */

int plain;
static void *add_plain(void *a)
{
	for (int i = 0; i < TURNS; i++)
		plain++;
	return a;
}
static void plain_counter(void)
{
	both(add_plain, add_plain);
}

int write_only;
static void *write_it(void *a)
{
	write_only = (int)(long)a;
	return a;
}
static void two_writers(void)
{
	both(write_it, write_it);
}

static int read_write;
static void *write_rw(void *a)
{
	read_write = 1;
	return a;
}
static void *read_rw(void *a)
{
	return read_write ? a : NULL;
}
static void reader_and_writer(void)
{
	both(write_rw, read_rw);
}

static pthread_mutex_t m1 = PTHREAD_MUTEX_INITIALIZER, m2 = PTHREAD_MUTEX_INITIALIZER;
int half;
static void *half_locked(void *a)
{
	pthread_mutex_lock(&m1);
	half++;
	pthread_mutex_unlock(&m1);
	return a;
}
static void *half_free(void *a)
{
	half++;
	return a;
}
static void one_side_locks(void)
{
	both(half_free, half_locked);
}

int other_lock;
static void *by_m1(void *a)
{
	pthread_mutex_lock(&m1);
	other_lock++;
	pthread_mutex_unlock(&m1);
	return a;
}
static void *by_m2(void *a)
{
	pthread_mutex_lock(&m2);
	other_lock++;
	pthread_mutex_unlock(&m2);
	return a;
}
static void different_locks(void)
{
	both(by_m1, by_m2);
}

static int before_join;
static void *set_before(void *a)
{
	before_join = 1;
	return a;
}
static void read_before_join(void)
{
	pthread_t t;
	pthread_create(&t, NULL, set_before, NULL);
	int seen = before_join;
	pthread_join(t, NULL);
	before_join += seen;
}

static int after_create;
static void *read_it(void *a)
{
	return after_create ? a : NULL;
}
static void write_after_create(void)
{
	pthread_t t;
	pthread_create(&t, NULL, read_it, NULL);
	after_create = 1;
	pthread_join(t, NULL);
}

static int *heap_int;
static void *add_heap(void *a)
{
	++*heap_int;
	return a;
}
static void heap_counter(void)
{
	heap_int = calloc(1, sizeof *heap_int);
	both(add_heap, add_heap);
	free(heap_int);
}

static struct {
	char a, b;
} pair;
int array[16];
static void *fill(void *a)
{
	for (int i = 0; i < 16; i++)
		array[i] = i;
	return a;
}
static void same_array(void)
{
	both(fill, fill);
}

static char text[32];
static void *copy_text(void *a)
{
	strcpy(text, "some text that is copied");
	return a;
}
static void by_strcpy(void)
{
	both(copy_text, copy_text);
}

static char block[64];
static void *clear_block(void *a)
{
	memset(block, 0, sizeof block);
	return a;
}
static void by_memset(void)
{
	both(clear_block, clear_block);
}

static pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER;
static int under_read;
static void *write_shared(void *a)
{
	pthread_rwlock_rdlock(&rw);
	under_read++;
	pthread_rwlock_unlock(&rw);
	return a;
}
static void write_under_rdlock(void)
{
	both(write_shared, write_shared);
}

static int trylocked;
static void *ignore_try(void *a)
{
	int r = pthread_mutex_trylock(&m1);
	trylocked++;
	if (!r)
		pthread_mutex_unlock(&m1);
	return a;
}
static void ignored_trylock(void)
{
	pthread_t t;
	pthread_mutex_lock(&m1);
	pthread_create(&t, NULL, ignore_try, NULL);
	trylocked++;
	pthread_join(t, NULL);
	pthread_mutex_unlock(&m1);
}

static int unlocked_after;
static void *use_after_unlock(void *a)
{
	pthread_mutex_lock(&m1);
	pthread_mutex_unlock(&m1);
	unlocked_after++;
	return a;
}
static void *use_before_lock(void *a)
{
	unlocked_after++;
	pthread_mutex_lock(&m2);
	pthread_mutex_unlock(&m2);
	return a;
}
static void outside_of_lock(void)
{
	both(use_after_unlock, use_before_lock);
}

static int volatile_flag_data;
static volatile int volatile_flag;
static void *set_volatile(void *a)
{
	volatile_flag_data = 1;
	volatile_flag = 1;
	return a;
}
static void *wait_volatile(void *a)
{
	while (!volatile_flag)
		relax();
	return volatile_flag_data ? a : NULL;
}
static void volatile_handover(void)
{
	both(set_volatile, wait_volatile);
}

static atomic_int relaxed_flag;
static int relaxed_data;
static void *set_relaxed(void *a)
{
	relaxed_data = 1;
	atomic_store_explicit(&relaxed_flag, 1, memory_order_relaxed);
	return a;
}
static void *get_relaxed(void *a)
{
	while (!atomic_load_explicit(&relaxed_flag, memory_order_relaxed))
		relax();
	return relaxed_data ? a : NULL;
}
static void relaxed_handover(void)
{
	both(set_relaxed, get_relaxed);
}

int mixed;
static void *mixed_atomic(void *a)
{
	for (int i = 0; i < TURNS; i++)
		__atomic_fetch_add(&mixed, 1, __ATOMIC_SEQ_CST);
	return a;
}
static void *mixed_plain(void *a)
{
	for (int i = 0; i < TURNS; i++)
		mixed++;
	return a;
}
static void atomic_and_plain(void)
{
	both(mixed_atomic, mixed_plain);
}

static pthread_barrier_t barrier;
int around_barrier;
static void *before_barrier(void *a)
{
	around_barrier++;
	pthread_barrier_wait(&barrier);
	return a;
}
static void same_side_of_barrier(void)
{
	pthread_barrier_init(&barrier, NULL, 2);
	both(before_barrier, before_barrier);
}

static sem_t sem;
static int after_post;
static void *post_then_write(void *a)
{
	sem_post(&sem);
	after_post = 1;
	return a;
}
static void *wait_then_read(void *a)
{
	sem_wait(&sem);
	return after_post ? a : NULL;
}
static void write_after_post(void)
{
	sem_init(&sem, 0, 0);
	both(post_then_write, wait_then_read);
}

int counted;
static void *two_permits(void *a)
{
	sem_wait(&sem);
	counted++;
	sem_post(&sem);
	return a;
}
static void semaphore_of_two(void)
{
	sem_init(&sem, 0, 2);
	both(two_permits, two_permits);
}

static int detached_data;
static sem_t detached_done;
static void *detached(void *a)
{
	sem_post(&detached_done);
	detached_data++;
	return a;
}
static void detached_thread(void)
{
	pthread_t t;
	sem_init(&detached_done, 0, 0);
	pthread_create(&t, NULL, detached, NULL);
	pthread_detach(t);
	sem_wait(&detached_done);
	detached_data++;
	usleep(20000);
}

static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static int ready, cond_data;
static void *signal_first(void *a)
{
	pthread_mutex_lock(&m1);
	ready = 1;
	pthread_cond_signal(&cond);
	pthread_mutex_unlock(&m1);
	cond_data = 1;
	return a;
}
static void *wait_cond(void *a)
{
	pthread_mutex_lock(&m1);
	while (!ready)
		pthread_cond_wait(&cond, &m1);
	pthread_mutex_unlock(&m1);
	return cond_data ? a : NULL;
}
static void write_after_signal(void)
{
	both(signal_first, wait_cond);
}

static int double_checked, *checked;
static void *check_twice(void *a)
{
	if (!checked) {
		pthread_mutex_lock(&m1);
		if (!checked)
			checked = &double_checked;
		pthread_mutex_unlock(&m1);
	}
	return checked ? a : NULL;
}
static void double_checked_lock(void)
{
	both(check_twice, check_twice);
}

static int spun;
static pthread_spinlock_t spin;
static void *spin_one(void *a)
{
	pthread_spin_lock(&spin);
	spun++;
	pthread_spin_unlock(&spin);
	return a;
}
static void *spin_none(void *a)
{
	spun++;
	return a;
}
static void one_side_spins(void)
{
	pthread_spin_init(&spin, 0);
	both(spin_one, spin_none);
}

static int c11_data;
static int c11_add(void *a)
{
	c11_data++;
	return a != NULL;
}
static void c11_counter(void)
{
	thrd_t t[2];
	thrd_create(&t[0], c11_add, NULL);
	thrd_create(&t[1], c11_add, NULL);
	thrd_join(t[0], NULL);
	thrd_join(t[1], NULL);
}

static int on_stack_race;
static void *add_through(void *a)
{
	++*(int *)a;
	return a;
}
static void stack_variable(void)
{
	pthread_t t;
	int mine = 0;
	pthread_create(&t, NULL, add_through, &mine);
	mine++;
	pthread_join(t, NULL);
	on_stack_race = mine;
}

static int third;
static void *add_third(void *a)
{
	third++;
	return a;
}
static void *make_third(void *a)
{
	pthread_t t;
	pthread_create(&t, NULL, add_third, NULL);
	pthread_join(t, NULL);
	return a;
}
static void grandchildren(void)
{
	both(make_third, make_third);
}

static unsigned char bytes[8];
static void *wide(void *a)
{
	*(volatile long *)(void *)bytes = 1;
	return a;
}
static void *narrow(void *a)
{
	*(volatile unsigned char *)&bytes[5] = 2;
	return a;
}
static void word_and_byte(void)
{
	both(wide, narrow);
}

static struct {
	unsigned a : 4, b : 4;
} fields;
static void *field_a(void *a)
{
	fields.a++;
	return a;
}
static void *field_b(void *a)
{
	fields.b++;
	return a;
}
static void bit_fields(void)
{
	both(field_a, field_b);
}

static int many_data;
static void *many_add(void *a)
{
	if ((long)a == 5)
		many_data++;
	else if ((long)a == 6)
		many_data--;
	return a;
}
static void two_of_many(void)
{
	pthread_t t[10];
	for (long i = 0; i < 10; i++)
		pthread_create(&t[i], NULL, many_add, (void *)i);
	for (int i = 0; i < 10; i++)
		pthread_join(t[i], NULL);
}

static int freed_use;
static void *use_freed(void *a)
{
	freed_use += *heap_int;
	return a;
}
static void *free_it(void *a)
{
	free(heap_int);
	return a;
}
static void free_and_use(void)
{
	pthread_t t;
	heap_int = calloc(1, 4);
	pthread_create(&t, NULL, use_freed, NULL);
	usleep(20000);
	free_it(NULL);
	pthread_join(t, NULL);
}

static long table[100];
static void *overlap(void *a)
{
	for (long i = a ? 40 : 0; i < (a ? 100 : 60); i++)
		table[i]++;
	return a;
}
static void overlapping_parts(void)
{
	both(overlap, overlap);
}

static int relock;
static void *gap_in_lock(void *a)
{
	pthread_mutex_lock(&m1);
	int seen = relock;
	pthread_mutex_unlock(&m1);
	relock = seen + 1;
	return a;
}
static void write_outside(void)
{
	both(gap_in_lock, gap_in_lock);
}

/* ---- without races ---- */

static int locked;
static void *add_locked(void *a)
{
	for (int i = 0; i < TURNS; i++) {
		pthread_mutex_lock(&m1);
		locked++;
		pthread_mutex_unlock(&m1);
	}
	return a;
}
static void mutex_counter(void)
{
	both(add_locked, add_locked);
}

static void *add_trylocked(void *a)
{
	for (int i = 0; i < TURNS; i++) {
		while (pthread_mutex_trylock(&m1))
			relax();
		locked++;
		pthread_mutex_unlock(&m1);
	}
	return a;
}
static void mutex_trylock(void)
{
	both(add_trylocked, add_locked);
}

static pthread_mutex_t recursive;
static void *add_recursive(void *a)
{
	for (int i = 0; i < TURNS; i++) {
		pthread_mutex_lock(&recursive);
		pthread_mutex_lock(&recursive);
		locked++;
		pthread_mutex_unlock(&recursive);
		locked++;
		pthread_mutex_unlock(&recursive);
	}
	return a;
}
static void mutex_recursive(void)
{
	pthread_mutexattr_t attr;
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
	pthread_mutex_init(&recursive, &attr);
	both(add_recursive, add_recursive);
}

static int rw_data;
static void *rw_read(void *a)
{
	int sum = 0;
	for (int i = 0; i < TURNS; i++) {
		pthread_rwlock_rdlock(&rw);
		sum += rw_data;
		pthread_rwlock_unlock(&rw);
	}
	return sum ? a : NULL;
}
static void *rw_write(void *a)
{
	for (int i = 0; i < TURNS; i++) {
		pthread_rwlock_wrlock(&rw);
		rw_data++;
		pthread_rwlock_unlock(&rw);
	}
	return a;
}
static void rwlock(void)
{
	both(rw_read, rw_write);
}

static void *cond_writer(void *a)
{
	cond_data = 1;
	pthread_mutex_lock(&m1);
	ready = 1;
	pthread_cond_broadcast(&cond);
	pthread_mutex_unlock(&m1);
	return a;
}
static void condition(void)
{
	both(cond_writer, wait_cond);
}

static int queue[TURNS], queue_n;
static void *produce(void *a)
{
	for (int i = 0; i < TURNS; i++) {
		int *item = malloc(sizeof *item);
		*item = i;
		pthread_mutex_lock(&m1);
		queue[queue_n++] = *item;
		pthread_cond_signal(&cond);
		pthread_mutex_unlock(&m1);
		free(item);
	}
	return a;
}
static void *consume(void *a)
{
	long sum = 0;
	for (int i = 0; i < TURNS; i++) {
		pthread_mutex_lock(&m1);
		while (!queue_n)
			pthread_cond_wait(&cond, &m1);
		sum += queue[--queue_n];
		pthread_mutex_unlock(&m1);
	}
	return sum ? a : NULL;
}
static void producer_consumer(void)
{
	both(produce, consume);
}

static int sem_data;
static void *sem_writer(void *a)
{
	sem_data = 1;
	sem_post(&sem);
	return a;
}
static void *sem_reader(void *a)
{
	sem_wait(&sem);
	return sem_data ? a : NULL;
}
static void semaphore(void)
{
	sem_init(&sem, 0, 0);
	both(sem_writer, sem_reader);
}
static void semaphore_as_lock(void)
{
	sem_init(&sem, 0, 1);
	both(two_permits, two_permits);
}

static int phases[2];
static void *step(void *a)
{
	const long me = (long)a;
	for (int i = 0; i < TURNS; i++) {
		phases[me]++;
		pthread_barrier_wait(&barrier);
		if (phases[!me] != i + 1)
			abort();
		pthread_barrier_wait(&barrier);
	}
	return a;
}
static void barriers(void)
{
	pthread_barrier_init(&barrier, NULL, 2);
	both(step, step);
}

static void *spin_two(void *a)
{
	for (int i = 0; i < TURNS; i++) {
		pthread_spin_lock(&spin);
		spun++;
		pthread_spin_unlock(&spin);
	}
	return a;
}
static void spin_lock(void)
{
	pthread_spin_init(&spin, 0);
	both(spin_two, spin_two);
}

static int joined;
static void *set_joined(void *a)
{
	joined++;
	return a;
}
static void create_join(void)
{
	for (int i = 0; i < 10; i++) {
		pthread_t t;
		joined++;
		pthread_create(&t, NULL, set_joined, NULL);
		pthread_join(t, NULL);
		joined++;
	}
}

static void create_join_late(void)
{
	pthread_t t;
	pthread_create(&t, NULL, set_joined, NULL);
	usleep(20000);
	pthread_join(t, NULL);
	joined++;
}

static pthread_once_t control = PTHREAD_ONCE_INIT;
static int once_data;
static void set_once(void)
{
	once_data = 42;
}
static void *use_once(void *a)
{
	pthread_once(&control, set_once);
	return once_data ? a : NULL;
}
static void once(void)
{
	both(use_once, use_once);
}

static void *detached_good(void *a)
{
	detached_data++;
	sem_post(&detached_done);
	return a;
}
static void detach(void)
{
	pthread_t t;
	sem_init(&detached_done, 0, 0);
	for (int i = 0; i < 5; i++) {
		pthread_create(&t, NULL, detached_good, NULL);
		pthread_detach(t);
		sem_wait(&detached_done);
		detached_data++;
	}
}

static atomic_int counter;
static void *add_seq(void *a)
{
	for (int i = 0; i < TURNS; i++)
		counter++;
	return a;
}
static void atomic_seq_cst(void)
{
	both(add_seq, add_seq);
}
static void *add_relaxed(void *a)
{
	for (int i = 0; i < TURNS; i++)
		atomic_fetch_add_explicit(&counter, 1, memory_order_relaxed);
	return a;
}
static void *load_relaxed(void *a)
{
	for (int i = 0; i < TURNS; i++)
		if (atomic_load_explicit(&counter, memory_order_relaxed) > 10000)
			return NULL;
	return a;
}
static void atomic_relaxed(void)
{
	both(add_relaxed, load_relaxed);
}
static void *store_relaxed(void *a)
{
	for (int i = 0; i < TURNS; i++)
		atomic_store_explicit(&counter, i, memory_order_relaxed);
	return a;
}
static void atomic_relaxed_stores(void)
{
	both(store_relaxed, load_relaxed);
}

static atomic_int flag;
static int handed;
static void *give_release(void *a)
{
	handed = 7;
	atomic_store_explicit(&flag, 1, memory_order_release);
	return a;
}
static void *take_acquire(void *a)
{
	while (!atomic_load_explicit(&flag, memory_order_acquire))
		relax();
	return handed ? a : NULL;
}
static void release_acquire(void)
{
	both(give_release, take_acquire);
}
static void acquire_release(void)
{
	both(take_acquire, give_release);
}

static void *give_seq(void *a)
{
	handed = 7;
	flag = 1;
	return a;
}
static void *take_seq(void *a)
{
	while (!flag)
		relax();
	return handed ? a : NULL;
}
static void handover_seq_cst(void)
{
	both(take_seq, give_seq);
}

static int builtin_flag, builtin_data;
static void *give_builtin(void *a)
{
	builtin_data = 7;
	__atomic_store_n(&builtin_flag, 1, __ATOMIC_RELEASE);
	return a;
}
static void *take_builtin(void *a)
{
	while (!__atomic_load_n(&builtin_flag, __ATOMIC_ACQUIRE))
		relax();
	return builtin_data ? a : NULL;
}
static void builtins(void)
{
	both(take_builtin, give_builtin);
}

static atomic_int turn;
static int ball;
static void *ping(void *a)
{
	const int me = a != NULL;
	for (int i = 0; i < TURNS; i++) {
		while (atomic_load_explicit(&turn, memory_order_acquire) != me)
			relax();
		ball++;
		atomic_store_explicit(&turn, !me, memory_order_release);
	}
	return a;
}
static void ping_pong(void)
{
	both(ping, ping);
}

static atomic_flag spin_flag = ATOMIC_FLAG_INIT;
static int guarded;
static void *own_spin(void *a)
{
	for (int i = 0; i < TURNS; i++) {
		while (atomic_flag_test_and_set_explicit(&spin_flag, memory_order_acquire))
			relax();
		guarded++;
		atomic_flag_clear_explicit(&spin_flag, memory_order_release);
	}
	return a;
}
static void own_spin_lock(void)
{
	both(own_spin, own_spin);
}

static atomic_int word;
static void *cas(void *a)
{
	for (int i = 0; i < TURNS; i++) {
		int want = 0;
		while (!atomic_compare_exchange_weak_explicit(&word, &want, 1, memory_order_acq_rel, memory_order_relaxed)) {
			want = 0;
			relax();
		}
		guarded++;
		atomic_store_explicit(&word, 0, memory_order_release);
	}
	return a;
}
static void compare_exchange(void)
{
	both(cas, cas);
}

static int sync_word, sync_data;
static void *sync_builtin(void *a)
{
	for (int i = 0; i < TURNS; i++) {
		while (__sync_lock_test_and_set(&sync_word, 1))
			relax();
		sync_data++;
		__sync_lock_release(&sync_word);
	}
	return a;
}
static void sync_builtins(void)
{
	both(sync_builtin, sync_builtin);
}

static atomic_int references = 2;
static int *shared_object;
static void *drop(void *a)
{
	int seen = *shared_object;
	if (atomic_fetch_sub_explicit(&references, 1, memory_order_acq_rel) == 1) {
		*shared_object = seen + 1;
		free(shared_object);
	}
	return a;
}
static void reference_count(void)
{
	shared_object = calloc(1, sizeof *shared_object);
	both(drop, drop);
}

static mtx_t c11_lock;
static int c11_locked(void *a)
{
	for (int i = 0; i < TURNS; i++) {
		mtx_lock(&c11_lock);
		c11_data++;
		mtx_unlock(&c11_lock);
	}
	return a != NULL;
}
static void c11_mutex(void)
{
	thrd_t t[2];
	mtx_init(&c11_lock, mtx_plain);
	thrd_create(&t[0], c11_locked, NULL);
	thrd_create(&t[1], c11_locked, NULL);
	thrd_join(t[0], NULL);
	thrd_join(t[1], NULL);
}

static __thread int own;
static int *of_mine(void)
{
	return &own;
}
static void *use_tls(void *a)
{
	for (int i = 0; i < TURNS; i++)
		++*of_mine();
	return a;
}
static void thread_local_data(void)
{
	both(use_tls, use_tls);
}

static _Thread_local volatile long lent[4]; /* the main thread's is raced on */
static volatile long *borrowed;
static void *use_lent(void *a)
{
	for (int i = 0; i < TURNS; i++)
		borrowed[1]++;
	return a;
}
static void lent_thread_local(void)
{
	borrowed = lent;
	both(use_lent, use_lent);
}

static void *pair_a(void *a)
{
	for (int i = 0; i < TURNS; i++)
		((volatile char *)&pair.a)[0]++;
	return a;
}
static void *pair_b(void *a)
{
	for (int i = 0; i < TURNS; i++)
		((volatile char *)&pair.b)[0]++;
	return a;
}
static void neighbours(void)
{
	both(pair_a, pair_b);
}

static const int constants[4] = {1, 2, 3, 4};
static int set_once_before;
static void *read_only(void *a)
{
	long sum = 0;
	for (int i = 0; i < 4; i++)
		sum += constants[i] + set_once_before;
	return sum ? a : NULL;
}
static void readers(void)
{
	set_once_before = 3;
	both(read_only, read_only);
}

static void *reuse(void *a)
{
	for (int i = 0; i < TURNS; i++) {
		char *p = malloc(100);
		memset(p, i, 100);
		free(p);
	}
	return a;
}
static void memory_reuse(void)
{
	both(reuse, reuse);
}

static void *print(void *a)
{
	printf("thread\n");
	return a;
}
static void printing(void)
{
	both(print, print);
}

/* Both fill the stream's buffer from its beginning, by memcpy, under the stream's own lock. */
static void *print_and_flush(void *a)
{
	for (int i = 0; i < TURNS; i++) {
		printf("%s %d\n", "a line that is long enough to be copied at once", i);
		fwrite("and another line that is as long as that one\n", 1, 45, stdout);
		fflush(stdout);
	}
	return a;
}
static void printing_from_start(void)
{
	both(print_and_flush, print_and_flush);
}

static void stacks_reused(void)
{
	for (int i = 0; i < 6; i++) {
		pthread_t t;
		pthread_create(&t, NULL, use_tls, NULL);
		pthread_detach(t);
		usleep(5000);
	}
}

static int timed;
static void *timed_lock(void *a)
{
	struct timespec when;
	clock_gettime(CLOCK_REALTIME, &when);
	when.tv_sec += 5;
	for (int i = 0; i < TURNS; i++)
		if (!pthread_mutex_timedlock(&m1, &when)) {
			timed++;
			pthread_mutex_unlock(&m1);
		}
	return a;
}
static void timed_locks(void)
{
	both(timed_lock, timed_lock);
}

static void parts(void)
{
	(void)overlap;
}
static void *left_half(void *a)
{
	for (long i = a ? 50 : 0; i < (a ? 100 : 50); i++)
		table[i]++;
	return a;
}
static void disjoint_parts(void)
{
	parts();
	both(left_half, left_half);
}

/* ---- data and signals that are handed over ---- */

static int pipe_ends[2], socket_ends[2], event, piped, answered, through_event, at_end;
static void *write_all(void *a)
{
	uint64_t one = 1;
	char c = 0;
	piped = 7;
	if (write(pipe_ends[1], "x", 1) != 1 || read(socket_ends[0], &c, 1) != 1)
		abort();
	answered++;
	through_event = 7;
	if (write(event, &one, sizeof one) != sizeof one)
		abort();
	at_end = 7;
	close(pipe_ends[1]);
	return a;
}
static void *read_all(void *a)
{
	uint64_t n;
	char c;
	if (read(pipe_ends[0], &c, 1) != 1)
		abort();
	piped++;
	answered = 7;
	if (send(socket_ends[1], "x", 1, 0) != 1 || read(event, &n, sizeof n) != sizeof n)
		abort();
	through_event++;
	if (read(pipe_ends[0], &c, 1) != 0)
		abort();
	at_end++;
	return a;
}
static void descriptors(void)
{
	event = eventfd(0, 0);
	if (pipe(pipe_ends) || socketpair(AF_UNIX, SOCK_STREAM, 0, socket_ends) || event < 0)
		abort();
	both(read_all, write_all);
}

static int for_handler, for_waiter;
static atomic_int handled;
static void handle(int number)
{
	(void)number;
	for_handler++;
	atomic_store_explicit(&handled, 1, memory_order_relaxed);
}
static void *be_signalled(void *a)
{
	sigset_t set;
	int number;
	while (!atomic_load_explicit(&handled, memory_order_relaxed))
		usleep(100);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	sigwait(&set, &number);
	for_waiter++;
	return a;
}
static void signals(void)
{
	pthread_t t;
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	signal(SIGUSR1, handle);
	pthread_create(&t, NULL, be_signalled, NULL);
	for_handler = 7;
	pthread_kill(t, SIGUSR1);
	for_waiter = 7;
	pthread_kill(t, SIGUSR2);
	pthread_join(t, NULL);
}

/* What one thread unmaps the other may be given. */
static void *map_again(void *a)
{
	for (int i = 0; i < 500; i++) {
		int *p = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		*p = 7;
		munmap(p, 65536);
	}
	return a;
}
static void mapped_memory(void)
{
	pthread_t t[8];
	for (int i = 0; i < 8; i++)
		pthread_create(&t[i], NULL, map_again, NULL);
	for (int i = 0; i < 8; i++)
		pthread_join(t[i], NULL);
}

/* The owner of a robust lock ends with it; others hear of that, and have it. */
static pthread_mutex_t robust, inherits;
static int left_behind, by_priority;
static void *end_with_lock(void *a)
{
	pthread_mutex_lock(&robust);
	left_behind++;
	return a;
}
static void *take_over(void *a)
{
	if (pthread_mutex_lock(&robust) == EOWNERDEAD)
		pthread_mutex_consistent(&robust);
	left_behind++;
	pthread_mutex_unlock(&robust);
	for (int i = 0; i < TURNS; i++) {
		pthread_mutex_lock(&inherits);
		by_priority++;
		pthread_mutex_unlock(&inherits);
	}
	return a;
}
static void robust_lock(void)
{
	pthread_mutexattr_t a;
	pthread_t t[3];
	pthread_mutexattr_init(&a);
	pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(&robust, &a);
	pthread_mutexattr_init(&a);
	pthread_mutexattr_setprotocol(&a, PTHREAD_PRIO_INHERIT);
	pthread_mutex_init(&inherits, &a);
	pthread_create(&t[0], NULL, end_with_lock, NULL);
	usleep(20000);
	pthread_create(&t[1], NULL, take_over, NULL);
	pthread_create(&t[2], NULL, take_over, NULL);
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
}

/* A pipe orders what comes before the write, not what comes after it. */
static int late_ends[2];
int after_writing;
static void *write_then_change(void *a)
{
	if (write(late_ends[1], "x", 1) != 1)
		abort();
	after_writing = 7;
	return a;
}
static void *read_then_change(void *a)
{
	char c;
	if (read(late_ends[0], &c, 1) != 1)
		abort();
	after_writing++;
	return a;
}
static void write_too_early(void)
{
	if (pipe(late_ends))
		abort();
	both(read_then_change, write_then_change);
}
/* Files hand nothing over. */
static int written_to;
int beside_file;
static void *write_to_file(void *a)
{
	for (int i = 0; i < TURNS; i++) {
		char c = 0;
		beside_file++;
		if (write(written_to, "x", 1) != 1 || pread(written_to, &c, 1, 0) < 0)
			abort();
	}
	return a;
}
static void through_file(void)
{
	written_to = open("/dev/zero", O_RDWR);
	both(write_to_file, write_to_file);
	close(written_to);
}

/* ---- buffers that the kernel reads and fills ---- */

static char filled[64], told[64], filled_by_both[64], told_by_both[64], halves[64], passed[64], guarded_bytes[64];
static int zeros, nowhere, there[2], back_again[2];
static pthread_mutex_t bytes_lock = PTHREAD_MUTEX_INITIALIZER;
static void take(int fd, char *to, size_t n)
{
	if (read(fd, to, n) != (ssize_t)n)
		abort();
}
static void give(int fd, const char *from, size_t n)
{
	if (write(fd, from, n) != (ssize_t)n)
		abort();
}
static void open_all(void)
{
	zeros = open("/dev/zero", O_RDONLY);
	nowhere = open("/dev/null", O_WRONLY);
	if (zeros < 0 || nowhere < 0 || pipe(there) || pipe(back_again))
		abort();
}
static void *fill_or_look(void *a)
{
	static __thread volatile char looked;
	for (int i = 0; i < TURNS; i++) {
		if (a)
			looked += filled[i];
		else
			take(zeros, filled, sizeof filled);
	}
	return a;
}
static void kernel_fills(void)
{
	open_all();
	both(fill_or_look, fill_or_look);
}
static void *tell_or_change(void *a)
{
	for (int i = 0; i < TURNS; i++) {
		if (a)
			told[i]++;
		else
			give(nowhere, told, sizeof told);
	}
	return a;
}
static void kernel_reads(void)
{
	open_all();
	both(tell_or_change, tell_or_change);
}
static void *fill_both(void *a)
{
	take(zeros, filled_by_both, sizeof filled_by_both);
	return a;
}
static void kernel_fills_twice(void)
{
	open_all();
	both(fill_both, fill_both);
}
static void *tell_both(void *a)
{
	give(nowhere, told_by_both, sizeof told_by_both);
	return a;
}
static void kernel_reads_twice(void)
{
	open_all();
	both(tell_both, tell_both);
}
static void *fill_half(void *a)
{
	char *half = halves + (a ? sizeof halves / 2 : 0);
	for (int i = 0; i < TURNS; i++) {
		half[0]++;
		take(zeros, half, sizeof halves / 2);
		give(nowhere, half, sizeof halves / 2);
	}
	return a;
}
static void kernel_fills_halves(void)
{
	open_all();
	both(fill_half, fill_half);
}
static void *pass(void *a)
{
	char own[sizeof passed];
	for (int i = 0; i < TURNS; i++) {
		if (a) {
			passed[i]++;
			give(there[1], passed, sizeof passed);
			take(back_again[0], passed, sizeof passed);
		} else {
			take(there[0], own, sizeof own);
			memcpy(passed, own, sizeof passed);
			give(back_again[1], passed, sizeof passed);
		}
	}
	return a;
}
static void kernel_passes(void)
{
	open_all();
	both(pass, pass);
}
static void *fill_guarded(void *a)
{
	for (int i = 0; i < TURNS; i++) {
		pthread_mutex_lock(&bytes_lock);
		if (a)
			give(nowhere, guarded_bytes, sizeof guarded_bytes);
		else
			take(zeros, guarded_bytes, sizeof guarded_bytes);
		guarded_bytes[i]++;
		pthread_mutex_unlock(&bytes_lock);
	}
	return a;
}
static void kernel_fills_guarded(void)
{
	open_all();
	both(fill_guarded, fill_guarded);
}
static void *print_and_read(void *a)
{
	static __thread char own[256];
	for (int i = 0; i < TURNS; i++) {
		FILE *f = fopen("/dev/zero", "r");
		if (!f || fread(own, 1, sizeof own, f) != sizeof own)
			abort();
		fclose(f);
		printf("%d\n", i);
		if (i % 10 == 0)
			fflush(stdout);
	}
	return a;
}
static void kernel_and_streams(void)
{
	both(print_and_read, print_and_read);
}

const struct test_case cases[] = {RACY(plain_counter, plain),
                                  RACY(two_writers, write_only),
                                  RACY(lent_thread_local, lent),
                                  RACY(reader_and_writer, read_write),
                                  RACY(one_side_locks, half),
                                  RACY(different_locks, other_lock),
                                  RACY(read_before_join, before_join),
                                  RACY(write_after_create, after_create),
                                  OBJECT(heap_counter, "*"),
                                  RACY(same_array, array),
                                  RACY(by_strcpy, text),
                                  RACY(by_memset, block),
                                  RACY(write_under_rdlock, under_read),
                                  RACY(ignored_trylock, trylocked),
                                  RACY(outside_of_lock, unlocked_after),
                                  RACY(volatile_handover, volatile_flag),
                                  RACY(relaxed_handover, relaxed_data),
                                  RACY(atomic_and_plain, mixed),
                                  RACY(same_side_of_barrier, around_barrier),
                                  RACY(write_after_post, after_post),
                                  RACY(semaphore_of_two, counted),
                                  RACY(detached_thread, detached_data),
                                  RACY(write_after_signal, cond_data),
                                  RACY(double_checked_lock, checked),
                                  RACY(one_side_spins, spun),
                                  RACY(c11_counter, c11_data),
                                  OBJECT(stack_variable, "*"),
                                  RACY(grandchildren, third),
                                  RACY(word_and_byte, bytes),
                                  RACY(bit_fields, fields),
                                  RACY(two_of_many, many_data),
                                  OBJECT(free_and_use, "*"),
                                  RACY(overlapping_parts, table),
                                  RACY(write_outside, relock),
                                  RACY(write_too_early, after_writing),
                                  RACY(through_file, beside_file),
                                  RACY(kernel_fills, filled),
                                  RACY(kernel_reads, told),
                                  RACY(kernel_fills_twice, filled_by_both),
                                  FREE(mutex_counter),
                                  FREE(mutex_trylock),
                                  FREE(mutex_recursive),
                                  FREE(rwlock),
                                  FREE(condition),
                                  FREE(producer_consumer),
                                  FREE(semaphore),
                                  FREE(semaphore_as_lock),
                                  FREE(barriers),
                                  FREE(spin_lock),
                                  FREE(create_join),
                                  FREE(create_join_late),
                                  FREE(once),
                                  FREE(detach),
                                  FREE(atomic_seq_cst),
                                  FREE(atomic_relaxed),
                                  FREE(atomic_relaxed_stores),
                                  FREE(release_acquire),
                                  FREE(acquire_release),
                                  FREE(handover_seq_cst),
                                  FREE(builtins),
                                  FREE(ping_pong),
                                  FREE(own_spin_lock),
                                  FREE(compare_exchange),
                                  FREE(sync_builtins),
                                  FREE(reference_count),
                                  FREE(c11_mutex),
                                  FREE(thread_local_data),
                                  FREE(neighbours),
                                  FREE(readers),
                                  FREE(memory_reuse),
                                  FREE(printing),
                                  FREE(printing_from_start),
                                  FREE(stacks_reused),
                                  FREE(timed_locks),
                                  FREE(disjoint_parts),
                                  FREE(descriptors),
                                  FREE(signals),
                                  FREE(mapped_memory),
                                  FREE(robust_lock),
                                  FREE(kernel_reads_twice),
                                  FREE(kernel_fills_halves),
                                  FREE(kernel_passes),
                                  FREE(kernel_fills_guarded),
                                  FREE(kernel_and_streams),
                                  {NULL, NULL, NULL}};
