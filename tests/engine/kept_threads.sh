# Translations of programs with threads that run when it ends, and with libraries that stand at an address of the kernel's choice, are kept as well.
. "$(dirname "$0")/../lib.sh"
KEPT=$XDG_CACHE_HOME/trackway/translations
cc_program libaligned.so -shared -fPIC -Wl,-z,max-page-size=0x200000 <<'E'
int aligned(int n)
{
	return n * 3 + 1;
}
E
# Many small functions, of which it calls as many as it is told.
{
	echo '#include <pthread.h>'
	echo '#include <stdio.h>'
	echo '#include <stdlib.h>'
	echo 'int aligned(int n);'
	for i in $(seq 1500); do echo "static int __attribute__((noinline)) f$i(int n) { return n % $i ? n + $i : n - $i; }"; done
	echo 'static int (*const f[])(int) = {'
	for i in $(seq 1500); do echo "f$i,"; done
	cat <<'E'
};
static pthread_barrier_t all;
static void *run_on(void *arg)
{
	for (volatile int i = 0;; i++)
		if (i == 1000)
			pthread_barrier_wait(&all);
	return arg;
}
int main(int argc, char **argv)
{
	int sum = 0;
	pthread_t t;
	pthread_barrier_init(&all, NULL, 2);
	pthread_create(&t, NULL, run_on, NULL);
	for (int i = 0; i < atoi(argv[1]); i++)
		sum = aligned(f[i](sum) & 0xffff);
	pthread_barrier_wait(&all);
	printf("%d %d\n", argc, sum);
	exit(7);
}
E
} | cc_program threads -pthread -Wno-return-type -L. -laligned -Wl,-rpath,"$TMP"
sleep 4.2 # so old that they have an identity
largest() { find "$KEPT" -type f -printf '%s\n' | sort -n | tail -n 1; }
once() {
	native ./threads "$1"
	run recorded.out recorded.err "$TW" record -f none -o r.tw -- ./threads "$1"
	RECORDED_STATUS=$?
	grep -c '; 1 of 1 programs' recorded.err >began
	grep -v "$OWN_LINE" recorded.err >rest
	mv rest recorded.err
	compare_runs "$2"
}
once 200 "the first time"
[ "$(find "$KEPT" -name '*.snapshot' | wc -l)" = 1 ] || fail "nothing is kept of a program of two threads"
before=$(largest)
once 1500 "the second time"
[ "$(cat began)" = 1 ] || fail "the second time it does not begin with what was kept"
[ "$(largest)" -gt "$before" ] || fail "of a program that did more, no more is kept: $before, $(largest) bytes"
once 1500 "the third time"
[ "$(cat began)" = 1 ] || fail "the third time it does not begin with what was kept"
