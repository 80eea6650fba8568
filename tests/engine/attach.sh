# record --pid: a process is taken with all its threads, and goes on as if nothing had been: what it computes, its waits with what was left of their time, locks,
# signals, masks, an alternate stack; what it does from then on is recorded, and replayed as it was.
. "$(dirname "$0")/../lib.sh"
need_ptrace

cc_program waits -pthread -D_GNU_SOURCE <<'EOF'
#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
enum { SECONDS = 6, BEFORE = 4 }; /* of all waits; and when the process is taken */
static volatile int stop;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, held = PTHREAD_MUTEX_INITIALIZER;
static long counter, handled, off_stack;
static char other_stack[1 << 16];
static int pipes[2];
static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}
/* A wait that began anew would end after BEFORE + SECONDS. */
static void say(const char *what, int result, double begun)
{
	const int error = errno;
	const double took = now() - begun;
	printf("%s: %d %s, %s\n", what, result, result < 0 ? strerror(error) : "", took < SECONDS - 0.01 ? "early" : took < SECONDS + BEFORE - 0.7 ? "in time" : "late");
}
static void *in_nanosleep(void *unused)
{
	const struct timespec t = {SECONDS, 0};
	const double begun = now();
	say("nanosleep", nanosleep(&t, NULL), begun);
	return unused;
}
static void *in_epoll(void *unused)
{
	struct epoll_event e;
	const double begun = now();
	say("epoll_wait", epoll_wait(epoll_create1(0), &e, 1, SECONDS * 1000), begun);
	return unused;
}
static void *in_poll(void *unused)
{
	const double begun = now();
	say("poll", poll(NULL, 0, SECONDS * 1000), begun);
	return unused;
}
static void *in_select(void *unused)
{
	struct timeval t = {SECONDS, 0};
	const double begun = now();
	say("select", select(0, NULL, NULL, NULL, &t), begun);
	return unused;
}
static void *in_futex(void *unused)
{
	const struct timespec t = {SECONDS, 0};
	int word = 0;
	const double begun = now();
	say("futex", (int)syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, &t, NULL, 0), begun);
	return unused;
}
static void *in_sigtimedwait(void *unused)
{
	const struct timespec t = {SECONDS, 0};
	sigset_t s;
	sigemptyset(&s);
	sigaddset(&s, SIGUSR2);
	const double begun = now();
	say("sigtimedwait", sigtimedwait(&s, NULL, &t), begun);
	return unused;
}
static void *in_mutex(void *unused)
{
	pthread_mutex_lock(&held);
	puts("mutex: got");
	pthread_mutex_unlock(&held);
	return unused;
}
static void *in_read(void *unused)
{
	char c = 0;
	int n = (int)read(pipes[0], &c, 1);
	printf("read: %d %c\n", n, c);
	return unused;
}
static void *at_work(void *unused)
{
	long own = 0;
	for (; !stop; own++) {
		pthread_mutex_lock(&lock);
		counter++;
		pthread_mutex_unlock(&lock);
		char *p = malloc(100);
		*p = 1;
		free(p);
		usleep(200);
	}
	return (void *)own;
}
static void on_alarm(int number)
{
	char here;
	handled += number == SIGALRM;
	off_stack += &here < other_stack || &here >= other_stack + sizeof other_stack;
}
int main(void)
{
	static void *(*const work[])(void *) = {in_nanosleep, in_epoll, in_poll, in_select, in_futex, in_sigtimedwait, in_mutex, in_read, at_work, at_work};
	enum { N = sizeof work / sizeof *work };
	const stack_t alternate = {.ss_sp = other_stack, .ss_size = sizeof other_stack};
	const struct sigaction act = {.sa_handler = on_alarm, .sa_flags = SA_ONSTACK};
	const struct itimerval often = {{0, 5000}, {0, 5000}}, never = {{0, 0}, {0, 0}};
	pthread_t t[N];
	sigset_t all, none;
	long own = 0;
	sigfillset(&all);
	if (pipe(pipes) || sigaltstack(&alternate, NULL) || sigaction(SIGALRM, &act, NULL))
		return 1;
	pthread_mutex_lock(&held);
	sigprocmask(SIG_SETMASK, &all, &none);
	for (int i = 0; i < N; i++)
		pthread_create(&t[i], NULL, work[i], NULL);
	sigprocmask(SIG_SETMASK, &none, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	for (const double begun = now(); now() - begun < BEFORE;)
		pause();
	puts("ready");
	fflush(stdout);
	for (int i = 0; i < 6; i++)
		while (pthread_tryjoin_np(t[i], NULL))
			pause();
	setitimer(ITIMER_REAL, &never, NULL);
	pthread_mutex_unlock(&held);
	pthread_join(t[6], NULL);
	if (write(pipes[1], "x", 1) != 1)
		return 1;
	pthread_join(t[7], NULL);
	stop = 1;
	for (int i = 8; i < N; i++) {
		void *n;
		pthread_join(t[i], &n);
		own += (long)n;
	}
	printf("%s, handlers %s, %ld off their stack\n", own == counter ? "counted right" : "counted wrong", handled > 100 ? "ran" : "did not run", off_stack);
	return own != counter;
}
EOF
sort >expected <<'EOF'
counted right, handlers ran, 0 off their stack
epoll_wait: 0 , in time
futex: -1 Connection timed out, in time
mutex: got
nanosleep: 0 , in time
poll: 0 , in time
read: 1 x
ready
select: 0 , in time
sigtimedwait: -1 Resource temporarily unavailable, in time
EOF
# went_on: the program has ended, and went on as if nothing had been
went_on() {
	wait $PID || fail "the program ended with status $?: $(cat native.out native.err)"
	[ -e /proc/self/sched ] || { # nothing says how long a thread has waited: these two wait again
		untested "what is left of epoll_wait and sigtimedwait (no /proc/PID/sched)"
		sed -i '/^epoll_wait\|^sigtimedwait/d' expected native.out
	}
	sort native.out | diff expected - || fail "the process did not go on as if nothing had been"
}
start ./waits
attach
went_on
wait $RECORDER || fail "record --pid: status $?: $(cat attached.err)"
check_good
[ "$(info_value threads)" = 11 ] || fail "not all threads are recorded"
[ "$(info_value attached)" = $PID ] || fail "info does not say that it was attached"
"$TW" info recording.tw | grep -q 'attached at' || fail "info does not say when"
"$TW" report recording.tw >report.out && grep -q at_work report.out || fail "report does not name what ran"

# Taken and let go again and again, by `trackway stop` and by Ctrl-C.
start ./waits
for round in 1 2; do
	attach --names=later
	if [ $round = 2 ]; then
		kill -INT $RECORDER
		until ! kill -0 $RECORDER 2>/dev/null || grep -q 'on natively' attached.err; do sleep 0.05; done
	else
		"$TW" stop $PID >stop.out || fail "stop: status $?"
		grep -q 'on natively' stop.out || fail "stop says: $(cat stop.out)"
	fi
	grep -s trackway /proc/$PID/maps && fail "something of the engine stays"
	wait $RECORDER || fail "the recorder ended with status $?: $(cat attached.err)"
	check_good
	[ "$(info_value let_go)" = 1 ] || fail "info does not say that it was let go"
	grep -q counted native.out && break # this machine is slow: it has ended
done
went_on

# Every reference is replayed as it was made; children and what they execute are recorded, too.
cc_program goes_on <<'EOF'
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static unsigned step(unsigned x, char *p)
{
	for (int i = 0; i < 64; i++)
		p[x % 97] += (char)(x = x * 1664525 + 1013904223);
	return x;
}
int main(void)
{
	unsigned x = 1, y = 1;
	long n = 0, k = 0;
	char *p = calloc(1, 97), *q = calloc(1, 97);
	puts("ready");
	fflush(stdout);
	for (; access("stop", F_OK); n++) {
		x = step(x, p);
		usleep(1000);
	}
	for (; k < n; k++)
		y = step(y, q);
	for (int i = 0; i < 97; i++)
		x += (unsigned)(p[i] != q[i]);
	int status = 1;
	if (!fork())
		execl("/bin/true", "true", (char *)0);
	wait(&status);
	puts(x == y && !status ? "right" : "wrong");
	return x != y;
}
EOF
start ./goes_on
attach --verify
touch stop
wait $PID || fail "the program ended with status $?: $(cat native.out)"
grep -q right native.out || fail "it computed something else"
wait $RECORDER || fail "record --pid --verify: status $?: $(cat attached.err)"
clean_verify attached.err || fail "not verified: $(cat attached.err)"
check_good
"$TW" info recording.tw | grep -q '/true' || fail "what it executed is not in the recording"
