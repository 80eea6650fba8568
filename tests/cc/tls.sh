# Thread-local variables: linkers replace the instructions that come to them, of each model and dialect, with others, which are fewer or refer to other memory.
. "$(dirname "$0")/../cc.sh"
need_command gcc setarch python3
cat >shared.c <<'X'
__thread int shared = 8;
int *address(void)
{
	return &shared;
}
X
cat >v.c <<'X'
#include <stdio.h>
extern __thread int shared;
__thread int seen = 3;
static __thread int own = 4, second = 5;
int *address(void);
__attribute__((noinline)) int step(int n)
{
	shared += n;
	seen += shared;
	own ^= seen;
	second += own;
	return shared + own;
}
int main(void)
{
	int s = 0;
	for (int i = 0; i < 5; i++)
		s += step(i);
	printf("%d %d %d\n", s, second, *address());
	return 0;
}
X
gcc -shared -fPIC -O2 shared.c -o libshared.so || fail "libshared.so"

# through COMPILER FLAG...: its references are the engine's of the same instructions. What is not installed is passed over
through() {
	if ! "$@" -no-pie v.c ./libshared.so -o probe 2>/dev/null; then
		untested "$*"
		return
	fi
	instrumented v "$@" -no-pie v.c ./libshared.so
	runs_as_plain v
	same_as_engine v
	[ "$("$TW" dump own.tw | wc -l)" -ge 40 ] || fail "$*: too few references"
}
through gcc -O2 -fPIC
through gcc -O2 -fPIC -fno-plt
through gcc -O1 -fPIC -mtls-dialect=gnu2
through gcc -O2 -fPIC -mcmodel=large
through gcc -O2 -fPIC -fuse-ld=lld -Wl,-u,_end

# A library that has much of them is refused where it is loaded later, as there is no room where instrumented code has its own: that is told, with what helps.
cat >much.c <<'X'
static __thread char much[4000];
char *place(int n)
{
	return &much[n];
}
X
cat >late.c <<'X'
#include <dlfcn.h>
#include <stdio.h>
int main(void)
{
	void *library = dlopen("./libmuch.so", RTLD_NOW);
	char *(*place)(int) = library ? (char *(*)(int))dlsym(library, "place") : NULL;
	if (place)
		*place(3999) = 7;
	puts(place ? "loaded" : dlerror());
	return 0;
}
X
"$TW" cc gcc -O2 -shared -fPIC shared.c -o libshared.so 2>said && [ ! -s said ] || fail "$(cat said)"
"$TW" cc gcc -O2 -shared -fPIC much.c -o libmuch.so 2>said || fail "$(cat said)"
grep -q '^trackway cc: libmuch.so has 4...* bytes of thread-local memory: ' said || fail "much: $(cat said)"
"$TW" cc gcc -O2 late.c -o late -ldl || fail "late.c"
said=$(env "$(grep -o 'GLIBC_TUNABLES=[^ ]*' said)" ./late)
[ "$said" = loaded ] || fail "with what helps: $said"
