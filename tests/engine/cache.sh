# More code than the code cache holds, made and run by several threads: it is emptied while they run, again and again.
# timeout: 240
. "$(dirname "$0")/../lib.sh"
cc_program cache -pthread -D_GNU_SOURCE <<'END'
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>

enum { THREADS = 3, STRIDE = 16 };
typedef int (*function)(int);
static int n, rounds;
static volatile sig_atomic_t alarms;
static volatile int stop;

static void on_alarm(int s)
{
	(void)s;
	alarms++;
}

/* n functions, each: lea eax, [rdi + i]; test edi, edi; js over; inc eax; over: ret */
static void *work(void *arg)
{
	uint8_t *p = mmap(NULL, (size_t)n * STRIDE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	static const uint8_t code[] = {0x8d, 0x87, 0, 0, 0, 0, 0x85, 0xff, 0x78, 0x02, 0xff, 0xc0, 0xc3};
	long sum = (long)(intptr_t)arg;
	for (int i = 0; i < n; i++) {
		memcpy(p + (size_t)i * STRIDE, code, sizeof code);
		memcpy(p + (size_t)i * STRIDE + 2, &i, 4);
	}
	mprotect(p, (size_t)n * STRIDE, PROT_READ | PROT_EXEC);
	for (int r = 0; r < rounds; r++)
		for (int i = 0; i < n; i++)
			sum = sum * 31 + ((function)(uintptr_t)(p + (size_t)((i * 7919l) % n) * STRIDE))(r);
	return (void *)sum;
}

/* never makes a system call: it comes out of the cache all the same */
static void *spin(void *arg)
{
	unsigned long x = (unsigned long)arg;
	while (!stop)
		x = x * 6364136223846793005ul + 1;
	return (void *)(x & 0);
}

int main(int argc, char **argv)
{
	pthread_t t[THREADS], s;
	n = argc > 1 ? atoi(argv[1]) : 1000;
	rounds = argc > 2 ? atoi(argv[2]) : 1;
	struct sigaction a = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
	struct itimerval tick = {{0, 20000}, {0, 20000}};
	sigaction(SIGALRM, &a, NULL);
	setitimer(ITIMER_REAL, &tick, NULL);
	pthread_create(&s, NULL, spin, NULL);
	for (long i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, work, (void *)i);
	for (int i = 0; i < THREADS; i++) {
		void *r;
		pthread_join(t[i], &r);
		printf("%d %lx\n", i, (unsigned long)r);
	}
	pid_t p = fork();
	if (p == 0)
		_exit(0);
	stop = 1;
	pthread_join(s, NULL);
	return 0;
}
END
same_as_native ./cache 2000 2
check_good
verify_clean ./cache 300 1
RECORD_OPTIONS=(-f none)
same_as_native ./cache "$(full 400000 150000)" 1
