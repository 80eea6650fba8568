# What a program died of: thread, signal, place, access and call path, in report, info and the summary; what came before it; the access that was not made.
. "$(dirname "$0")/../lib.sh"
ulimit -c 0

cc_program crash <<'END_C'
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
struct node {
	struct node *next;
	int value;
};
static jmp_buf out;
static __attribute__((noinline)) int sum(struct node *n)
{
	int s = 0;
	for (; n; n = n->next)
		s += n->value; /* the read */
	return s;
}
static __attribute__((noinline)) int total(struct node *n, int depth)
{
	return depth ? total(n, depth - 1) + 1 : sum(n);
}
static __attribute__((noinline)) void jump(int depth)
{
	if (depth)
		jump(depth - 1);
	else
		longjmp(out, 1);
}
static void *thread(void *arg)
{
	return (void *)(long)total(arg, 2);
}
static __attribute__((noinline)) void put(volatile char *p)
{
	*p = 1;
}
static void handler(int signo)
{
	signal(signo, SIG_DFL);
	abort();
}
int main(int argc, char **argv)
{
	struct node a = {(void *)0x10, 1}, b = {&a, 2};
	if (!setjmp(out))
		jump(3);
	if (!strcmp(argv[1], "read"))
		return total(&b, 3);
	if (!strcmp(argv[1], "write"))
		put((void *)0x4321);
	if (!strcmp(argv[1], "execute"))
		((void (*)(void))0x5000)();
	if (!strcmp(argv[1], "odd"))
		put((void *)0x1234567890abcdef);
	if (!strcmp(argv[1], "misaligned"))
		__asm__ volatile("movaps %%xmm0, 1(%0)" : : "r"((long)&b & -16) : "memory");
	if (!strcmp(argv[1], "divide"))
		return 7 / (argc - 2);
	if (!strcmp(argv[1], "handler")) {
		signal(SIGSEGV, handler);
		put(NULL);
	}
	if (!strcmp(argv[1], "break"))
		__asm__ volatile("int3");
	if (!strcmp(argv[1], "noncanonical"))
		((void (*)(void))0x8888888812345678)();
	if (!strcmp(argv[1], "library"))
		memset((void *)(long)argc, 1, 1000 * argc);
	if (!strcmp(argv[1], "child")) {
		if (!fork())
			put(NULL);
		wait(NULL);
	}
	if (!strcmp(argv[1], "pipe")) {
		int p[2];
		if (!pipe(p) && !close(p[0]))
			(void)!write(p[1], "x", 1);
	}
	if (!strcmp(argv[1], "alarm")) {
		alarm(1);
		for (;;)
			pause();
	}
	if (!strcmp(argv[1], "thread")) {
		pthread_t t;
		pthread_create(&t, NULL, thread, &b);
		pthread_join(t, NULL);
	}
	return 0;
}
END_C
crash() { # crash HOW: records it; what report says is in report.out, the summary in summary
	rm -rf recording.tw
	run out summary "$TW" record -o recording.tw "${RECORD_OPTIONS[@]}" -- ./crash "$1"
	"$TW" report --functions recording.tw >report.out 2>&1 || fail "report of $1: $(cat report.out)"
	"$TW" info recording.tw >info.out 2>&1 || fail "info of $1"
	grep -v '^$' report.out | sed -n '/died of/,/^Functions/p' | sed '$d' >died.out
	grep -qF "$(head -n 1 died.out)" info.out || fail "info does not tell of the crash: $(cat info.out)"
	check_good
}
says_line() { grep -qE -- "$1" "$2" || { cat "$2"; fail "$3 does not say '$1'"; }; }

crash read
says_line '^thread 0 \(process [0-9]+, thread id [0-9]+\) died of SIGSEGV: read of 4 bytes at 0x18, where nothing is mapped' report.out "a read"
says_line 'died of SIGSEGV in thread 0, sum at crash.c:17: read of 4 bytes at 0x18, where nothing is mapped' summary "the summary of a read"
sed -E 's/^ *(in|called from) +([^ ]+)( at crash.c:([0-9]+))?.*/\2 \4/' died.out | sed -n 2,5p >path
printf '%s\n' 'sum 17' 'total 22' 'total 22' 'main 50' | cmp -s - path || fail "the call path is $(cat path), after a longjmp"
pc=$("$TW" report --json recording.tw | python3 -c 'import json, sys; c = json.load(sys.stdin)["crashes"][0]; print("%x" % c["address_of_instruction"], c["access"], c["address"], c["bytes"])')
[ "${pc#* }" = "read 24 4" ] || fail "report --json: $pc"

# Before it: the last references, and the one that was not made; the last blocks with their lines.
"$TW" dump --last 4 recording.tw >last.refs || fail "dump --last"
[ "$(tail -n 1 last.refs)" = "0 ${pc%% *} R 18 4 faulted" ] || fail "dump --last does not end with the access that faulted: $(cat last.refs)"
"$TW" dump recording.tw | tail -n 5 | cmp -s - last.refs || fail "dump does not end as dump --last 4 does"
"$TW" dump --count 1000 recording.tw | grep faulted && fail "an access of the end is among the first"
"$TW" dump --blocks recording.tw | tail -n 3 | cmp -s - <("$TW" dump --blocks --last 3 recording.tw | head -n 3) || fail "dump --blocks --last"
"$TW" report --last 3 recording.tw >last.blocks || fail "report --last"
[ "$(grep -c 'sum crash.c:1[5-7] ' last.blocks)" = 3 ] && grep -q 's += n->value; /\* the read \*/' last.blocks || fail "report --last 3: $(cat last.blocks)"

crash write
says_line 'SIGSEGV: write of 1 byte at 0x4321, where nothing is mapped' report.out "a write"
grep -qE 'called from +total at crash.c:22 .*, 3 times$' <(crash read && cat died.out) || fail "calls from one place are not told once: $(cat died.out)"
crash execute
says_line 'SIGSEGV: execution at 0x5000, where nothing is mapped' report.out "a jump to nowhere"
says_line 'called from +main at crash.c' report.out "a jump to nowhere"
says_line 'in thread 0, called from main at crash.c:[0-9]+: execution at 0x5000' summary "a jump to nowhere"
crash noncanonical
says_line 'called from main at crash.c:[0-9]+: execution at 0x8888888812345678, which is not a canonical address' summary "a jump to what is no address"
"$TW" info --json recording.tw | grep -q '"access": *"execute"' || fail "info --json of a jump to what is no address"
crash library
says_line 'in thread 0, [^ ]*memset.*, called from main at crash.c:[0-9]+: write' summary "a crash in a library"
crash break
says_line 'died of SIGTRAP in thread 0, .*: a breakpoint \(int3\)$' summary "a breakpoint"
crash child
says_line '^trackway: process [0-9]+ died of SIGSEGV in thread 1, put at crash.c:[0-9]+: write of 1 byte at 0x0' summary "a child's crash"
crash pipe
says_line 'died of SIGPIPE in thread 0, .*, called from main at crash.c:[0-9]+: a write to a pipe or socket without a reader$' summary "a pipe without a reader"
crash alarm
says_line 'died of SIGALRM in thread 0, .*called from main at crash.c:[0-9]+: a timer expired$' summary "a timer"
crash odd
says_line 'SIGSEGV: write of 1 byte at 0x1234567890abcdef, .*not a canonical address' report.out "an odd address"
crash misaligned
says_line 'SIGSEGV: write of 16 bytes at 0x[0-9a-f]*1, which is not aligned$' report.out "a misaligned vector"
"$TW" dump --last 1 recording.tw | grep -q ' W [0-9a-f]*1 16 faulted$' || fail "dump of a misaligned vector"
crash divide
says_line 'SIGFPE: a division by zero' report.out "a division"
crash handler
says_line 'SIGABRT: sent by the process itself' report.out "abort in a handler"
says_line '^ +SIGSEGV in +put at crash.c' report.out "abort in a handler"
crash thread
says_line '^thread 1 .*died of SIGSEGV: read of 4 bytes at 0x18' report.out "a thread"
says_line 'called from +thread at crash.c' report.out "a thread"
"$TW" report --last 2 recording.tw | grep -q 'blocks of thread 1' || fail "report --last is not of the thread that died"
"$TW" report --last 2 --thread 0 recording.tw | grep -q 'blocks of thread 0' || fail "report --last --thread"
one_sentence "$TW" report --last 2 --thread 77 recording.tw
says 'no thread 77'

# A long recording: the last chunks are enough.
same_as_native ./crash none
"$TW" dump --last 2 recording.tw >last.refs && [ "$(wc -l <last.refs)" = 2 ] || fail "dump --last of a program that ended well"
"$TW" dump recording.tw | tail -n 2 | cmp -s - last.refs || fail "dump --last of a program that ended well"
"$TW" report --functions recording.tw | grep -q 'died of' && fail "a crash of a program that ended well"
true

# A stack that has run over is called so.
cc_program deep -O0 -w <<'END'
int down(int n) { volatile char room[1000]; room[0] = n; return down(n + 1) + room[0]; }
int main(void) { return down(0); }
END
(ulimit -s 1024 && "$TW" record -o deep.tw ./deep) >out 2>err
grep -q 'down at .*beyond the limit of the stack: stack overflow (ulimit -s)$\|in thread 0, down: .*beyond the limit of the stack: stack overflow (ulimit -s)$' err || fail "a stack that has run over: $(cat err)"

# Accesses that a handler lets be made again stand where they were not made.
cc_program again -O1 <<'END'
#include <signal.h>
#include <sys/mman.h>
static char *page;
static void handler(int number, siginfo_t *info, void *context)
{
	(void)number, (void)info, (void)context;
	mprotect(page, 4096, PROT_READ | PROT_WRITE);
}
static __attribute__((noinline)) void touch(volatile char *p, int i)
{
	mprotect(page, 4096, PROT_NONE);
	p[i] = 1;
}
int main(void)
{
	struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
	page = mmap((void *)0x300000000000, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	sigaction(SIGSEGV, &action, 0);
	for (int i = 1; i <= 3; i++)
		touch(page, i);
	return 0;
}
END
recorded ./again
"$TW" dump recording.tw | awk '$4 ~ /^30000000000[123]$/ { print $3, $4, $5, $6 }' >touched
for i in 1 2 3; do printf 'W 30000000000%s 1 faulted\nW 30000000000%s 1 \n' $i $i; done >expected
cmp -s touched expected || fail "accesses that are made again: $(cat touched)"
