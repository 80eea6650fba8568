# Instrumented libraries that are closed before the program ends, or forks: nothing of theirs is called any more. How it ended is told where the program is instrumented, too.
# timeout: 60
. "$(dirname "$0")/../cc.sh"
need_command gcc
echo 'int n; int inside(int k) { for (int i = 0; i < k; i++) n += i & k; return n; }' >l.c
cat >p.c <<'X'
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static int child(int (*f)(int), int status)
{
	int how;
	fflush(stdout);
	if (!fork()) {
		if (f)
			f(10);
		exit(status);
	}
	wait(&how);
	return WIFEXITED(how) ? WEXITSTATUS(how) : -WTERMSIG(how);
}
int main(void)
{
	for (int k = 0; k < 3; k++) {
		void *h = dlopen("./l.so", RTLD_NOW);
		int (*f)(int) = (int (*)(int))dlsym(h, "inside");
		printf("%d %d\n", f(1000), child(f, 5 + k));
		dlclose(h);
		printf("%d\n", child(NULL, 8 + k));
	}
	return 3;
}
X
# It has set handlers, of the program's, by the run-time part that is in it.
cat >sets.c <<'X'
#include <signal.h>
int n;
void sets(void (*handler)(int))
{
	struct sigaction act = {.sa_handler = handler};
	sigaction(SIGUSR1, &act, 0);
	sigaction(SIGSEGV, &act, 0);
	signal(SIGUSR2, handler);
	for (int k = 0; k < 50; k++)
		n += k;
}
X
cat >s.c <<'X'
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
static volatile int got;
static void handler(int number)
{
	got += number;
}
int main(void)
{
	for (int k = 0; k < 2; k++) {
		void *l = dlopen("./sets.so", RTLD_NOW);
		((void (*)(void (*)(int)))dlsym(l, "sets"))(handler);
		raise(SIGUSR1);
		dlclose(l);
		raise(SIGUSR1);
		raise(SIGUSR2);
		raise(SIGSEGV);
	}
	printf("%d\n", got);
	return 3;
}
X
gcc -o s s.c -ldl && gcc -fPIC -shared -o sets.so sets.c || fail "does not compile"
native ./s
for options in '' --full=guard; do
	"$TW" cc $options gcc -fPIC -shared -Wl,-Bsymbolic -o sets.so sets.c || fail "$options: does not compile"
	run recorded.out recorded.err ./s
	RECORDED_STATUS=$?
	compare_runs "$options: handlers, by itself"
	run recorded.out recorded.err "$TW" record --native -q -o recording.tw ./s
	RECORDED_STATUS=$?
	compare_runs "$options: handlers"
	check_good
done
printf '#include <stdio.h>\nint inside(int);\nint main(void) { return printf("%%d\\n", inside(1000)) > 0 ? 7 : 1; }\n' >q.c
gcc -fPIC -shared -o l.so l.c && gcc -o opens p.c -ldl && gcc -o q.plain q.c ./l.so || fail "does not compile"
for options in '' --full=guard --switchable; do
	cp opens p && cp opens p.plain
	gcc -fPIC -shared -o l.so l.c
	native ./p
	"$TW" cc $options gcc -fPIC -shared -o l.so l.c || fail "$options: does not compile"
	run recorded.out recorded.err "$TW" record --native -q -o recording.tw ./p
	RECORDED_STATUS=$?
	compare_runs "$options: a library that is opened and closed"
	check_good
	[ "$("$TW" info recording.tw | grep -Ec 'exit [567] +\./p')" = 3 ] || fail "$options: how children ended: $("$TW" info recording.tw)"
	CC_OPTIONS=$options instrumented p gcc p.c -ldl
	runs_as_plain p
	CC_OPTIONS=$options instrumented q gcc q.c ./l.so
	runs_as_plain q
	"$TW" info recording.tw | grep -qx 'cut off at exit  *0' || fail "$options: a thread is cut off at exit"
done
