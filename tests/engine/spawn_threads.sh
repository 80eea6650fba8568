# One thread makes threads that end at once, while another spawns processes by vfork: the block of a thread that has ended is another's, so who made it does not give it back.
. "$(dirname "$0")/../lib.sh"
cc_program both -pthread -D_GNU_SOURCE <<'END'
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
extern char **environ;
static volatile int stop;
static void *nothing(void *p) { return p; }
static void *make_threads(void *unused)
{
	for (long n = 1; !stop; n++) {
		pthread_t t;
		void *result = NULL;
		if (pthread_create(&t, NULL, nothing, (void *)n) || pthread_join(t, &result) || result != (void *)n)
			return "threads";
	}
	return unused;
}
int main(int argc, char **argv)
{
	char *const arguments[] = {argv[0], "end", NULL};
	pthread_t t[2];
	void *wrong[2];
	int status = 0;
	if (argc > 1)
		return 7;
	for (int i = 0; i < 2; i++)
		pthread_create(&t[i], NULL, make_threads, NULL);
	for (int i = 0; i < 300 && !status; i++) {
		pid_t pid;
		if (posix_spawn(&pid, "/proc/self/exe", NULL, NULL, arguments, environ) || waitpid(pid, &status, 0) != pid)
			status = -1;
		else
			status = !WIFEXITED(status) || WEXITSTATUS(status) != 7;
	}
	stop = 1;
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], &wrong[i]);
	puts(status ? "spawning" : wrong[0] || wrong[1] ? "threads" : "right");
	return 3;
}
END
native ./both
[ "$NATIVE_STATUS" = 3 ] && grep -q right native.out || fail "natively: status $NATIVE_STATUS: $(cat native.out)"
for run in $(full "1 2 3" 1); do
	timeout 100 "$TW" record -q -f none -o r.tw ./both >recorded.out 2>recorded.err
	[ $? = 3 ] || fail "run $run: $(cat recorded.out recorded.err)"
	grep -q right recorded.out || fail "run $run: $(cat recorded.out)"
	rm -rf r.tw
done
