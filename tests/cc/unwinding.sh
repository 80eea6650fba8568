# Exceptions, longjmp, handlers that are left, threads, forks: in instrumented programs.
# timeout: 240
. "$(dirname "$0")/../cc.sh"
need_command gcc g++
cat >e.cpp <<'X'
#include <algorithm>
#include <iostream>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>
struct counted {
	int &n;
	explicit counted(int &n) : n(n) {}
	~counted() { n++; }
};
template <class T> static T sum(const std::vector<T> &v)
{
	T s{};
	for (const auto &x : v)
		s += x;
	return s;
}
static int thrower(int n, int &c)
{
	counted r(c);
	if (n == 0)
		throw std::runtime_error("deep");
	return thrower(n - 1, c) + 1;
}
int main()
{
	std::map<std::string, int> m;
	int c = 0, caught = 0;
	for (int i = 0; i < 500; i++)
		m["k" + std::to_string(i % 37)] += i;
	for (int i = 0; i < 50; i++)
		try {
			thrower(i, c);
		} catch (const std::exception &e) {
			caught += e.what()[0];
		}
	std::vector<double> v(300);
	for (size_t i = 0; i < v.size(); i++)
		v[i] = 1.0 / double(i + 1);
	std::sort(v.begin(), v.end());
	try {
		try {
			throw 5;
		} catch (int x) {
			counted r(c);
			throw std::string("x") + std::to_string(x);
		}
	} catch (const std::string &s) {
		std::cout << s << "\n";
	}
	std::cout << m.size() << " " << sum(v) << " " << c << " " << caught << "\n";
}
X
for flags in "-O0 -g" "-O2 -fPIC -ffunction-sections -Wl,--gc-sections"; do
	instrumented e g++ -std=c++17 $flags e.cpp
	runs_as_plain e
done
cat >t.c <<'X'
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
static volatile long ticks;
static sigjmp_buf jump;
static void tick(int s)
{
	(void)s;
	for (int i = 0; i < 10; i++)
		ticks++;
}
static void fault(int s)
{
	(void)s;
	siglongjmp(jump, 1);
}
static void *work(void *a)
{
	long n = (long)a, s = 0;
	int *v = malloc(1000 * sizeof *v);
	for (long k = 0; k < n; k++) {
		for (int i = 0; i < 1000; i++)
			v[i] = (int)(i * k);
		for (int i = 0; i < 1000; i++)
			s += v[i];
	}
	free(v);
	return (void *)s;
}
static int depth(int n)
{
	volatile char b[50];
	b[n % 50] = (char)n;
	return n ? depth(n - 1) + b[n % 50] : 0;
}
int main(void)
{
	struct sigaction act = {.sa_handler = tick, .sa_flags = SA_RESTART}, old;
	struct itimerval every = {{0, 1000}, {0, 1000}}, never = {{0, 0}, {0, 0}};
	pthread_t t[3];
	long s = 0;
	int hits = 0, status[3];
	sigaction(SIGALRM, &act, NULL);
	sigaction(SIGALRM, NULL, &old);
	setitimer(ITIMER_REAL, &every, NULL);
	for (long i = 0; i < 3; i++)
		pthread_create(&t[i], NULL, work, (void *)(300L + i));
	for (int i = 0; i < 3; i++) {
		void *r;
		pthread_join(t[i], &r);
		s += (long)r;
	}
	while (ticks < 50)
		s += (long)work((void *)10L) & 1;
	setitimer(ITIMER_REAL, &never, NULL);
	signal(SIGSEGV, fault);
	for (int i = 0; i < 10; i++) {
		if (!sigsetjmp(jump, 1))
			*(volatile int *)(long)(i & 0) = 1;
		else
			hits++;
	}
	pid_t p = fork();
	if (!p)
		exit(depth(20) & 7);
	waitpid(p, &status[0], 0);
	if (!(p = fork()))
		_exit(9);
	waitpid(p, &status[1], 0);
	if (!(p = vfork())) {
		execl("/bin/true", "true", (char *)NULL);
		_exit(1);
	}
	waitpid(p, &status[2], 0);
	printf("%ld %d %d %d %d %d %d\n", s, hits, status[0], status[1], status[2], depth(3000), old.sa_handler == tick);
	return 0;
}
X
for flags in "-O2" "-O0 -fPIC"; do
	instrumented t gcc $flags -pthread t.c
	runs_as_plain t
done
# A function that never returns has registers of its caller all the same: an exception takes them from there.
cat >n.cpp <<'X'
#include <cstdlib>
#include <cstdio>
int limit, sink;
[[noreturn]] __attribute__((noinline)) static void never()
{
	volatile int __attribute__((aligned(64))) a = 1;
	for (int i = 0; i < limit; i++)
		for (int j = 0; j < i; j++)
			for (int k = 0; k < j; k++)
				for (int l = 0; l < k; l++)
					for (int m = 0; m < l; m++)
						for (int n = 0; n < m; n++)
							sink = k;
	throw (int)a;
}
int main(int argc, char **)
{
	int i = argc, j = argc + 1, k = argc + 2, l = argc + 3, m = argc + 4, n = argc + 5;
	asm volatile("" : "+r"(i), "+r"(j), "+r"(k), "+r"(l), "+r"(m), "+r"(n));
	try {
		never();
	} catch (int x) {
		asm volatile("" : "+r"(i), "+r"(j), "+r"(k), "+r"(l), "+r"(m), "+r"(n));
		printf("%d %d %d %d %d %d %d\n", x, i, j, k, l, m, n);
	}
}
X
for flags in -O1 -O2 "-O3 -fPIC"; do
	left_out "$flags" -O2 && continue
	instrumented n g++ $flags n.cpp
	runs_as_plain n
done
# A forked process touches what it needs of the table of threads, not all of it: recorded it has hardly more page faults.
cat >faults.c <<'X1'
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
int main(void)
{
	enum { CHILDREN = 10 };
	struct rusage r;
	for (int i = 0; i < CHILDREN; i++) {
		if (!fork())
			exit(0);
		wait(NULL);
	}
	getrusage(RUSAGE_CHILDREN, &r);
	printf("%ld\n", r.ru_minflt / CHILDREN);
	return 0;
}
X1
instrumented faults gcc -O2 faults.c
plain=$(./faults.plain) own=$("$TW" record -q -o faults.tw ./faults)
[ "$own" -lt $((plain + 300)) ] || fail "a forked process has $own page faults, $plain in the plain program"
# Handlers find their way through the stack: a frame's place stays in rbp while something else could be there. At -O0 they find it from wherever they interrupt code.
cat >frame.c <<'X'
#include <execinfo.h>
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>
static volatile long words[64];
static volatile int ticks, lost;
int main(void);
static void tick(int s)
{
	void *at[20];
	int n = backtrace(at, 20), found = 0;
	(void)s;
	for (int k = 0; k < n; k++)
		found |= (char *)at[k] > (char *)main && (char *)at[k] < (char *)main + 1000;
	lost += !found;
	ticks++;
}
__attribute__((noinline)) static long next(long n)
{
	return words[n & 63];
}
__attribute__((noinline)) static long sum(long n)
{
	long s = 0;
	for (long i = 0; i < n; i++) {
		words[i & 63] += i;
		s += words[i * 3 & 63];
	}
	return s + next(s);
}
int main(void)
{
	struct itimerval every = {{0, 1000}, {0, 1000}};
	signal(SIGALRM, tick);
	setitimer(ITIMER_REAL, &every, NULL);
	while (ticks < 50)
		sum(1000);
	signal(SIGALRM, SIG_IGN);
#ifdef __OPTIMIZE__
	lost = lost > ticks / 2;
#endif
	printf("%d\n", lost);
	return 0;
}
X
for how in "gcc -O0" "gcc -O1" "clang -O1"; do
	command -v "${how%% *}" >/dev/null || continue
	instrumented frame $how -fno-omit-frame-pointer frame.c
	runs_as_plain frame
done
# Where handlers return to, unwinders that do not look at its bytes find what it is.
readelf --debug-dump=frames frame 2>/dev/null | grep -q '"zRS"' || fail "nothing says that handlers come back to a signal's frame"
