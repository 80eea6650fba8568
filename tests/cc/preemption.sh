# Handlers that do not return where they came from: they switch stacks, to what another has interrupted (more of them than a thread has streams, too); a child returns from the one that has forked; and they are left by
# siglongjmp.
. "$(dirname "$0")/../cc.sh"
need_command gcc
cat >switch.c <<'X'
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <ucontext.h>
enum { MOST = 24 };
static ucontext_t task[MOST], first;
static volatile int n, current, done[MOST];
static long sum[MOST], m[MOST][64];
static int next_of(int from)
{
	for (int k = 1; k < n; k++)
		if (!done[(from + k) % n])
			return (from + k) % n;
	return from;
}
static void tick(int number)
{
	const int from = current, to = next_of(from);
	(void)number;
	if (to == from)
		return;
	current = to;
	swapcontext(&task[from], &task[to]);
}
__attribute__((noinline)) static void step(long id, long turns)
{
	for (long i = 0; i < turns; i++) {
		m[id][i & 63] += i;
		sum[id] += m[id][(i * 7) & 63] & 3;
	}
}
static void run(int id)
{
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGALRM);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	for (int r = 0; r < 60; r++)
		step(id, 20000 + id);
	sigprocmask(SIG_BLOCK, &set, NULL);
	done[id] = 1;
	current = next_of(id);
	setcontext(current == id ? &first : &task[current]);
}
int main(int argc, char **argv)
{
	(void)argc;
	struct itimerval every = {{0, 700}, {0, 700}}, never;
	struct sigaction act = {.sa_handler = tick, .sa_flags = SA_RESTART};
	sigset_t set;
	memset(&never, 0, sizeof never);
	sigemptyset(&set);
	sigaddset(&set, SIGALRM);
	sigprocmask(SIG_BLOCK, &set, NULL); /* or the first tick may come before the first switch, and take this for a task */
	n = atoi(argv[1]);
	sigaction(SIGALRM, &act, NULL);
	for (int k = 0; k < n; k++) {
		getcontext(&task[k]);
		task[k].uc_stack.ss_sp = malloc(1 << 17);
		task[k].uc_stack.ss_size = 1 << 17;
		sigaddset(&task[k].uc_sigmask, SIGALRM);
		makecontext(&task[k], (void (*)(void))run, 1, k);
	}
	setitimer(ITIMER_REAL, &every, NULL);
	swapcontext(&first, &task[0]);
	setitimer(ITIMER_REAL, &never, NULL);
	for (int k = 0; k < n; k++)
		printf("%ld ", sum[k]);
	return 0;
}
X
cat >left.c <<'X'
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
static volatile int forks, bad, child;
static sigjmp_buf jump;
static volatile long m[64];
static void tick(int number)
{
	(void)number;
	if (forks >= 5 || child)
		return;
	forks++;
	const pid_t pid = fork();
	int status;
	if (!pid)
		child = 1; /* it goes on with what was interrupted */
	else if (waitpid(pid, &status, 0) != pid || status)
		bad++;
}
static void leave(int number)
{
	(void)number;
	siglongjmp(jump, 1);
}
__attribute__((noinline)) static long work(long turns)
{
	long s = 0;
	for (long i = 0; i < turns; i++) {
		m[i & 63] += i;
		s += m[(i * 7) & 63] & 3;
	}
	return s;
}
int main(void)
{
	struct itimerval every = {{0, 3000}, {0, 3000}}, never;
	volatile long left = 0;
	memset(&never, 0, sizeof never);
	signal(SIGALRM, tick);
	setitimer(ITIMER_REAL, &every, NULL);
	while (forks < 5 && !child)
		work(100000);
	setitimer(ITIMER_REAL, &never, NULL);
	if (child) {
		work(100000);
		_exit(0);
	}
	signal(SIGALRM, leave);
	if (sigsetjmp(jump, 1))
		left++;
	setitimer(ITIMER_REAL, &every, NULL);
	while (left < 40)
		work(100000);
	setitimer(ITIMER_REAL, &never, NULL);
	printf("%d %d\n", forks, bad);
	return 0;
}
X
for options in "" --full=guard --switchable; do
	CC_OPTIONS=$options instrumented switch gcc -O2 switch.c
	runs_as_plain switch 24
done
instrumented left gcc -O2 left.c
runs_as_plain left

# With a routine in the program what handlers that were left have interrupted is not lost.
cat >routine.c <<'X'
#include <stdio.h>
#include <stdlib.h>
#include <trackway/analyzer.h>
static void *begin(void *arg)
{
	(void)arg;
	return calloc(1, sizeof(uint64_t));
}
static int batch(void *state, const struct tw_batch *b)
{
	*(uint64_t *)state += b->n_refs;
	return 0;
}
static int merge(void *state, void *later)
{
	*(uint64_t *)state += *(uint64_t *)later;
	free(later);
	return 0;
}
static int end(void *state, int error)
{
	if (!error)
		printf("%s\n", *(uint64_t *)state > 1000000 ? "many" : "few");
	free(state);
	return 0;
}
static const struct tw_analyzer count = {.name = "count", .begin = begin, .batch = batch, .merge = merge, .end = end};
TW_PLUGIN(count);
X
"$TW" cc --batch=routine.c gcc -O2 -I"$ROOT/include" left.c -o routine || fail "--batch"
./routine >routine.out || fail "--batch: status $?"
[ "$(cat routine.out)" = "5 0
many" ] || fail "--batch: $(cat routine.out)"
# Threads that are cancelled wherever they are, in the C library's own handler: what their cleanup does is recorded behind what they had handed over.
cat >cancel.c <<'X'
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
static volatile int turns;
static long cleaned;
struct sums {
	long part[64];
	volatile long sum;
};
__attribute__((noinline)) static long leaf(struct sums *s, long i)
{
	return s->part[i & 63] * 3 + i;
}
static void clean(void *at)
{
	struct sums *s = at;
	for (int k = 0; k < 64; k++)
		cleaned += s->part[k];
}
static void *run(void *unused)
{
	struct sums s = {.sum = 0};
	int old;
	(void)unused;
	for (int k = 0; k < 64; k++)
		s.part[k] = k;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old);
	pthread_cleanup_push(clean, &s);
	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &old);
	pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &old);
	for (long i = 0;; i++) {
		s.sum += leaf(&s, i);
		turns = i > 100000;
	}
	pthread_cleanup_pop(0);
	return NULL;
}
int main(void)
{
	for (int r = 0; r < 6; r++) {
		pthread_t t;
		turns = 0;
		pthread_create(&t, NULL, run, NULL);
		while (!turns)
			sched_yield();
		pthread_cancel(t);
		pthread_join(t, NULL);
	}
	printf("%ld\n", cleaned);
	return 0;
}
X
for flags in -O2 -O0; do
	instrumented cancel gcc $flags -pthread cancel.c
	runs_as_plain cancel
	"$TW" info recording.tw | grep -q '^gaps  *0$' || fail "$flags: gaps where threads are cancelled"
done
