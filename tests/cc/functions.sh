# Which functions are instrumented: by --only and --not, of functions with several names and of parts that compilers split off.
. "$(dirname "$0")/../cc.sh"
need_command gcc g++
cat >f.cpp <<'X'
#include <cstdio>
#include <cstdlib>
namespace shapes {
struct square {
	bool good = true;
	int side;
	explicit square(int n);
	square(const square &from);
};
square::square(int n) : side(n) {}
square::square(const square &from) : side(from.side) // two names for one function, and a part of it split off
{
	if (!from.good)
		abort();
	side++;
}
__attribute__((noinline)) int area(square s)
{
	return s.side * s.side;
}
__attribute__((noinline)) int area(int side)
{
	return area(square(side));
}
}
__attribute__((noinline)) static int twice(int n)
{
	return 2 * n;
}
static volatile char large[1 << 20]; // more memory than its file has
int main(int argc, char **)
{
	int sum = 0;
	for (int i = 0; i < 100; i++) {
		const shapes::square s(i);
		sum += shapes::area(s) + shapes::area(i) + twice(i * argc);
	}
	large[sum & 0xfffff] = 1;
	printf("%d\n", sum);
}
X
# recorded_functions OPTION...: the names of functions that a recording has
recorded_functions() {
	"$TW" cc "$@" g++ -O2 -fno-inline f.cpp -o f 2>compile.err || fail "trackway cc $*"
	[ ! -s compile.err ] || fail "trackway cc $*: says $(cat compile.err)"
	recorded ./f
	check_good
	"$TW" report --csv recording.tw >functions.csv || fail report
}
has() { grep -q -- "$1" functions.csv || fail "$1 is not recorded"; }
has_not() { ! grep -q -- "$1" functions.csv || fail "$1 is recorded"; }
instrumented f g++ -O2 -fno-inline f.cpp
runs_as_plain f
recorded_functions
for f in 'square::square(int)' 'square::square(shapes::square const' 'area(int)' 'area(shapes' twice main; do has "$f"; done
recorded_functions --only 'shapes::*'
for f in 'square::square(int)' 'square::square(shapes::square const' 'area(int)' 'area(shapes'; do has "$f"; done
has_not twice
has_not main
recorded_functions --only 'shapes::area(int)' --only '*twice*'
has 'area(int)'
has twice
has_not 'area(shapes'
recorded_functions --only _ZN6shapes6squareC1ERKS0_ # either name of the two
has 'square::square(shapes::square const'
has_not main
recorded_functions --not 'shapes::area' --not main
has twice
has_not 'area('
has_not main
# Files: by their own name, or as they were given.
mkdir part && sed 's/main/other/g; s/shapes/forms/g' f.cpp >part/g.cpp
counts() { "$TW" cc -v "$@" g++ -O2 -c part/g.cpp -o g.o 2>&1 | sed -n 's/.*: [0-9]* functions (.*), \([0-9]*\) blocks.*/\1/p'; }
all=$(counts)
[ "$all" -gt 10 ] || fail "-v counts $all blocks"
[ "$(counts --only g.cpp)" = "$all" ] && [ "$(counts --only 'part/*')" = "$all" ] && [ "$(counts --not f.cpp)" = "$all" ] || fail "patterns of files"
[ "$(counts --not g.cpp)" = 0 ] || fail "--not with a file: $(counts --not g.cpp) blocks"
