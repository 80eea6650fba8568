# Contexts that a signal's handler has left by swapcontext, and that another thread goes on with: wherever they were interrupted.
# timeout: 240
. "$(dirname "$0")/../cc.sh"
need_command gcc
cat >moved.c <<'X'
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <ucontext.h>
enum { FIBERS = 8, THREADS = 3, ROUNDS = 300 };
struct fiber { ucontext_t own; ucontext_t *volatile back; volatile long sum; volatile int done; volatile int t[256]; };
static struct fiber fib[FIBERS];
static __thread struct fiber *volatile current;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int queue[FIBERS], n_queue, left = FIBERS;
__attribute__((noinline)) static int work(volatile int *t, int n)
{
	int s = 0;
	for (int i = 0; i < n; i++) {
		t[(i * 31) & 255] = i;
		s += t[i & 255] & 7;
	}
	return s;
}
static void run(int k)
{
	struct fiber *f = &fib[k];
	sigset_t u;
	sigemptyset(&u); sigaddset(&u, SIGUSR1);
	pthread_sigmask(SIG_UNBLOCK, &u, 0);
	for (int i = 0; i < ROUNDS; i++)
		f->sum += work(f->t, 100 + (i & 31));
	f->done = 1;
	for (;;)
		;
}
__attribute__((noinline)) static struct fiber *now(void) { return current; }
static void preempt(int number)
{
	struct fiber *f = now();
	(void)number;
	if (!f) return;
	current = 0;
	swapcontext(&f->own, f->back);
}
__attribute__((noinline)) static void go(struct fiber *f)
{
	sigset_t s, o;
	ucontext_t back;
	sigemptyset(&s); sigaddset(&s, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &s, &o);
	f->back = &back;
	current = f;
	swapcontext(&back, &f->own); /* its mask lets SIGUSR1 in, or it is in the handler */
	pthread_sigmask(SIG_SETMASK, &o, 0);
}
static void *thread(void *arg)
{
	for (;;) {
		pthread_mutex_lock(&lock);
		int k = -1;
		if (n_queue) { k = queue[0]; for (int i = 1; i < n_queue; i++) queue[i - 1] = queue[i]; n_queue--; }
		int l = left;
		pthread_mutex_unlock(&lock);
		if (!l) return arg;
		if (k < 0) { sched_yield(); continue; }
		go(&fib[k]);
		pthread_mutex_lock(&lock);
		if (fib[k].done) left--; else queue[n_queue++] = k;
		pthread_mutex_unlock(&lock);
	}
}
int main(void)
{
	pthread_t th[THREADS];
	struct sigaction a = {.sa_handler = preempt};
	sigset_t all;
	sigaction(SIGUSR1, &a, 0);
	sigset_t b;
	sigemptyset(&b); sigaddset(&b, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &b, 0);
	for (int k = 0; k < FIBERS; k++) {
		getcontext(&fib[k].own);
		fib[k].own.uc_stack.ss_sp = malloc(65536);
		fib[k].own.uc_stack.ss_size = 65536;
		makecontext(&fib[k].own, (void (*)(void))run, 1, k);
		queue[n_queue++] = k;
	}
	pthread_sigmask(SIG_UNBLOCK, &b, 0);
	for (int k = 0; k < THREADS; k++) pthread_create(&th[k], 0, thread, 0);
	while (__atomic_load_n(&left, __ATOMIC_RELAXED)) {
		struct timespec d = {0, 100000};
		for (int k = 0; k < THREADS; k++) pthread_kill(th[k], SIGUSR1);
		nanosleep(&d, 0);
	}
	for (int k = 0; k < THREADS; k++) pthread_join(th[k], 0);
	long s = 0;
	for (int k = 0; k < FIBERS; k++) s += fib[k].sum;
	printf("%ld\n", s);
	return 0;
}
X
compiler=gcc
command -v clang >/dev/null && compiler=clang # whose code loads the pointer behind a loop
for CC_OPTIONS in "" --full=guard; do
	instrumented moved $compiler -O3 -pthread moved.c
	native ./moved.plain
	recorded ./moved
	compare_runs "$CC_OPTIONS: recorded"
	check_good
	for ((n = 0; n < 12; n++)); do # what one thread was about to write to its buffer another writes
		TRACKWAY=discard ./moved >out
		[ $? = 0 ] && cmp out native.out || fail "$CC_OPTIONS: thrown away"
	done
done
