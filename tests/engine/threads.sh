# Threads: many, with mutexes, condition variables, thread-local storage, atomics, cancellation; exits in every order.
. "$(dirname "$0")/../lib.sh"
cc_program threads -pthread <<'END'
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
enum { N = 6 };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int turn;
static atomic_long total;
static __thread long mine;
static long plain;

static void *work(void *arg)
{
	long me = (long)arg;
	for (int i = 0; i < 2000; i++) {
		mine += me;
		atomic_fetch_add(&total, me);
		pthread_mutex_lock(&lock);
		plain++;
		pthread_mutex_unlock(&lock);
	}
	for (int i = 0; i < 5; i++) {
		pthread_mutex_lock(&lock);
		while (turn % N != me)
			pthread_cond_wait(&changed, &lock);
		turn++;
		pthread_cond_broadcast(&changed);
		pthread_mutex_unlock(&lock);
	}
	char *p = malloc(10000);
	p[me] = 1;
	free(p);
	return (void *)mine;
}

static void *forever(void *arg)
{
	(void)arg;
	for (;;)
		usleep(1000);
	return NULL;
}

int main(void)
{
	pthread_t t[N], f;
	long sum = 0;
	for (long i = 0; i < N; i++)
		if (pthread_create(&t[i], NULL, work, (void *)i))
			return 1;
	for (int i = 0; i < N; i++) {
		void *r;
		pthread_join(t[i], &r);
		sum += (long)r;
	}
	printf("%ld %ld %ld %d %ld\n", sum, (long)total, plain, turn, mine);
	if (pthread_create(&f, NULL, forever, NULL))
		return 1;
	pthread_cancel(f);
	pthread_join(f, NULL);
	if (pthread_create(&f, NULL, forever, NULL))
		return 1;
	puts("leaving while one still runs");
	return 4;
}
END
whole ./threads
recorded ./threads
[ "$(info_value threads)" = 8 ] || [ "$(info_value threads)" = 9 ] || fail "info counts $(info_value threads) threads"
