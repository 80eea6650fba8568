# Programs that are linked with musl: its C library tells less of how threads and processes end.
. "$(dirname "$0")/../cc.sh"
need_command musl-gcc
cat >p.c <<'X'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
__attribute__((noinline)) static long work(long n)
{
	long s = 0;
	for (long i = 0; i < n; i++)
		s += i * n;
	return s;
}
static void *run(void *n)
{
	return (void *)work((long)n);
}
static void at_end(void)
{
	printf("end %ld\n", work(10));
}
int main(void)
{
	pthread_t t[4];
	void *result;
	long sum = 0;
	int status;
	atexit(at_end);
	for (int k = 0; k < 4; k++)
		pthread_create(&t[k], NULL, run, (void *)(1000L + k));
	for (int k = 0; k < 4; k++) {
		pthread_join(t[k], &result);
		sum += (long)result;
	}
	pid_t child = fork();
	if (!child)
		exit((int)work(3));
	waitpid(child, &status, 0);
	printf("%ld %d\n", sum, WEXITSTATUS(status));
	return 3;
}
X
for flags in -O2 "-O2 -static"; do
	# shellcheck disable=SC2086
	instrumented p musl-gcc $flags p.c
	runs_as_plain p
	blocks=$(info_value blocks)
	"$TW" record -q --sink=count -o counted.tw ./p >/dev/null
	for of in recording counted; do
		"$TW" info $of.tw >info.out
		grep -q '^threads  *6$' info.out && grep -q "^blocks  *$blocks$" info.out && ! grep -q 'cut off at exit:' info.out || fail "$flags, $of: threads, blocks"
	done
done
