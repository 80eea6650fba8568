# Programs that begin with the translations of others that ran the same files: they do what they do natively, also when a file, a library, what is preloaded or
# the order of mapping is another, when code is changed, and when there is no room.
# timeout: 300
. "$(dirname "$0")/../lib.sh"
RECORD_OPTIONS=(-f none)
export XDG_CACHE_HOME='' HOME='' # what is kept for other recordings: kept.sh
TAKEN=0

# shares SCRIPT: a shell script runs as natively, in two processes or more of which some begin with translations of others
shares() {
	sh "$1" >native.out 2>&1
	"$TW" record -f none -- sh "$1" >ours.out 2>ours.err || fail "$1: status $?"
	grep -v '^trackway: ' ours.err >>ours.out
	cmp native.out ours.out || { diff native.out ours.out | head -n 5; fail "$1 runs otherwise"; }
	TAKEN=$(sed -n 's/^trackway: .*; \([0-9]*\) of [0-9]* programs and .*/\1/p' ours.err)
	[ "${TAKEN:-0}" -ge "${2:-1}" ] || fail "$1: ${TAKEN:-0} programs began with translations of others, not ${2:-1}"
}

# settle: from now on the files here are old enough to have an identity
settle() { sleep 4.2; }

for v in 1 2; do
	echo "int version(void) { return $v; } int again(int n) { return n < 2 ? version() : again(n - 1) + version(); }" >lib$v.c
	$CC -O1 -shared -fPIC -o lib$v.so lib$v.c || fail "lib$v"
done
cp lib1.so libversion.so
cat >prog.c <<'END'
#include <stdio.h>
extern int again(int);
int main(void) { printf("program %d, library %d\n", PROGRAM, again(1000)); return 0; }
END
for v in 1 2; do
	$CC -O1 -DPROGRAM=$v -o prog$v prog.c -L. -lversion -Wl,-rpath,"$PWD" || fail "prog$v"
done
[ "$(stat -c %s prog1)" = "$(stat -c %s prog2)" ] || fail "the two programs are to be of one size"
cp prog1 prog

cat >preload.c <<'END'
int version(void) { return 7; }
END
$CC -O1 -shared -fPIC -o preload.so preload.c || fail "preload"

# dlopens what it is told, in that order, and calls each
cc_program order -ldl <<'END'
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(int argc, char **argv)
{
	if (argc > 2 && !strcmp(argv[1], "jump")) /* to where a library would be */
		return ((int (*)(int))(uintptr_t)strtoul(argv[2], NULL, 0))(3);
	int print = argc > 1 && !strcmp(argv[1], "where");
	for (int i = 1 + print; i < argc; i++) {
		int (*again)(int) = (int (*)(int))(uintptr_t)dlsym(dlopen(argv[i], RTLD_NOW), "again");
		if (print)
			printf("%p\n", (void *)(uintptr_t)again);
		else
			printf("%s %d\n", argv[i], again(100));
	}
	return 0;
}
END

# executes from a thread while others run, and spawns from several at once
cc_program threads -pthread -D_GNU_SOURCE <<'END'
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
extern char **environ;
static void *spin(void *p) { for (volatile long i = 0;; i++) ; return p; }
static void *become(void *p) { execl("./prog", "prog", NULL); return p; }
static void *spawn(void *p)
{
	char *argv[] = {"prog", NULL};
	for (int i = 0; i < 5; i++) {
		pid_t child;
		int status;
		if (posix_spawn(&child, "./prog", NULL, NULL, argv, environ) || waitpid(child, &status, 0) < 0 || status)
			abort();
	}
	return p;
}
int main(int argc, char **argv)
{
	pthread_t t[4];
	int exec = argc > 1 && !strcmp(argv[1], "exec");
	for (int i = 0; i < 3; i++)
		pthread_create(&t[i], NULL, exec ? spin : spawn, NULL);
	if (exec)
		pthread_create(&t[3], NULL, become, NULL);
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	return 0;
}
END

# changes its own code, calls it, executes itself, as often as it is told
cc_program selfchange -D_GNU_SOURCE <<'END'
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
__attribute__((noinline, section(".text.value"), aligned(4096))) int value(void) { __asm__ volatile(""); return 1; }
__attribute__((noinline, section(".text.value2"), aligned(4096))) int other(void) { __asm__ volatile(""); return 2; }
int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 0;
	uint8_t *code = (uint8_t *)(uintptr_t)value;
	int before = value();
	mprotect(code, 4096, PROT_READ | PROT_WRITE);
	for (int i = 0; i < 16; i++)
		if (code[i] == 0xb8) { /* mov eax, 1 */
			code[i + 1] = 5;
			break;
		}
	mprotect(code, 4096, PROT_READ | PROT_EXEC);
	int after = value();
	char next[16], *args[] = {argv[0], next, NULL};
	snprintf(next, sizeof next, "%d", n - 1);
	printf("%d %d %d\n", before, after, other());
	fflush(stdout);
	return n ? execv("/proc/self/exe", args) : 0;
}
END

# is linked with a library that is cut short while it runs
cat >cut.c <<'END'
#include <stdio.h>
#include <unistd.h>
extern int again(int);
int main(void)
{
	printf("library %d\n", again(10));
	fflush(stdout);
	_exit(truncate("libcut.so", 0) ? 1 : 3);
}
END
cp lib1.so libcut.so
$CC -O1 -o cut cut.c -L. -lcut -Wl,-rpath,"$PWD" -Wl,-z,now || fail "cut"

# a server: forks children that do what it has never done, one after the other
cc_program server -D_GNU_SOURCE <<'END'
#include <locale.h>
#include <math.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>
static int compare(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
static void serve(int k)
{
	char text[400], *end;
	int n[100];
	regex_t r;
	regmatch_t m[3];
	struct tm tm;
	time_t t = 1000000000 + k;
	for (int i = 0; i < 100; i++)
		n[i] = i * 7919 % 101;
	qsort(n, 100, sizeof *n, compare);
	if (regcomp(&r, "(a*b)[[:digit:]]{2,5}(xy|z)", REG_EXTENDED))
		abort();
	snprintf(text, sizeof text, "%s %.17g %a %Lf %d", "aab1234z", 1 / 3.0 + k, k * 1.5, (long double)k, n[k]);
	int found = regexec(&r, text, 3, m, 0);
	double d = strtod(text + 9, &end);
	strftime(text, sizeof text, "%c %G-%V %Z", gmtime_r(&t, &tm));
	wchar_t wide[100];
	swprintf(wide, 100, L"%ls %d", L"wide", k);
	printf("%d %d %.9f %s %ls %ld %s\n", k, found, d, text, wide, random(), strfry(strcpy(text, "a")));
	fflush(stdout);
	setlocale(LC_ALL, "C.UTF-8");
	regfree(&r);
}
int main(void)
{
	for (int k = 0; k < 8; k++) {
		pid_t p = fork();
		if (!p) {
			serve(k);
			_exit(k);
		}
		int status;
		waitpid(p, &status, 0);
		printf("%d\n", WEXITSTATUS(status));
		fflush(stdout);
	}
	return 0;
}
END

# a server whose children live beside each other: each comes to know the same code, under a timer's signals, and makes system calls
cc_program brothers -D_GNU_SOURCE <<'END'
#include <regex.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
static volatile sig_atomic_t ticks, faults; /* on a busy machine ticks are rare */
static sigjmp_buf back;
static void tick(int s) { (void)s; ticks++; }
static void fault(int s) { (void)s; faults++; siglongjmp(back, 1); }
static int compare(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
static unsigned long work(int i)
{
	char text[200];
	int n[50];
	regex_t r;
	unsigned long sum = 0;
	for (int k = 0; k < 50; k++)
		n[k] = (i + k) * 7919 % 101;
	qsort(n, 50, sizeof *n, compare);
	if (regcomp(&r, "(a*b)[[:digit:]]{2,5}(xy|z)", REG_EXTENDED))
		abort();
	snprintf(text, sizeof text, "%s %.17g %a %Lf %d", "aab1234z", 1 / 3.0 + i, i * 1.5, (long double)i, n[20]);
	sum += regexec(&r, text, 0, NULL, 0) == 0;
	for (char *c = text; *c; c++)
		sum = sum * 31 + (unsigned char)*c;
	regfree(&r);
	if (!sigsetjmp(back, 1))
		*(volatile int *)8 = 0;
	for (int k = 0; k < 40; k++)
		sum += getppid() > 0;
	return sum;
}
static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}
int main(void)
{
	enum { BROTHERS = 6 };
	int out[2];
	if (pipe(out))
		return 1;
	for (int b = 0; b < BROTHERS; b++)
		if (!fork()) {
			struct itimerval timer = {{0, 1000}, {0, 1000}};
			unsigned long first = 0, bad = 0;
			int rounds = 0;
			signal(SIGALRM, tick);
			signal(SIGSEGV, fault);
			setitimer(ITIMER_REAL, &timer, NULL);
			for (double end = now() + 2; now() < end || ticks <= 100; rounds++)
				for (int i = 0; i < 20; i++) {
					unsigned long sum = work(i);
					if (i == 7)
						bad += rounds && sum != first, first = sum;
				}
			char line[100];
			int n = snprintf(line, sizeof line, "%lu wrong, sum %lu, ticked %d, faults %d\n", bad, first, ticks > 100, faults == rounds * 20);
			_exit(write(out[1], line, (size_t)n) != n);
		}
	close(out[1]);
	for (int b = 0, status; b < BROTHERS; b++)
		if (wait(&status) < 0 || status)
			return 2;
	char text[1000];
	ssize_t n = read(out[0], text, sizeof text);
	return n <= 0 || write(1, text, (size_t)n) != n;
}
END
settle

echo './prog; ./cut; echo $?' >cut.sh
sh cut.sh >native.out
grep -qx 3 native.out || fail "cut natively: $(tail -n 1 native.out)"
cp lib1.so libcut.so
settle
"$TW" record -q -f none -- sh cut.sh >ours.out 2>ours.err || fail "cut"
cmp native.out ours.out || fail "a library that was cut short"

./server >native.out
grep -qx 7 native.out || fail "server natively"
"$TW" record -f none -- ./server >ours.out 2>ours.err || fail "server"
cmp native.out ours.out || fail "a server's forks"
grep -q ' and [4-8] forks began' ours.err || fail "server: $(cat ours.err)"

./brothers >native.out || fail "brothers natively"
grep -q '^0 wrong, sum [0-9]*, ticked 1, faults 1$' native.out || fail "brothers natively: $(cat native.out)"
"$TW" record -f none -- ./brothers >ours.out 2>ours.err || fail "brothers: status $?"
cmp native.out ours.out || fail "brothers: $(cat ours.out)"
grep -q ' and [4-6] forks began' ours.err || fail "brothers: $(cat ours.err)"

cat >same.sh <<'END'
i=0
while [ $i -lt 8 ]; do ./prog; i=$((i+1)); done
END
shares same.sh 6

cat >parallel.sh <<'END'
for k in 1 2 3 4 5 6; do (for i in 1 2 3 4; do ./prog; done) & done
wait
END
shares parallel.sh 12

cat >preloaded.sh <<'END'
for i in 1 2 3; do ./prog; LD_PRELOAD=$PWD/preload.so ./prog; done
for i in 1 2 3; do LD_PRELOAD=$PWD/preload.so ./prog; done
./prog
END
shares preloaded.sh 4

# another file at the same path: moved there, written into, and the same for a library; at once, and when it is old enough to be known
cat >replaced.sh <<'END'
cp prog1 prog; cp lib1.so libversion.so
./prog; ./prog
cp prog2 new && mv new prog; ./prog; ./prog
cat prog1 >prog; ./prog; ./prog
cp lib2.so new && mv new libversion.so; ./prog; ./prog
cat lib1.so >libversion.so; ./prog; ./prog
END
sh replaced.sh >native.out
"$TW" record -q -f none -- sh replaced.sh >ours.out || fail "replaced"
cmp native.out ours.out || fail "a file that was replaced at once"
cat >replaced_old.sh <<'END'
./prog; ./prog; ./prog
cat prog2 >prog; sleep 4.2; ./prog; ./prog
cat lib2.so >libversion.so; sleep 4.2; ./prog; ./prog; ./prog
END
cp prog1 prog
cp lib1.so libversion.so
settle
"$TW" record -f none -- sh replaced_old.sh >ours.out 2>ours.err || fail "replaced_old"
printf 'program %d, library %d\n' 1 1000 1 1000 1 1000 2 1000 2 1000 2 2000 2 2000 2 2000 | cmp - ours.out || fail "a file that was replaced"
grep -q '; [4-9] of ' ours.err || fail "replaced_old: $(cat ours.err)"
cp prog1 prog
cp lib1.so libversion.so
settle

cat >order.sh <<'END'
for i in 1 2 3; do ./order ./lib1.so ./lib2.so; ./order ./lib2.so ./lib1.so; ./order ./lib2.so; done
END
shares order.sh 6

cat >threads.sh <<'END'
for i in 1 2 3; do ./threads; ./threads exec; done
END
shares threads.sh 20

echo 'for i in 1 2; do ./selfchange 4; done' >selfchange.sh
shares selfchange.sh 6

# a library that has not been mapped is not there, whatever others left of it
cat >unmapped.sh <<'END'
./order ./lib1.so; ./order ./lib1.so; a=$(./order where ./lib1.so); ./order ./lib1.so
./order jump $a
echo $?
END
"$TW" record -f none -- sh unmapped.sh >ours.out 2>/dev/null
[ "$(tail -n 1 ours.out)" = 139 ] || fail "code that is not mapped was run: $(tail -n 1 ours.out)"

# no room, or none that can be had
for command in "$TW record --share=0 -f none" "$TW record --share=1 -f none"; do
	sh same.sh >native.out
	$command -- sh same.sh >ours.out 2>ours.err || fail "$command"
	cmp native.out ours.out || fail "$command"
done
for limit in "-n 4" "-n 5" "-v 17000000"; do
	sh -c "ulimit $limit; . ./same.sh" >native.out 2>&1
	"$TW" record -q -f none -- sh -c "ulimit $limit; . ./same.sh" >ours.out 2>&1
	cmp native.out ours.out || fail "ulimit $limit"
done
: "$TAKEN"
