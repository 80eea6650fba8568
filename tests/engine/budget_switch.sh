# record --switch: however threads go from recording to running bare and back, the program does what it does natively, and what is recorded is right, reference by reference.
. "$(dirname "$0")/../lib.sh"
cc_program busy -O1 -pthread <<'END'
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
static volatile int ticks;
static void tick(int s) { ticks += s; }
static int by_value(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
static unsigned work(unsigned seed)
{
	static __thread int a[1000];
	unsigned sum = 0;
	for (int turn = 0; turn < 4; turn++) {
		char text[100];
		for (int i = 0; i < 1000; i++)
			a[i] = (int)((seed = seed * 1103515245 + 12345) >> 8);
		qsort(a, 1000, sizeof *a, by_value);
		for (int i = 0; i < 1000; i++)
			sum += (unsigned)(a[i] * i);
		sum += (unsigned)snprintf(text, sizeof text, "%d %f", a[3], a[4] / 3.0);
	}
	return sum;
}
static void *in_thread(void *p) { return (void *)(long)(work((unsigned)(long)p) + work(5)); }
int main(void)
{
	pthread_t t[2];
	unsigned sum = 0;
	int status;
	struct itimerval each = {{0, 3000}, {0, 3000}}, none = {{0, 0}, {0, 0}};
	signal(SIGALRM, tick);
	setitimer(ITIMER_REAL, &each, NULL);
	for (long i = 0; i < 2; i++)
		pthread_create(&t[i], NULL, in_thread, (void *)(i * 7));
	pid_t child = fork();
	if (!child)
		_exit((int)(work(3) % 100));
	sum += work(9);
	while (waitpid(child, &status, 0) < 0)
		;
	for (int i = 0; i < 2; i++) {
		void *r;
		pthread_join(t[i], &r);
		sum += (unsigned)(long)r;
	}
	setitimer(ITIMER_REAL, &none, NULL);
	printf("%u\n", sum + (unsigned)WEXITSTATUS(status));
	return (int)(sum % 50);
}
END
for switch in asynchronous trace-version trace-version-conditional trace-conditional; do
	for format in dep dep-c bb_pc; do
		RECORD_OPTIONS=(-f "$format" --budget=20% --period=5ms "--switch=$switch")
		same_as_native ./busy
		check_good
	done
	"$TW" info recording.tw | grep -q "^switch  *$switch\$" || fail "$switch: info does not name it"
	"$TW" dump --raw recording.tw | grep -q 'event window' || fail "$switch: no thread ever went from one version to the other"
	RECORD_OPTIONS=(-f dep --budget=20% --period=5ms "--switch=$switch")
	verify_clean ./busy
done
record_refused "--switch wants asynchronous, trace-version, trace-version-conditional or trace-conditional, not 'fast'" --switch=fast --budget=10%
record_refused "--budget is required for '--switch'" --switch=trace-version
record_refused "nothing is recorded, so there is no use for '--switch'" --switch=trace-version --budget=10% --learn=x
record_refused "--switch wants asynchronous in format 'cf_bit'" --switch=trace-version --budget=10% -f cf_bit
