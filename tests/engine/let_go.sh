# trackway stop: a program that `record` has started is let go with all its children while they run, and goes on natively as if it had never been recorded: registers, signals, memory,
# brk, what it forks and executes from then on, its exit status.
. "$(dirname "$0")/../lib.sh"
need_ptrace

cc_program family -D_GNU_SOURCE -pthread <<'EOF'
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
static volatile int ticks, faults;
static void on_tick(int number) { ticks += number == SIGALRM; }
static void on_signal(int number, siginfo_t *info, void *context)
{
	(void)context;
	faults += number == SIGUSR2 && info->si_value.sival_int == faults;
}
/* Integers, floating point and vectors, all of which have to be right in the end. */
static double step(unsigned *x, double *v)
{
	double sum = 0;
	for (int i = 0; i < 64; i++) {
		*x = *x * 1664525 + 1013904223;
		v[i] = v[i] * 0.5 + (double)(*x >> 8);
		sum += v[i];
	}
	return sum;
}
static void *work(void *unused)
{
	unsigned x = 1, y = 1;
	double v[64] = {0}, w[64] = {0}, a = 0, b = 0;
	long n = 0;
	for (; access("stop", F_OK); n++) {
		a = a * 0.25 + step(&x, v);
		char *p = malloc(1 + x % 100000); /* by brk, too */
		*p = 1;
		free(p);
		if (n % 50 == 0)
			usleep(100);
	}
	for (; n; n--)
		b = b * 0.25 + step(&y, w);
	return x == y && a == b ? unused : (void *)1;
}
static int self(void)
{
	const struct sigaction on = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_RESTART};
	const struct itimerval often = {{0, 3000}, {0, 3000}};
	pthread_t t[2];
	void *wrong[2];
	signal(SIGALRM, on_tick);
	sigaction(SIGUSR2, &on, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	for (int i = 0; i < 2; i++)
		pthread_create(&t[i], NULL, work, NULL);
	int n = 0;
	while (access("stop", F_OK)) {
		n += !sigqueue(getpid(), SIGUSR2, (union sigval){.sival_int = n});
		while (faults < n)
			usleep(1000);
	}
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], &wrong[i]);
	const int brk = sbrk(1 << 20) == (void *)-1;
	memset((char *)sbrk(0) - 4096, 1, 4096);
	return wrong[0] || wrong[1] || ticks < 3 || brk;
}
int main(void)
{
	int status, wrong = 0;
	for (int i = 0; i < 2; i++)
		if (!fork())
			_exit(self());
	puts("ready");
	fflush(stdout);
	wrong |= self();
	for (int i = 0; i < 2; i++)
		wrong |= wait(&status) < 0 || status;
	wrong |= system("exit 5") != 5 << 8;
	puts(wrong ? "wrong" : "right");
	return wrong ? 1 : 42;
}
EOF
rm -rf recording.tw
"$TW" record -o recording.tw -- ./family >native.out 2>native.err &
RECORDER=$!
CLEANUP+=("kill -9 $RECORDER 2>/dev/null")
await '^ready$' native.out
PID=$(cut -d' ' -f1 /proc/$RECORDER/task/$RECORDER/children)
"$TW" stop "$PID" >stop.out 2>&1 || fail "stop: $(cat stop.out)"
grep -q '^[123] process.* on natively$' stop.out || fail "stop says: $(cat stop.out)"
grep memfd:trackway /proc/"$PID"/maps && fail "something of the engine stays"
await 'in recording.tw' native.err # the recording is closed while the program goes on
kill -0 "$PID" || fail "the program is gone"
check_good
one_sentence "$TW" stop "$PID"
says "not being recorded"
touch stop
wait $RECORDER
status=$?
[ $status = 42 ] && grep -q right native.out || fail "the program ended with status $status: $(cat native.out)"
