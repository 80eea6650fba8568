# How functions hand the buffer pointer to each other: known and unknown callers, tail calls, callbacks, recursion that fills buffers on its way back, returns that do not happen.
. "$(dirname "$0")/../cc.sh"
need_command gcc setarch python3
cat >a.c <<'X1'
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define APART __attribute__((noinline))
int outside(int x);
int outside_calls(int (*f)(int), int n);
static jmp_buf jump;
static int table[64];
APART static int leaf(const int *p, int k) /* bounded: it has no check, and its callers go on knowing what it leaves alone */
{
	return k & 1 ? p[k & 63] : p[1] + k;
}
APART static int calls_leaf(int *p, int k)
{
	p[0] += leaf(p, k);
	p[2] += leaf(p, k + 1);
	return p[0] + p[2];
}
APART static int goes_outside(int x) /* comes back to its caller from elsewhere */
{
	table[x & 63]++;
	return outside(x + 1);
}
APART static int in_two_ways(int x)
{
	if (x & 1)
		return table[x & 63];
	return outside(x);
}
APART int known(int x) /* others may call it too */
{
	table[x & 63] += x;
	return x > 3 ? known(x - 3) + table[1] : x;
}
APART int tail_of_known(int x)
{
	table[5] = x;
	return calls_leaf(table, x) == 12345 ? 1 : goes_outside(x);
}
static int taken(int x) /* called by name and by address */
{
	table[7] += x;
	return x * 2;
}
APART static int deep(int n) /* on its way back it writes more than a buffer */
{
	int k = n ? deep(n - 1) : 0;
	table[k & 63] += n;
	return k + table[n & 63] % 3;
}
APART static int odd(int n);
APART static int even(int n)
{
	table[3]++;
	return n ? odd(n - 1) + 1 : 0;
}
APART static int odd(int n)
{
	table[4]++;
	return n ? even(n - 1) + 1 : 1;
}
APART static void leaves(int x)
{
	table[9] += x;
	if (x > 2)
		longjmp(jump, x);
	table[10] += x;
}
APART static int jumps(int x)
{
	volatile int n = 0;
	if (setjmp(jump))
		return n + table[9];
	for (int i = 0; i < x; i++) {
		n = i;
		leaves(i);
	}
	return -1;
}
static int compare(const void *a, const void *b)
{
	return leaf(a, 1) - leaf(b, 1) + known(2) - 2;
}
APART static int many(int a, int b, int c, int d, int e, int f, int g, int h)
{
	return table[a & 63] + b + c + d + e + f + g + h;
}
__attribute__((weak, noinline)) int weak(int x)
{
	return table[x & 63] + 1;
}
int from_outside(int x)
{
	return known(x) + leaf(table, x) + many(x, 2, 3, 4, 5, 6, 7, 8);
}
int main(int argc, char **argv)
{
	int s = 0, v[200];
	for (int i = 0; i < 200; i++)
		v[i] = i * 7919 % 211;
	qsort(v, 40, sizeof *v, compare);
	for (int i = 0; i < 20; i++) {
		s += calls_leaf(v, i) + goes_outside(i) + in_two_ways(i) + known(i) + tail_of_known(i) + taken(i) + weak(i);
		s ^= outside_calls(i & 1 ? taken : from_outside, i);
		s += even(i) + jumps(i & 7);
	}
	s += deep(argc > 1 ? 120000 : 100) + !argv;
	printf("%d %d %d\n", s, v[3], table[7]);
	return 0;
}
X1
cat >b.c <<'X2'
extern int known(int), from_outside(int);
static int kept;
int outside(int x)
{
	kept += x;
	return x & 2 ? known(x & 7) : kept;
}
int outside_calls(int (*f)(int), int n)
{
	int s = 0;
	for (int i = 0; i < n; i++)
		s += f(i) + from_outside(i);
	return s;
}
X2
ulimit -s unlimited 2>/dev/null
instrumented p gcc -O2 -no-pie a.c b.c
runs_as_plain p deep
same_as_engine p
gcc -O2 -c b.c -o plain.o
instrumented p gcc -O1 -fPIC -no-pie a.c plain.o
runs_as_plain p deep
same_as_engine p
if command -v clang-14 >/dev/null; then
	instrumented p clang-14 -O2 -no-pie a.c b.c
	same_as_engine p
fi

# A library's function that the program has another of: calls within the library lead to that.
cat >l.c <<'X3'
int replaced(int x) { return x + 1; }
int calls(int x) { int s = 0; for (int i = 0; i < x; i++) s += replaced(i); return s; }
X3
cat >m.c <<'X4'
#include <stdio.h>
int calls(int);
static int seen[4];
int replaced(int x) { seen[x & 3]++; return x * 3; }
int main(void) { int s = calls(20); printf("%d %d\n", s, seen[1]); return 0; }
X4
gcc -O0 -fPIC -shared l.c -o libl.so && gcc -O1 m.c -o m.plain -Wl,-rpath,. ./libl.so || fail "does not compile"
native ./m.plain
"$TW" cc gcc -O0 -fPIC -shared l.c -o libl.so && "$TW" cc gcc -O1 m.c -o m -Wl,-rpath,. ./libl.so || fail "trackway cc fails"
runs_as_plain m

# Of a recording that has the instrumented code only, report counts calls as the program itself does: of functions that the C library calls (qsort, bsearch, atexit), of those that call it last of all, and of
# those that it returns to; and a function costs with all that it calls no less than by itself.
cat >n.c <<'X5'
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define APART __attribute__((noinline))
enum { MAIN, LEAF, COMPARE, FIND, DROP, LAST, LEAVES, N };
static const char *const name[N] = {"main", "leaf", "compare", "find", "drop", "last", "leaves"};
static int calls[N];
static jmp_buf jump;
APART static int leaf(int x) { calls[LEAF]++; return x * x; }
APART static int compare(const void *a, const void *b) { calls[COMPARE]++; return leaf(*(const int *)a) - leaf(*(const int *)b); }
APART static int *find(int *v, int n, int x) { calls[FIND]++; return bsearch(&x, v, (size_t)n, sizeof *v, compare); }
APART static void drop(char *p) { calls[DROP]++; free(p); }
APART static void leaves(int x) { calls[LEAVES]++; if (x) longjmp(jump, x); }
static void last(void) { calls[LAST]++; for (int i = 0; i < N; i++) printf("%s %d\n", name[i], calls[i]); }
int main(void)
{
	int v[60], s = 0;
	calls[MAIN]++;
	atexit(last);
	for (int i = 0; i < 60; i++)
		v[i] = i * 37 % 61;
	qsort(v, 60, sizeof *v, compare);
	for (volatile int i = 0; i < 20; i++) {
		char *p = strdup("a string");
		s += find(v, 60, i) != NULL;
		drop(p);
		if (!setjmp(jump))
			leaves(i & 1);
	}
	return s < 0;
}
X5
# calls_in_contexts FILE: of each function in all contexts that cct tells as CSV
calls_in_contexts() {
	sed '1d; s/"//g; s/ [[]clone.*//' "$1" | awk -F, '{ gsub(/^ +|[.(].*/, "", $7); n[$7] += $6 } END { for (f in n) print f, n[f] }' | sort
}
for options in '-O0' '-O1 -fno-plt' '-O2' '-O2 -fno-plt'; do
	left_out "$options" '-O1 -fno-plt' && continue
	# shellcheck disable=SC2086
	gcc $options n.c -o n.plain && "$TW" cc gcc $options n.c -o n || fail "n.c with $options does not compile"
	./n.plain | sort >wanted.txt
	"$TW" record -q -o n.tw ./n >n.out || fail "n is not recorded"
	"$TW" report --json --sort incl n.tw >n.json || fail "no report of n"
	python3 - n.json >found.txt <<'X6' || fail "with $options: $(cat found.txt)"
import json, sys
functions = json.load(open(sys.argv[1]))["functions"]
for f in functions:
    print(f["function"], 1 if f["function"] == "main" else f["calls"]) # which nobody calls that is recorded
    assert f["inclusive_instructions"] >= f["instructions"], f
X6
	sed 's/[.][^ ]*//' found.txt | sort | diff wanted.txt - || fail "with $options the report counts other calls (<: those that there were)"
	"$TW" analyze cct --least 0 --csv n.tw >n.csv || fail "no contexts of n"
	calls_in_contexts n.csv | diff wanted.txt - || fail "with $options cct counts other calls"
	[ "$("$TW" sql --csv n.tw "select count(*) from calls where symbol(target) = symbol(pc)" | tail -n 1)" = 0 ] || fail "with $options sql has calls of the function that is returned to"
	"$TW" sql --csv n.tw "select function || ' ' || calls from functions" | sed '1d; s/[.][^ ]*//' | sort | diff wanted.txt - || fail "with $options sql counts other calls"
done

# Exceptions that pass through the C library and other instrumented code, and on-line the same.
if command -v g++ >/dev/null; then
	cat >e.cc <<'X7'
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <thread>
static int n_main, n_thrower, n_middle, n_catcher, n_compare;
__attribute__((noinline)) int thrower(int x) { n_thrower++; if (x & 1) throw std::runtime_error("odd"); return x; }
__attribute__((noinline)) int middle(int x) { n_middle++; return thrower(x) + 1; }
__attribute__((noinline)) int catcher(int x) { n_catcher++; try { return middle(x); } catch (const std::exception &) { return -1; } }
__attribute__((noinline)) static void in_thread() { for (int i = 0; i < 5; i++) catcher(i); }
extern "C" int compare(const void *a, const void *b) { n_compare++; return catcher(*(int *)a & 3) < 99 ? *(int *)a - *(int *)b : 0; }
int main()
{
	int v[30], s = 0;
	n_main++;
	for (int i = 0; i < 30; i++)
		v[i] = i * 17 % 31;
	for (int i = 0; i < 10; i++)
		s += catcher(i);
	qsort(v, 30, sizeof *v, compare);
	std::thread t(in_thread);
	t.join();
	printf("main %d\nthrower %d\nmiddle %d\ncatcher %d\ncompare %d\n", n_main, n_thrower, n_middle, n_catcher, n_compare);
	return s > 1000;
}
X7
	"$TW" cc g++ -O2 -g -pthread e.cc -o e || fail "e.cc does not compile"
	"$TW" record -q --with cct,least=0,csv,output=live.csv -o e.tw ./e | sort >wanted.txt || fail "e is not recorded"
	"$TW" analyze cct --least 0 --csv e.tw >e.csv || fail "no contexts of e"
	cmp e.csv live.csv || fail "on-line cct tells other contexts of e"
	grep -v 'clone .cold' e.csv >some.csv # jumps to these count as calls
	calls_in_contexts some.csv | grep -E '^(main|thrower|middle|catcher|compare) ' | diff wanted.txt - || fail "cct counts other calls of e"
fi
