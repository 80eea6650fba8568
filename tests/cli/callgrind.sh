# blocks --callgrind: sums are exact, callgrind_annotate reads it, and it says what valgrind's own callgrind says of the same program.
# timeout: 300
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

# With one worker and with several, which replay chunks that are followed later, it is the same.
for jobs in 1 2 4; do
	"$TW" blocks -j $jobs --callgrind=odd.$jobs recording.tw || fail "blocks -j $jobs"
	cmp -s odd.$jobs odd.callgrind || fail "blocks --callgrind: -j $jobs is not the same"
done

# Without symbols, functions begin where calls lead. One that is jumped to before it is called, by its address, for the first time is a function from the beginning, with
# any number of workers; it costs what it costs where it has a symbol.
cc_program symbols -O2 <<'END'
volatile int sink;
__attribute__((noipa)) int before(int n) { return sink += n; }
__attribute__((noipa)) int both(int n) { return sink ^= n; }
__attribute__((noipa)) int jumps(int n) { sink++; return both(n); }
int main(void)
{
	int (*volatile chosen)(int) = both;
	for (int i = 0; i < 3000; i++)
		before(jumps(i));
	for (int i = 0; i < 3000; i++)
		before(jumps(i) + chosen(i));
	return 0;
}
END
strip -o stripped symbols || fail "strip"
# cost_of PROGRAM NAME: instructions of a function by itself, as the profile of the program says
cost_of() {
	callgrind_annotate --threshold=100 --auto=no "$1.callgrind" | awk -v name="$2" '{ n = split($0, part, /[ :]/); for (i = 1; i <= n; i++) if (part[i] == name) { print $1; exit } }'
}
at=$(nm symbols | sed -n 's/^0*\([0-9a-f]*\) T both$/\1/p')
profile symbols _start
profile stripped '*'
with=$(cost_of symbols both)
without=$(cost_of stripped "stripped+0x$at")
[ -n "$with" ] || fail "no cost of both"
[ "$with" = "$without" ] || fail "both costs $with instructions, without symbols $without"
for jobs in 1 2 4; do
	"$TW" blocks -j $jobs --callgrind=stripped.$jobs recording.tw || fail "blocks -j $jobs of a program without symbols"
	cmp -s stripped.$jobs stripped.callgrind || fail "blocks --callgrind of a program without symbols: -j $jobs is not the same"
done
"$TW" blocks --callgrind=with.callgrind --json recording.tw >with.json || fail "blocks with two outputs"
"$TW" blocks --json recording.tw >alone.json || fail "blocks --json"
cmp -s with.callgrind stripped.callgrind && cmp -s with.json alone.json || fail "two outputs are not what they are one by one"

# So it is for a large program without symbols: the compiler itself.
cc1=$($CC -print-prog-name=cc1)
if [ -x "$cc1" ]; then
	echo 'int f(int a) { for (int i = 0; i < a; i++) a += i; return a; }' >one.c
	recorded "$cc1" -quiet -O1 one.c -o one.s
	for jobs in 1 2 4; do
		"$TW" blocks -j $jobs --callgrind=cc1.$jobs recording.tw || fail "blocks -j $jobs of cc1"
		cmp -s cc1.$jobs cc1.1 || fail "blocks --callgrind of cc1: -j $jobs is not the same"
	done
else
	untested "a large program without symbols: there is no cc1"
fi

# A file whose name has a line break in it does not break lines, here and in lcov's form.
odd=$'odd\nname'
echo 'int main(void) { return 0; }' >"$odd.c"
$CC -g -o "$odd" "$odd.c" || fail "a name with a line break does not compile"
recorded "./$odd"
"$TW" blocks --callgrind=odd.out --lcov=odd.info recording.tw || fail "blocks of a name with a line break"
grep -q '^c\?ob=.*odd\\x0aname$' odd.out && grep -q '^SF:.*odd\\x0aname.c$' odd.info || fail "a name with a line break is not there"
grep -h '^name' odd.out odd.info && fail "a name with a line break is two lines"
true
