# With the sanitizers, which keep much of the address space for themselves, and with counters of calls and branches.
. "$(dirname "$0")/../cc.sh"
need_command gcc
cat >t.c <<'X'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long sum;
__attribute__((noinline)) static long work(const long *v, int n)
{
	long s = 0;
	for (int i = 0; i < n; i++)
		s += v[i] ^ i;
	return s;
}
static void *run(void *arg)
{
	long *v = calloc(300, sizeof *v);
	for (int i = 0; i < 300; i++)
		v[i] = i * *(int *)arg;
	const long s = work(v, 300);
	free(v);
	pthread_mutex_lock(&lock);
	sum += s;
	pthread_mutex_unlock(&lock);
	return NULL;
}
int main(void)
{
	pthread_t t[3];
	int n[3] = {2, 3, 5};
	for (int k = 0; k < 3; k++)
		pthread_create(&t[k], NULL, run, &n[k]);
	for (int k = 0; k < 3; k++)
		pthread_join(t[k], NULL);
	printf("%ld\n", sum);
	return 3;
}
X
# sanitized COMPILER FLAG...: as without trackway cc. What is not installed, or does not run here, is passed over
sanitized() {
	if ! "$@" t.c -o probe -pthread 2>/dev/null; then
		untested "$*: it does not link"
		return
	fi
	timeout 60 ./probe >/dev/null 2>&1
	if [ $? != 3 ]; then
		untested "$*: it does not run"
		return
	fi
	instrumented t "$@" t.c -pthread
	runs_as_plain t
	"$TW" info recording.tw | grep -q instrumented || fail "$*: it is not recorded as an instrumented program"
}
for flags in -fsanitize=thread "-fsanitize=address,undefined"; do
	sanitized gcc -O2 $flags
done
if command -v clang >/dev/null; then
	sanitized clang -O2 -fsanitize=memory
fi
# What the sanitizer does at _exit: it changes the status, as it has reported something.
cat >wrong.c <<'X'
#include <pthread.h>
#include <unistd.h>
int main(void)
{
	static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
	pthread_mutex_lock(&m);
	pthread_mutex_destroy(&m);
	_exit(0);
}
X
if gcc -fsanitize=thread wrong.c -o wrong.plain -pthread 2>/dev/null; then
	instrument wrong gcc -fsanitize=thread wrong.c -pthread
	timeout 60 ./wrong.plain >/dev/null 2>&1
	plain=$?
	timeout 60 ./wrong >/dev/null 2>&1
	[ $? = $plain ] || fail "_exit of a sanitized program: not status $plain"
fi
