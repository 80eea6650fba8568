# Threads of three priorities (SCHED_FIFO) on one processor: the highest needs a lock of the engine that the lowest has, and the one in between would have the
# processor to itself until then.
. "$(dirname "$0")/../lib.sh"
cc_program priorities -D_GNU_SOURCE -pthread <<'END2'
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
enum { ROUNDS = 100 };
static sem_t wanted;
static volatile int busy, done, inverted;
/* New code: it is translated each time. */
static void fresh(unsigned char *code, int n)
{
	const unsigned char f[] = {0xb8, n, n >> 8, 0, 0, 0xc3}; /* mov eax, n; ret */
	memcpy(code, f, sizeof f);
	if (((int (*)(void))code)() != (n & 0xffff))
		_exit(9);
}
static unsigned char *page(void)
{
	return mmap(NULL, 4096, 7, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}
static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}
static void *low(void *p)
{
	unsigned char *code = page();
	for (int n = 0; !done; n++)
		fresh(code, n);
	return p;
}
/* Has the processor while the high one is at it, and does not run. */
static void *middle(void *p)
{
	for (;;) {
		sem_wait(&wanted);
		if (done)
			return p;
		for (double until = now() + 5; busy && !inverted;)
			inverted = now() > until;
	}
}
static void *high(void *p)
{
	unsigned char *code = page();
	for (int n = 0; n < ROUNDS && !inverted; n++) {
		struct timespec t = {0, 50000 + n * 997 % 300 * 1000};
		nanosleep(&t, NULL);
		busy = 1;
		sem_post(&wanted);
		fresh(code, n);
		busy = 0;
	}
	done = 1;
	sem_post(&wanted);
	return p;
}
static pthread_t start(void *(*f)(void *), int priority)
{
	pthread_attr_t a;
	pthread_t t;
	struct sched_param s = {priority};
	pthread_attr_init(&a);
	pthread_attr_setinheritsched(&a, PTHREAD_EXPLICIT_SCHED);
	pthread_attr_setschedpolicy(&a, SCHED_FIFO);
	pthread_attr_setschedparam(&a, &s);
	if (pthread_create(&t, &a, f, NULL))
		exit(77);
	return t;
}
int main(void)
{
	cpu_set_t one;
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	sched_setaffinity(0, sizeof one, &one);
	sem_init(&wanted, 0, 0);
	pthread_t t[] = {start(low, 1), start(middle, 2), start(high, 3)};
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	printf("inverted %d\n", inverted);
	return 0;
}
END2
native ./priorities
[ "$NATIVE_STATUS" != 77 ] || skip "threads cannot be scheduled in real time here"
grep -qx 'inverted 0' native.out || skip "priorities are not kept natively here"
for RECORD_OPTIONS in "-f none" "" --verify; do
	read -ra RECORD_OPTIONS <<<"$RECORD_OPTIONS"
	same_as_native ./priorities
done
