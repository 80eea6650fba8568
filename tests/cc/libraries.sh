# Instrumented shared libraries: linked, opened and closed, together with an instrumented program and without.
. "$(dirname "$0")/../cc.sh"
need_command gcc
cat >one.c <<'X'
#include <stdlib.h>
int twice(int x);
static __thread int calls;
int one(int n, int (*back)(int))
{
	int s = 0;
	calls++;
	for (int i = 0; i < n; i++)
		s += back(i) + twice(i);
	return s + calls;
}
X
cat >two.c <<'X'
static int table[16];
int twice(int x)
{
	table[x & 15] += x;
	return 2 * table[x & 15];
}
X
cat >main.c <<'X'
#include <dlfcn.h>
#include <stdio.h>
int one(int n, int (*back)(int));
static int own[8];
static int back(int x)
{
	return own[x & 7]++;
}
int main(void)
{
	int s = one(50, back);
	for (int k = 0; k < 5; k++) {
		void *h = dlopen("./libtwo.so", RTLD_NOW | RTLD_LOCAL);
		int (*f)(int) = h ? (int (*)(int))dlsym(h, "twice") : NULL;
		for (int i = 0; f && i < 10; i++)
			s += f(i);
		if (h)
			dlclose(h);
		s += back(k);
	}
	printf("%d\n", s);
	return 0;
}
X
make_all() { # PREFIX...: of the compiler
	"$@" -O2 -fPIC -shared one.c -o libone.so && "$@" -O2 -fPIC -shared two.c -o libtwo.so && "$@" -O2 -fPIC -shared two.c -o liblinked.so
}
make_all gcc && gcc -O2 main.c -o main.plain -Wl,-rpath,. ./libone.so ./liblinked.so -ldl || fail "does not compile"
native ./main.plain
make_all "$TW" cc gcc && "$TW" cc gcc -O2 main.c -o main -Wl,-rpath,. ./libone.so ./liblinked.so -ldl || fail "trackway cc fails"
runs_as_plain main
"$TW" report recording.tw >report.out || fail report
for f in one twice back main; do grep -qw "$f" report.out || fail "$f is not in the report"; done
# info names them, each once.
"$TW" info recording.tw >info.out || fail info
for f in main libone.so libtwo.so liblinked.so; do
	[ "$(grep '^instrumented  *by trackway cc: ' info.out | tr ',' '\n' | grep -c "/$f\$")" = 1 ] || fail "info does not name $f: $(grep ^instrumented info.out)"
done
"$TW" info --json recording.tw | python3 -c 'import json, sys; assert len(json.load(sys.stdin)["instrumented"]) == 4' || fail "info --json"
TRACKWAY=off "$TW" record --plain -q -o plain.tw ./main >/dev/null && ! "$TW" info plain.tw | grep -q ^instrumented || fail "info: under the engine nothing is instrumented"
# Only the libraries.
run recorded.out recorded.err ./main.plain
RECORDED_STATUS=$?
compare_runs "a plain program with instrumented libraries"

# Many at a time: the C library has room for so much thread-local memory of libraries opened later, and no more.
cat >many.c <<'X'
#include <dlfcn.h>
#include <stdio.h>
int main(void)
{
	int s = 0;
	for (int k = 0; k < 100; k++) {
		char name[32];
		snprintf(name, sizeof name, "./many%d.so", k);
		void *h = dlopen(name, RTLD_NOW | RTLD_LOCAL);
		int (*f)(int) = h ? (int (*)(int))dlsym(h, "twice") : NULL;
		if (!f)
			return printf("%s\n", dlerror());
		s += f(k);
	}
	return printf("%d\n", s) != 5;
}
X
for k in {0..99}; do cp libtwo.so many$k.so; done
instrumented many gcc -O2 many.c -ldl
runs_as_plain many

# Two of them have sections that the program lacks: their names are nobody else's.
make_all "$TW" cc --switchable gcc && "$TW" cc gcc -O2 main.c -o main -Wl,-rpath,. ./libone.so ./liblinked.so -ldl || fail "it cannot be linked with two libraries in two versions"
runs_as_plain main
# A function that its own file calls by another, local name, as gcc has it in libraries, or that is local but for an alias, may still be called from other files: at the first call by way of the dynamic linker, which leaves no pointer in r11.
cat >walk.c <<'X'
__attribute__((noinline)) long walk(long n, const long *v)
{
	return n < 2 ? v[n & 1] : walk(n - 1, v) + walk(n - 2, v);
}
__attribute__((noinline)) static long own(long n, const long *v)
{
	return n < 2 ? v[n & 1] : own(n - 1, v) + own(n - 2, v);
}
long stroll(long n, const long *v) __attribute__((alias("own")));
X
cat >walks.c <<'X'
#include <stdio.h>
long walk(long, const long *);
long stroll(long, const long *);
int main(void)
{
	const long v[2] = {3, 5};
	printf("%ld %ld\n", walk(12, v), stroll(9, v));
	return 0;
}
X
gcc -O2 -fPIC -fno-semantic-interposition -shared walk.c -o libwalk.plain.so && gcc -O2 walks.c ./libwalk.plain.so -o walks.plain || fail "walk.c"
"$TW" cc gcc -O2 -fPIC -fno-semantic-interposition -shared walk.c -o libwalk.so && "$TW" cc gcc -O2 walks.c ./libwalk.so -o walks -Wl,-z,lazy || fail "walk.c"
runs_as_plain walks

# Valgrind maps elsewhere where the run-time part's place is taken by another module's: programs with instrumented libraries died.
if command -v valgrind >/dev/null; then
	for mode in off discard; do
		run recorded.out recorded.err env TRACKWAY=$mode valgrind -q --tool=none ./walks
		RECORDED_STATUS=$?
		native ./walks.plain
		compare_runs "under Valgrind, TRACKWAY=$mode"
	done
else
	untested Valgrind
fi
