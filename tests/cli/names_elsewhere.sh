# Libraries that a program opens in another order than last time are at other addresses. Kept translations are of the old ones: what did not run is not taken for code of the file that is there now, so that every file is named.
. "$(dirname "$0")/../lib.sh"

# library NAME FUNCTION PADDING: functions of its own, behind so many bytes
library() {
	cat >"$1.c" <<-E
		static volatile int sum;
		#define ONE(n) static __attribute__((noinline)) void $2_part_##n(int i) { sum += i * n; if (sum % 3 == n % 3) sum ^= n; }
		#define ALL(X) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9)
		__asm__(".skip $3, 0x90");
		ALL(ONE)
		#define CALL(n) $2_part_##n(i);
		int run(int i) { ALL(CALL) return sum & 1; }
	E
	gcc -O1 -g -shared -fPIC -o "$1.so" "$1.c" || fail "$1.c does not compile"
}
library one first 4000
library two second 4016
cc_program prog -ldl <<'E'
#include <dlfcn.h>
#include <stdio.h>
int main(int argc, char **argv)
{
	for (int k = 1; k < argc; k++) {
		void *at = dlopen(argv[k], RTLD_NOW);
		int (*run)(int) = at ? (int (*)(int))dlsym(at, "run") : NULL;
		for (int i = 0; run && i < 100; i++)
			run(i);
		printf("%d\n", run != NULL);
	}
	return 0;
}
E
sleep 4.2 # so old that they have an identity

# named WHAT FILE: functions of both libraries are there
named() {
	! grep -q 'gives no names' errors || fail "$1: $(cat errors)"
	for f in first_part_1 first_part_9 second_part_1 second_part_9; do grep -q "$f" "$2" || fail "$1: no $f: $(cat "$2")"; done
}
stored() {
	recorded "$@"
	"$TW" check recording.tw >errors 2>&1 || fail "$*: $(cat errors)"
	"$TW" report -n 0 recording.tw >functions 2>errors
	named "$*" functions
}
stored ./prog ./one.so ./two.so
stored ./prog ./one.so ./two.so
stored ./prog ./two.so ./one.so
stored ./prog ./one.so ./two.so
"$TW" record -q --with mix,top=0,output=functions -- ./prog ./two.so ./one.so >out 2>errors || fail "mix: $(cat errors)"
named "mix, while it runs" functions

# a file that has changed since is still told from one that has not
recorded ./prog ./one.so ./two.so
"$TW" record -q --names=later -o later.tw -- ./prog ./one.so ./two.so >out
library one third 4100
"$TW" report -n 0 later.tw >functions 2>errors
grep -q 'one.so gives no names: the file has changed' errors || fail "one.so has changed, and this is not said: $(cat errors functions)"
grep -q second_part_1 functions || fail "two.so has not changed: $(cat functions)"
