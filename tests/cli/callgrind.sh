# blocks --callgrind: sums are exact, callgrind_annotate reads it, and it says what valgrind's own callgrind says of the same program.
. "$(dirname "$0")/../lib.sh"
need_command callgrind_annotate valgrind python3
cc_program calls -O1 -fno-inline -fno-optimize-sibling-calls -static <<'END'
volatile int sink;
int leaf(int n)
{
	for (int i = 0; i < 10; i++)
		sink += n;
	return sink;
}
int fib(int n)
{
	return n < 2 ? n : fib(n - 1) + fib(n - 2);
}
int twice(int (*f)(int), int n)
{
	return f(n) + f(n + 1);
}
int main(void)
{
	int (*volatile chosen)(int) = leaf;
	int r = leaf(2) + twice(chosen, 3);
	for (int i = 0; i < 5; i++)
		r += twice(fib, i);
	return r == 12345;
}
END
# profile PROGRAM [ROOT...]: records it, writes PROGRAM.callgrind, and checks its sums
profile() {
	local program=$1
	shift
	same_as_native "./$program"
	"$TW" blocks --callgrind="$program.callgrind" recording.tw || fail "blocks --callgrind"
	python3 "$ROOT/tests/callgrind.py" check "$program.callgrind" "$(info_value instructions)" "$(info_value reads)" "$(info_value writes)" "$@" ||
		fail "$program: sums"
	callgrind_annotate "$program.callgrind" >annotated 2>annotate.err || fail "callgrind_annotate $program.callgrind"
	[ ! -s annotate.err ] || fail "callgrind_annotate complains: $(head -n 3 annotate.err)"
}
profile calls _start
grep -q 'calls\.c:fib' annotated || fail "callgrind_annotate does not show fib"
grep -q 'sink += n' annotated || fail "callgrind_annotate does not find the source"
"$TW" blocks --callgrind=- recording.tw | cmp -s - calls.callgrind || fail "--callgrind=- is not the same"
valgrind -q --tool=callgrind --callgrind-out-file=theirs ./calls >/dev/null 2>&1
python3 "$ROOT/tests/callgrind.py" same calls.callgrind theirs calls.c || fail "not what valgrind's callgrind says"

# Recordings without references say the same of calls, by return addresses.
RECORD_OPTIONS=(--format=bb_pc)
recorded ./calls
RECORD_OPTIONS=()
"$TW" blocks --callgrind=bb_pc.callgrind recording.tw || fail "blocks --callgrind of a recording without references"
python3 "$ROOT/tests/callgrind.py" check bb_pc.callgrind "$(info_value instructions)" 0 0 _start || fail "sums without references"
python3 "$ROOT/tests/callgrind.py" same bb_pc.callgrind theirs calls.c || fail "without references, not what valgrind's callgrind says"

# Where stacks are not just calls and returns: longjmp, tail calls, signal handlers, threads, fork, execve, lazy binding.
cc_program odd -O2 -fno-inline -pthread -Wl,-z,lazy <<'END'
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static jmp_buf env;
static sigjmp_buf out;
volatile int sink;
__attribute__((noinline)) int leaf(int n) { for (int i = 0; i < 100; i++) sink += n; return sink; }
__attribute__((noinline)) int tail(int n) { sink++; return leaf(n); }
__attribute__((noinline)) int deep(int n) { if (!n) longjmp(env, 1); sink += n > 9 ? n : deep(n - 1); return sink; }
__attribute__((noinline)) void in_handler(int s) { leaf(s); }
__attribute__((noinline)) void leave_handler(int s) { leaf(s); siglongjmp(out, 1); }
__attribute__((noinline)) void *in_thread(void *p) { tail(*(int *)p); return p; }
__attribute__((noinline)) void in_child(void) { leaf(5); _exit(0); }
int main(void)
{
	static char stack[65536];
	pthread_t t;
	int n = 3;
	stack_t alternate = {.ss_sp = stack, .ss_size = sizeof stack};
	struct sigaction a = {.sa_handler = leave_handler, .sa_flags = SA_ONSTACK};
	if (!setjmp(env))
		deep(5);
	signal(SIGUSR1, in_handler);
	raise(SIGUSR1);
	sigaltstack(&alternate, NULL);
	sigaction(SIGUSR2, &a, NULL);
	if (!sigsetjmp(out, 1))
		raise(SIGUSR2);
	pthread_create(&t, NULL, in_thread, &n);
	pthread_join(t, NULL);
	pid_t pid = fork();
	if (!pid)
		in_child();
	waitpid(pid, NULL, 0);
	pid = fork();
	if (!pid)
		execl("./calls", "calls", NULL);
	waitpid(pid, NULL, 0);
	printf("%d\n", tail(2) != 0);
	return 0;
}
END
profile odd _start _start in_handler leave_handler '*clone3'
