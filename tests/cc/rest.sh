# record --rest: the engine records all of a process and leaves out what trackway cc has inserted, in programs and libraries, of all kinds: what runs of instrumented functions is what they record themselves.
# timeout: 240
. "$(dirname "$0")/../cc.sh"
need_command gcc g++ setarch python3
need_fixed_addresses
cat >lib.c <<'X'
static __thread int calls[4];
int calls_of(int n)
{
	return calls[n & 3];
}
int twice(int x)
{
	calls[x & 3]++;
	return 2 * x;
}
X
cat >p.cc <<'X'
#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <pthread.h>
#include <stdexcept>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>
#define OWN __attribute__((noinline))
extern "C" {
OWN int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
OWN int throws(int n)
{
	std::string s(n, 'x');
	if (n % 3 == 0)
		throw std::runtime_error(s);
	return (int)s.size();
}
OWN int catches(int n)
{
	try {
		return throws(n);
	} catch (const std::exception &e) {
		return -(int)std::string(e.what()).size();
	}
}
OWN int computed(const char *way)
{
	static void *const to[] = {&&more, &&less, &&done};
	int n = 0;
	goto *to[*way++ - '0'];
more:
	n += 7;
	goto *to[*way++ - '0'];
less:
	n--;
	goto *to[*way++ - '0'];
done:
	return n;
}
OWN int chosen(int n)
{
	switch (n) {
	case 0: return 4;
	case 1: return fib(3);
	case 2: return n * n;
	case 3: return computed("0012");
	case 4: return 17;
	default: return -n;
	}
}
OWN double sums(const double *a, int n)
{
	double s = 0;
	for (int i = 0; i < n; i++)
		s += a[i] * a[n - 1 - i];
	return s;
}
static jmp_buf back;
OWN void leaps(int n)
{
	if (n)
		leaps(n - 1);
	else
		longjmp(back, 5);
}
static volatile sig_atomic_t handled;
OWN void handler(int) { handled = handled + fib(5); }
}
static void *thread(void *n)
{
	long s = 0;
	for (int k = 0; k < 20; k++)
		s += catches((int)(long)n + k) + chosen(k % 7);
	return (void *)s;
}
int main(int argc, char **)
{
	std::vector<double> a(300, 0.5 * argc);
	signal(SIGUSR1, handler);
	pthread_t t[3];
	long s = 0;
	for (long k = 0; k < 3; k++)
		pthread_create(&t[k], nullptr, thread, (void *)k);
	for (auto &one : t) {
		void *r;
		pthread_join(one, &r);
		s += (long)r;
	}
	raise(SIGUSR1);
	for (int k = 0; k < 3; k++) {
		void *h = dlopen("./lib.so", RTLD_NOW);
		auto twice = (int (*)(int))dlsym(h, "twice"), calls = (int (*)(int))dlsym(h, "calls_of");
		for (int i = 0; i < 9; i++)
			s += twice(i);
		s += calls(1);
		dlclose(h);
	}
	const int jumped = setjmp(back);
	if (!jumped)
		leaps(6);
	fflush(stdout);
	const pid_t child = fork();
	if (!child) {
		printf("%d\n", fib(9));
		fflush(stdout);
		_exit(catches(9) & 15);
	}
	int status;
	waitpid(child, &status, 0);
	printf("%ld %d %g %d %d %d\n", s, (int)handled, sums(a.data(), 300), jumped, WEXITSTATUS(status), fib(14));
	return 6;
}
X
NAMES='^(fib|throws|catches|computed|chosen|sums|leaps|handler|twice|calls_of)$'
# counts RECORDING: instructions, references and calls of these functions
counts() {
	"$TW" report --csv "$1" >report.csv || fail "report $1"
	python3 - "$NAMES" <<-'X' || fail "report --csv"
		import csv, re, sys
		of = {}
		for r in csv.DictReader(open("report.csv")):
		    if re.match(sys.argv[1], r["function"]):
		        old = of.get(r["function"], (0, 0, 0))
		        of[r["function"]] = tuple(a + int(r[b]) for a, b in zip(old, ("instructions", "reads", "writes")))
		for name, n in sorted(of.items()):
		    print(name, *n)
	X
}
# whole WHAT OPTION...: with these of trackway cc's and the compiler's; FLAGS: of the compiler alone
whole() {
	local what=$1
	shift
	"$TW" cc "$@" gcc -O2 -fPIC -fno-plt -shared lib.c -o lib.so && "$TW" cc "$@" g++ $FLAGS -fno-plt p.cc -o p -ldl -pthread || fail "$what: trackway cc"
	run recorded.out recorded.err "$TW" record -q --rest --verify -o recording.tw ./p
	RECORDED_STATUS=$?
	compare_runs "$what"
	check_good
	counts recording.tw >rest.counts
	rm -rf recording.tw
}
for FLAGS in "-O2" "-O0 -g -no-pie" "-O3 -march=native -fcf-protection -fno-pie -no-pie"; do
	left_out "$FLAGS" "-O0 -g -no-pie" && continue
	gcc -O2 -fPIC -fno-plt -shared lib.c -o lib.so && g++ $FLAGS -fno-plt p.cc -o p -ldl -pthread || fail "does not compile"
	native ./p
	whole "$FLAGS"
	recorded ./p
	counts recording.tw >own.counts
	[ "$(wc -l <own.counts)" = 10 ] || { cat own.counts; fail "$FLAGS: not all functions are in the recording"; }
	[ "$FLAGS" = -O2 ] && cp rest.counts alone.counts
	cmp -s own.counts rest.counts || {
		diff own.counts rest.counts
		fail "$FLAGS: --rest counts something else than the program itself"
	}
done
# Code in two versions, with a guard, with few blocks to a group: the same as without these, but for what aligns loops.
FLAGS=-O2
gcc -O2 -fPIC -fno-plt -shared lib.c -o lib.so && g++ $FLAGS -fno-plt p.cc -o p -ldl -pthread || fail "does not compile"
native ./p
for option in --switchable --full=guard --large; do
	whole "$option" "$option"
	paste -d' ' alone.counts rest.counts | awk '{ d = $6 - $2; if ($1 != $5 || $3 != $7 || $4 != $8 || d * d > $2) { print; wrong = 1 } } END { exit wrong || NR != 10 }' ||
		fail "$option: --rest counts something else"
done

# References: those that the program records itself, in their order, and at addresses that are the same.
cat >q.c <<'X'
#include <stdio.h>
#include <stdlib.h>
static int order[200];
static int less(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}
int main(void)
{
	unsigned seed = 3;
	for (int i = 0; i < 200; i++)
		order[i] = (int)((seed = seed * 1103515245 + 12345) >> 16 & 0xfff);
	qsort(order, 200, sizeof *order, less);
	long s = 0;
	for (int r = 0; r < 500; r++)
		for (int i = 0; i < 200; i += 1 + (r & 3))
			s += order[(i * 7 + r) % 200];
	printf("%ld\n", s);
	return 0;
}
X
"$TW" cc gcc -O2 -no-pie q.c -o q || fail "trackway cc q.c"
setarch -R "$TW" record -q -o own.tw ./q >/dev/null && setarch -R "$TW" record -q --rest -o rest.tw ./q >/dev/null || fail "q is not recorded"
python3 "$ROOT/tests/same_references.py" "$TW" q own.tw rest.tw || fail "other references"

# A routine within the program is not called; windows; what does not go together.
cat >none.c <<'X'
#include <stdio.h>
#include <trackway/analyzer.h>
static void *begin(void *arg) { return arg ? NULL : &puts; }
static int batch(void *state, const struct tw_batch *b) { (void)state, (void)b; return 0; }
static int merge(void *state, void *later) { (void)state, (void)later; return 0; }
static int end(void *state, int error) { (void)state, (void)error; puts("called"); return 0; }
static const struct tw_analyzer none = {.name = "none", .begin = begin, .batch = batch, .merge = merge, .end = end};
TW_PLUGIN(none);
X
"$TW" cc --batch=none.c gcc -O2 -no-pie q.c -o q || fail "--batch"
./q | grep -q called || fail "the routine is not called"
"$TW" record -q --rest -o batch.tw ./q | grep -q called && fail "the routine is called under --rest"
"$TW" cc gcc -O1 -no-pie q.c -o q || fail "trackway cc -O1"
"$TW" record -q --rest --start=less --stop=puts -o window.tw ./q >/dev/null || fail "no window"
"$TW" report --csv window.tw | cut -d, -f10 | grep -qx less || fail "nothing in the window"
"$TW" record -q --rest --pid $$ -o pid.tw 2>err && fail "--rest --pid"
grep -q -- "--rest" err || fail "--rest --pid says nothing of --rest"
