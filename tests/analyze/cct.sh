# cct: the folded tree of a program without tricks is what python3 makes of the dump of blocks, with a stack that calls push and returns pop; longjmp, signals, tail calls,
# stacks that are switched and forks are where they belong; a recording without references gives the same tree.
. "$(dirname "$0")/../lib.sh"
need_command python3 nm
cc_program plain -O1 -fno-inline -static -nostdlib -ffreestanding -fno-stack-protector -fcf-protection=none -fno-optimize-sibling-calls -no-pie <<'END'
static volatile long sink;
static void __attribute__((noipa)) leaf(long n)
{
	for (long i = 0; i < n; i++)
		sink += i;
}
static long __attribute__((noipa)) fib(long n)
{
	return n < 2 ? n : fib(n - 1) + fib(n - 2);
}
static void __attribute__((noipa)) middle(long n)
{
	leaf(n);
	void (*volatile p)(long) = leaf;
	for (int i = 0; i < 3; i++)
		p(n + i);
	sink += fib(8);
}
void _start(void)
{
	middle(10);
	middle(20);
	leaf(5);
	__asm__ volatile("syscall" : : "a"(60), "D"(0));
	for (;;)
		;
}
END
recorded ./plain
"$TW" dump --blocks recording.tw >blocks
nm -n plain | grep -i ' t ' >symbols
"$TW" analyze cct --folded recording.tw | sort >found || fail "analyze cct"
"$TW" analyze cct --json --least 0 recording.tw >found.json || fail "analyze cct --json"
python3 - <<'END' >expected || fail "the dump has other blocks than this test knows"
import bisect
from collections import Counter
syms = [(int(l.split()[0], 16), l.split()[2]) for l in open("symbols")]
blocks = [l.split() for l in open("blocks")]
load = int(blocks[0][1], 16) - dict((n, a) for a, n in syms)["_start"]
def name(pc):
    return syms[bisect.bisect([a for a, _ in syms], pc - load) - 1][1]
stack, counts, before = [], Counter(), None
for thread, pc, insns, end in (b[:4] for b in blocks):
    pc = int(pc, 16)
    if before is None or before in ("call", "icall"):
        stack.append(name(pc))
    elif before == "return":
        stack.pop()
    assert stack[-1] == name(pc)
    counts[";".join(stack)] += int(insns)
    before = end
for path, n in counts.items():
    print(path, n)
END
sort -o expected expected
diff found expected >difference || fail "another tree than python3's: $(head -n 6 difference)"
python3 - <<'END' || fail "the table does not go with the folded tree"
import json
d = json.load(open("found.json"))
paths, stack = {}, []
for row in d["contexts"]:
    name = row["function"].strip()
    stack = stack[:row["depth"]] + [name]
    paths[";".join(stack)] = row
for line in open("expected"):
    path, n = line.rsplit(None, 1)
    assert paths[path]["exclusive"] == int(n), (path, n, paths[path])
for path, row in paths.items():
    assert row["inclusive"] == sum(r["exclusive"] for p, r in paths.items() if p == path or p.startswith(path + ";")), path
assert paths["_start;middle"]["calls"] == 2 and paths["_start;middle;leaf"]["calls"] == 8 and paths["_start;leaf"]["calls"] == 1
assert sum(r["calls"] for p, r in paths.items() if p.endswith("fib")) == 2 * 67
END
"$TW" analyze cct --speedscope recording.tw | python3 -c '
import json, sys
d = json.load(sys.stdin)
frames, p = d["shared"]["frames"], d["profiles"][0]
found = {";".join(frames[i]["name"] for i in s): w for s, w in zip(p["samples"], p["weights"])}
expected = {l.rsplit(None, 1)[0]: int(l.rsplit(None, 1)[1]) for l in open("expected")}
assert found == expected and p["endValue"] == sum(expected.values())' || fail "--speedscope"
"$TW" analyze cct --svg recording.tw | python3 -c '
import sys, xml.etree.ElementTree as e
t = e.fromstring(sys.stdin.read())
assert sum("middle:" in (x.text or "") for x in t.iter("{http://www.w3.org/2000/svg}title")) == 1' || fail "--svg"
# Names of any bytes, and of characters that a narrow box cuts.
odd=$'ä<\x01\xff&ääääääääääääääääääääääääääääääääääääääääääääääääää'
strip -o "$odd" plain
"$TW" record -q -o odd.tw -- "./$odd" || fail "a name that is no UTF-8"
"$TW" analyze cct --svg odd.tw | python3 -c '
import sys, xml.etree.ElementTree as e
t = e.fromstring(sys.stdin.buffer.read())
assert any("\u00e4<??&\u00e4" in (x.text or "") for x in t.iter("{http://www.w3.org/2000/svg}title"))' || fail "--svg: a name that is no UTF-8"
[ -z "${TW_RECORD_OPTIONS:-}" ] || exit 0
RECORD_OPTIONS=(-f dep-c)
recorded ./plain
"$TW" analyze cct --folded recording.tw | sort | diff - expected >difference || fail "without references: $(head -n 6 difference)"

RECORD_OPTIONS=()
cc_program tricks -O2 -w -fno-inline -fcf-protection=none <<'END'
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>
static volatile long sink;
static jmp_buf out;
static ucontext_t main_context, co_context;
#define WORK(name) __attribute__((noipa)) void name(long n) { for (long i = 0; i < n; i++) sink += i; __asm__ volatile(""); }
WORK(after_jump)
WORK(in_handler)
WORK(in_coroutine)
WORK(in_main)
WORK(in_child)
WORK(tail_target)
__attribute__((noipa)) void jumps(long n) { sink++; if (n) jumps(n - 1); else longjmp(out, 1); sink++; }
__attribute__((noipa)) void catches(void)
{
	if (!setjmp(out))
		jumps(5);
	after_jump(1000);
	sink++;
}
static void handler(int number) { in_handler(1000); sink += number; }
__attribute__((noipa)) void raises(void) { raise(SIGUSR1); sink++; }
__attribute__((noipa)) void tail_caller(long n) { sink++; tail_target(n); }
__attribute__((noipa)) void deep(int round) { in_coroutine(1000); swapcontext(&co_context, &main_context); in_coroutine(1000); sink += round; }
static void coroutine(void) { for (int i = 0; i < 3; i++) deep(i); sink++; }
__attribute__((noipa)) void switches(void)
{
	static char stack[65536];
	getcontext(&co_context);
	co_context.uc_stack.ss_sp = stack;
	co_context.uc_stack.ss_size = sizeof stack;
	co_context.uc_link = &main_context;
	makecontext(&co_context, coroutine, 0);
	for (int i = 0; i < 4; i++) {
		swapcontext(&main_context, &co_context);
		in_main(1000);
	}
	sink++;
}
__attribute__((noipa)) void forks(void)
{
	pid_t child = fork();
	if (!child) {
		in_child(1000);
		_exit(0);
	}
	waitpid(child, NULL, 0);
	sink++;
}
int main(void)
{
	signal(SIGUSR1, handler);
	for (int i = 0; i < 3; i++)
		catches();
	raises();
	tail_caller(1000);
	switches();
	forks();
	return 0;
}
END
same_as_native ./tricks
"$TW" analyze cct --folded -j3 recording.tw >found || fail "analyze cct"
"$TW" analyze cct --folded -j1 recording.tw | cmp -s - found || fail "one job gives another tree"
ends() { # ends PATTERN: exactly one context matches it to its end, with most of the instructions that this function has in all
	local n all
	n=$(grep -E ";?$1 [0-9]+$" found | awk '{ n += $NF } END { print n + 0 }')
	all=$(grep -E ";${1##*;} [0-9]+$" found | awk '{ n += $NF } END { print n + 0 }')
	[ "$n" -gt 0 ] && [ "$n" = "$all" ] || fail "$1: $n of $all instructions: $(grep -E "${1##*;} " found)"
}
ends 'main;catches;after_jump'
ends 'handler;in_handler'
grep -q ';handler' found && fail "a handler is part of what it interrupted"
ends 'main;tail_caller;tail_target'
ends 'main;switches;in_main'
ends '[a-z_;]*coroutine;deep;in_coroutine'
grep -E 'coroutine.*switches|in_main;.*coroutine' found && fail "stacks that are switched are mixed up"
ends 'main;forks;in_child'
[ "$(awk '{ n += $NF } END { print n }' found)" = "$(info_value instructions)" ] || fail "not all instructions are in the tree"
# While it runs the answer is the same, though nothing but control flow and the stack pointer is recorded then.
for options in '' '-f dep'; do
	(ulimit -c 0; setarch -R "$TW" record $options --with cct,folded,least=0,output=live.folded -- ./tricks >/dev/null 2>err) || fail "record $options --with cct"
	sort live.folded >"live${options:+.dep}"
	grep -q ' references' err && echo references || echo none
done >seen
[ "$(tr '\n' ' ' <seen)" = 'none references ' ] || fail "what is recorded for cct alone, and in dep: $(cat seen)"
diff live live.dep >difference || fail "another answer without values: $(head -n 6 difference)"
# The same where the library that jumps and switches is not seen.
"$TW" analyze cct --folded --module tricks recording.tw >found || fail "analyze cct --module"
for context in 'main;catches;after_jump' 'handler;in_handler' 'main;tail_caller;tail_target' 'main;switches;in_main' '[a-z_;]*coroutine;deep;in_coroutine' 'main;forks;in_child'; do
	ends "$context"
done

# Where contexts are many they are counted by function: what is jumped to, and loops in it, is called as often as it was.
cc_program levels -O2 -fcf-protection=none <<'END'
static volatile long sink;
__attribute__((noipa)) static long tail_target(long n) { while (n-- > 0) sink += n; return sink; }
__attribute__((noipa)) static long tail_caller(long n) { sink++; return tail_target(n); }
__attribute__((noipa)) static void down(long n)
{
	if (n)
		down(n - 1);
	else
		for (long i = 0; i < 7; i++)
			tail_caller(10);
	sink++;
}
int main(void) { down(5000); return 0; }
END
recorded ./levels
"$TW" analyze cct --csv --least 0 recording.tw >found || fail "analyze cct of many contexts"
[ "$(sed -n 's/.*,\([0-9]*,\)"* *\(tail_[a-z]*\)"*$/\1\2/p' found | sort -u | tr '\n' ' ')" = '7,tail_caller 7,tail_target ' ] || fail "$(grep tail_ found)"

# A forked process goes on in its parent's calls: where it returns from them, leaves them by longjmp, forks again, and until it executes a program. Its parent's calls may
# be followed after its own: while both run, by another job, without references, from packed states.
cc_program forked -O1 -g -w -fno-inline -fno-optimize-sibling-calls <<'END'
#include <setjmp.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
static volatile long sink;
static jmp_buf out;
#define WORK(name) __attribute__((noipa)) void name(long n) { for (long i = 0; i < n; i++) sink += i; }
WORK(in_child)
WORK(in_grandchild)
WORK(above_child)
WORK(above_grandchild)
WORK(behind_jump)
WORK(in_handler)
WORK(in_served)
static void handler(int number) { in_handler(50); }
__attribute__((noipa)) int forks_again(void)
{
	pid_t child = fork();
	if (!child) {
		raise(SIGUSR1);
		in_grandchild(50);
		return 2;
	}
	waitpid(child, NULL, 0);
	return 1;
}
__attribute__((noipa)) int forks(int jumps)
{
	pid_t child = fork();
	if (!child) {
		in_child(50);
		if (jumps)
			longjmp(out, 1);
		return forks_again();
	}
	waitpid(child, NULL, 0);
	return 0;
}
__attribute__((noipa)) int above(int jumps)
{
	int generation = forks(jumps);
	if (generation == 1)
		above_child(50);
	if (generation == 2)
		above_grandchild(50);
	return generation;
}
__attribute__((noipa)) void serves(void)
{
	for (int i = 0; i < 100; i++) {
		if (!fork()) {
			in_served(10);
			_exit(0);
		}
		wait(NULL);
	}
}
int main(int argc, char **argv)
{
	signal(SIGUSR1, handler);
	if (setjmp(out)) {
		behind_jump(50);
		_exit(0);
	}
	above(1);
	int generation = above(0);
	if (!generation)
		serves();
	if (generation == 2)
		execl("/bin/true", "true", NULL);
	return 0;
}
END
native ./forked
RECORD_OPTIONS=(--with cct,folded,output=live.folded)
recorded ./forked
compare_runs "record --with cct of forks"
"$TW" analyze cct --folded -j1 recording.tw >found || fail "analyze cct of forks"
diff live.folded found >difference || fail "forks: another answer while it ran: $(head -n 6 difference)"
"$TW" analyze cct --folded -j3 recording.tw | cmp -s - found || fail "forks: one job gives another tree"
forks_stand() {
	ends 'main;above;forks;in_child'
	ends 'main;above;forks;forks_again;in_grandchild'
	ends 'main;above;above_child'
	ends 'main;above;above_grandchild'
	ends 'main;behind_jump'
	ends 'main;serves;in_served'
	ends 'handler;in_handler'
	grep -qE '^(_Fork|fork|forks|forks_again|above|main|serves)[; ]' found && fail "a child begins at the fork: $(grep -E '^(_Fork|fork|forks|forks_again|above|main|serves)[; ]' found)"
	! grep -qE ';main;(.*;)?true' found || fail "what is executed stands below what was forked"
}
forks_stand
"$TW" report --tree --json -n 0 recording.tw | python3 -c '
import json, sys
stack, paths = [], set()
for row in json.load(sys.stdin)["tree"]:
    stack = stack[:row["depth"]] + [row["function"].strip()]
    paths.add(";".join(stack))
assert any(p.endswith("main;above;forks;forks_again;in_grandchild") for p in paths), paths' || fail "report --tree of forks"
RECORD_OPTIONS=(-f dep-c)
recorded ./forked
"$TW" analyze cct --folded recording.tw >found || fail "analyze cct of forks, without references"
forks_stand
RECORD_OPTIONS=()

# In a window by module what was called from code that is not seen stands below the call that led out; so by function.
cc_program callbacks -O1 -g -w -fno-inline -fno-optimize-sibling-calls <<'END'
#include <signal.h>
#include <stdlib.h>
static volatile long sink;
#define WORK(name) __attribute__((noipa)) void name(long n) { for (long i = 0; i < n; i++) sink += i; }
WORK(leaf)
WORK(behind)
WORK(last)
WORK(in_handler)
static void handler(int number) { in_handler(10); }
__attribute__((noipa)) int compare(const void *a, const void *b) { leaf(3); return *(const int *)a - *(const int *)b; }
__attribute__((noipa)) int compare_sorting(const void *a, const void *b)
{
	int few[4] = {4, 3, 2, 1};
	qsort(few, 4, sizeof *few, compare);
	return *(const int *)a - *(const int *)b;
}
__attribute__((noipa)) void sorts(int (*how)(const void *, const void *))
{
	int a[20];
	for (int i = 0; i < 20; i++)
		a[i] = i * 7 % 20;
	qsort(a, 20, sizeof *a, how);
	behind(10);
}
__attribute__((noipa)) void at_the_end(void) { last(10); }
int main(void)
{
	signal(SIGUSR1, handler);
	atexit(at_the_end);
	sorts(compare);
	sorts(compare_sorting);
	raise(SIGUSR1);
	leaf(100);
	return 0;
}
END
for format in dep dep-c; do
	RECORD_OPTIONS=(-f "$format" --with cct,folded,module=callbacks,output=live.folded)
	recorded ./callbacks
	"$TW" analyze cct --folded --module callbacks recording.tw >found || fail "analyze cct --module"
	diff live.folded found >difference || fail "cct --module: another answer while it ran: $(head -n 6 difference)"
	sed 's/^_start;//; s/ .*//' found | sort >paths
	sort >expected <<-'END'
		_start
		main
		main;sorts
		main;sorts;compare
		main;sorts;compare;leaf
		main;sorts;compare_sorting
		main;sorts;compare_sorting;compare
		main;sorts;compare_sorting;compare;leaf
		main;sorts;behind
		main;leaf
		at_the_end
		at_the_end;last
		handler
		handler;in_handler
	END
	grep -vE '^(_init|_fini|frame_dummy|(de)?register_tm_clones|__do_global_dtors_aux|atexit)' paths | grep -v 'main;atexit' | diff - expected >difference ||
		fail "--module, $format: $(cat difference)"
	"$TW" analyze cct --folded --function compare_sorting recording.tw | sed 's/ .*//' | diff - <(echo compare_sorting) || fail "--function, $format"
done
RECORD_OPTIONS=()

# There, what is left by a tail call has been left when it is called again: the stack does not grow.
cc_program hopping -O2 -g <<'END'
#include <stdlib.h>
#include <string.h>
static int (*volatile how)(const char *, const char *) = strcmp;
__attribute__((noipa)) static int other(const void *a, const void *b) { return how(b, a); }
__attribute__((noipa)) static int hop(const void *a, const void *b) { return how(a, b); }
int main(void)
{
	char a[300][8];
	for (int i = 0; i < 300; i++)
		memcpy(a[i], "abcdefg" + i % 7, 8 - i % 7);
	qsort(a, 300, 8, hop);
	qsort(a, 300, 8, other);
	return 0;
}
END
recorded ./hopping
"$TW" analyze cct --folded --module hopping recording.tw | sed 's/^_start;//; s/ .*//' | grep 'hop\|other' | sort | diff - <(printf 'main;hop\nmain;other\n') || fail "tail calls in a window"

# What a process executes with execve is told by its own names, though it has the same number and the same addresses.
cat >exec.c <<'END2'
#include <unistd.h>
static volatile long sink;
static void __attribute__((noipa)) NAME(long n)
{
	for (long i = 0; i < n; i++)
		sink += i;
}
int main(int argc, char **argv)
{
	NAME(100);
	if (argc > 1)
		execv(argv[1], argv + 1);
	return 0;
}
END2
for name in before after; do
	gcc -O1 -g -no-pie -DNAME=$name -o $name exec.c || fail "gcc"
done
[ "$(nm before | grep ' before')" = "$(nm after | grep ' after' | sed 's/after/before/')" ] || skip "the linker gives the two other addresses"
"$TW" record -q -o exec.tw ./before ./after || fail "record ./before"
"$TW" analyze cct --folded exec.tw >exec.folded || fail "analyze cct of two programs"
for name in before after; do
	[ "$(grep -c ";main;$name " exec.folded)" = 1 ] || fail "$name is not in the tree: $(cat exec.folded)"
done

# So is what its other threads execute, while it runs too, when they tell of what they do before the thread that it began with.
cat >threads.c <<'END2'
#include <pthread.h>
#include <unistd.h>
static volatile long sink;
static void *__attribute__((noipa)) NAME(void *n)
{
	for (long i = 0; i < *(long *)n; i++)
		sink += i;
	return NULL;
}
int main(int argc, char **argv)
{
	pthread_t t;
	long few = 100, many = 1000000;
	if (argc > 1) {
		NAME(&few);
		execv(argv[1], argv + 1);
	}
	pthread_create(&t, NULL, NAME, &many);
	pthread_join(t, NULL);
	return 0;
}
END2
for name in before after; do
	gcc -O1 -g -no-pie -pthread -DNAME=$name -o threads_$name threads.c || fail "gcc -pthread"
done
for run in "./before ./after" "./threads_before ./threads_after" "sh -c 'exec ./after'"; do
	rm -rf exec.tw
	eval "\"$TW\" record -q --with cct,folded,output=live.folded -o exec.tw $run" || fail "record --with cct of $run"
	"$TW" analyze cct --folded exec.tw >exec.folded || fail "analyze cct of $run"
	diff live.folded exec.folded >diff.out || fail "$run: another answer while it ran: $(head -n 10 diff.out)"
	grep -q '[;]after ' exec.folded || fail "$run: after is not in the tree"
done
