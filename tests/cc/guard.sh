# --full=guard: buffers that end where nothing can be written. The same is recorded as where code looks, and the program's own faults are its own.
# timeout: 120
. "$(dirname "$0")/../cc.sh"
need_command gcc setarch python3
# Several buffers of it, all filled in loops: records of 2 to some 250 bytes, counted loops, registers that are borrowed.
cat >a.c <<'X'
#include <stdio.h>
#include <stdlib.h>
struct node { struct node *next; long v[4]; };
static struct node *list;
static int *table[64];
static long data[64];
__attribute__((noinline)) static long chase(int n)
{
	long s = 0;
	for (const struct node *p = list; n > 0; n--) {
		p = p->next;
		s += p->v[n & 3];
	}
	return s;
}
__attribute__((noinline)) static long many(int n)
{
	long s = 0;
	for (int k = 0; k < n; k++) {
		int **t = table + (k & 15);
		s += *t[0] + *t[1] + *t[2] + *t[3] + *t[4] + *t[5] + *t[6] + *t[7] + *t[8] + *t[9] + *t[10] + *t[11] + *t[12] + *t[13] + *t[14] + *t[15];
	}
	return s;
}
/* Counted loops, in a loop. */
__attribute__((noinline)) static long sums(int n)
{
	long s = 0;
	for (int k = 0; k < n; k++)
		for (int m = 0; m < 8; m++)
			s += data[(k & 7) + m] + k;
	return s;
}
__attribute__((noinline)) static long recurse(int n, long *p)
{
	return n ? *p + recurse(n - 1, data + (n & 63)) : 1;
}
/* All registers are in use. */
__attribute__((noinline)) static long wide(const long *p, int n)
{
	long a = 1, b = 2, c = 3, d = 4, e = 5, f = 6, g = 7, h = 8, i = 9, j = 10;
	for (int k = 0; k < n; k++) {
		a += p[b & 31], b += a ^ c, c += p[d & 15], d += c + e, e ^= f, f += p[g & 31], g += h - a, h += p[i & 63], i += j, j ^= p[a & 7];
		if (a & 1)
			b ^= p[k & 63];
	}
	return a ^ b ^ c ^ d ^ e ^ f ^ g ^ h ^ i ^ j;
}
int main(void)
{
	static struct node n[97];
	static int v[64];
	long s = 0;
	for (int k = 0; k < 97; k++) {
		n[k].next = &n[(k * 31 + 7) % 97];
		n[k].v[k & 3] = k;
	}
	for (int k = 0; k < 64; k++) {
		table[k] = &v[(k * 37) & 63];
		v[k] = k;
		data[k] = k * k;
	}
	list = n;
	for (int k = 0; k < 6; k++)
		s += chase(40000) + many(5000) + sums(20000) + recurse(3000, data) + wide(data, 20000);
	printf("%ld\n", s);
	return s & 63;
}
X
totals() { "$TW" info "$1" | awk '/^(instructions|blocks|references|  reads|  writes)/ { print $1, $2 }'; }
ways=('gcc -O2 -no-pie' 'gcc -O0 -no-pie' 'gcc -O2 -fPIC -pie')
command -v clang-14 >/dev/null && ways+=('clang-14 -O2 -no-pie')
for way in "${ways[@]}"; do
	left_out "$way" 'gcc -O2 -fPIC -pie' 'clang-14 -O2 -no-pie' && continue
	instrumented a $way a.c
	recorded ./a
	totals recording.tw >looked
	CC_OPTIONS=--full=guard instrumented a $way a.c
	runs_as_plain a
	totals recording.tw | cmp -s looked - || {
		totals recording.tw | diff looked -
		fail "$way: with a guard something else is recorded"
	}
	[ "$("$TW" info recording.tw | awk '/^bytes written/ { print $3 }')" -gt 1100000 ] || fail "$way: it fits into one buffer"
	rm -rf recording.tw
	"$TW" record -q --sink=count -o recording.tw ./a >/dev/null
	[[ $way = *O0* ]] || totals recording.tw | cmp -s looked - || fail "$way: counted, something else is recorded"
	[ "$way" != 'gcc -O2 -no-pie' ] || same_as_engine a
done

# Faults of its own, and signals that are blocked: as without instrumentation. Handlers fill buffers, too.
cat >s.c <<'X'
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
static long data[64];
static int *volatile nowhere;
static sigjmp_buf back;
static volatile sig_atomic_t handled, on_own_stack;
static char *stack, *page;
/* More than a buffer, without a function in between. */
__attribute__((noinline)) static long fill(int n)
{
	long s = 0, *p = data;
	for (int k = 0; k < n; k++) {
		s += *p;
		p = data + ((s + k) & 63);
	}
	return s;
}
static void leave(int number)
{
	char here;
	handled++;
	on_own_stack = &here >= stack && &here < stack + 65536;
	fill(1000);
	siglongjmp(back, number);
}
static void filling(int number)
{
	handled += number == SIGUSR1 && fill(150000) >= 0;
}
static void repair(int number, siginfo_t *info, void *context)
{
	(void)context;
	handled += number == SIGSEGV && info->si_addr == page;
	fill(500);
	mprotect(page, 4096, PROT_READ | PROT_WRITE);
}
static void set(int number, void (*handler)(int), int flags)
{
	struct sigaction act = {.sa_handler = handler, .sa_flags = flags}, old;
	sigfillset(&act.sa_mask);
	sigaction(number, &act, NULL);
	sigaction(number, NULL, &old);
	printf("%d %d %d\n", old.sa_handler == handler, (old.sa_flags & flags) == flags, sigismember(&old.sa_mask, SIGSEGV));
}
static void *work(void *n)
{
	sigset_t all, now;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, NULL);
	long s = fill(300000);
	pthread_sigmask(SIG_SETMASK, NULL, &now);
	printf("blocked %d\n", sigismember(&now, SIGSEGV));
	return (void *)(s + (long)n);
}
static int child(void (*run)(void))
{
	int status;
	fflush(stdout);
	const pid_t pid = fork();
	if (!pid) {
		run();
		_exit(0);
	}
	waitpid(pid, &status, 0);
	return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}
static void die(void)
{
	signal(SIGSEGV, SIG_DFL);
	fill(200000);
	*nowhere = 1;
}
static void kill_self(void)
{
	signal(SIGSEGV, SIG_DFL);
	raise(SIGSEGV);
}
static void ignore(void)
{
	signal(SIGSEGV, SIG_IGN);
	raise(SIGSEGV);
	_exit(fill(200000) >= 0 ? 7 : 8);
}
int main(void)
{
	sigset_t set_of, old;
	stack_t own = {.ss_size = 65536}, was;
	pthread_t t;
	void *result;
	for (int k = 0; k < 64; k++)
		data[k] = k * 7;
	page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	set(SIGSEGV, leave, 0);
	if (!sigsetjmp(back, 1))
		*nowhere = 1;
	printf("left %d\n", handled);
	sigaltstack(NULL, &was);
	printf("no stack %d\n", was.ss_flags == SS_DISABLE);
	own.ss_sp = stack = malloc(own.ss_size);
	sigaltstack(&own, NULL);
	set(SIGSEGV, leave, SA_ONSTACK);
	if (!sigsetjmp(back, 1))
		*nowhere = 1;
	printf("left %d, on its own stack %d\n", handled, on_own_stack);
	struct sigaction act = {.sa_sigaction = repair, .sa_flags = SA_SIGINFO};
	sigaction(SIGSEGV, &act, NULL);
	*page = 1;
	printf("repaired %d\n", handled);
	set(SIGUSR1, filling, 0);
	raise(SIGUSR1);
	sigemptyset(&set_of);
	sigaddset(&set_of, SIGSEGV);
	sigprocmask(SIG_BLOCK, &set_of, &old);
	printf("%ld, before %d\n", fill(400000), sigismember(&old, SIGSEGV));
	sigprocmask(SIG_SETMASK, &old, &set_of);
	printf("blocked %d\n", sigismember(&set_of, SIGSEGV));
	sigfillset(&set_of);
	sigdelset(&set_of, SIGALRM);
	set(SIGALRM, filling, 0);
	alarm(1);
	sigsuspend(&set_of);
	pthread_create(&t, NULL, work, (void *)5L);
	pthread_join(t, &result);
	printf("%ld %d\n", (long)result, handled);
	printf("%d %d %d\n", child(die), child(kill_self), child(ignore));
	fflush(stdout);
	signal(SIGSEGV, SIG_DFL);
	fill(100000);
	*nowhere = 2;
	return 0;
}
X
ulimit -c 0
for way in 'gcc -O2 -no-pie' 'gcc -O1 -fPIC -pie -static' 'gcc -O0'; do
	left_out "$way" 'gcc -O0' && continue
	CC_OPTIONS=--full=guard instrumented s $way -pthread s.c
	runs_as_plain s
done

# A library that is closed again. A link without it is refused; so is another way.
cat >l.c <<'X'
long sum(const long *p, int n)
{
	long s = 0;
	for (int k = 0; k < n; k++)
		s += p[(s + k) & 7];
	return s;
}
X
cat >m.c <<'X'
#include <dlfcn.h>
#include <stdio.h>
int main(void)
{
	static const long v[8] = {1, 2, 3, 4, 5, 6, 7, 8};
	long s = 0;
	for (int k = 0; k < 3; k++) {
		void *l = dlopen("./l.so", RTLD_NOW);
		long (*sum)(const long *, int) = l ? (long (*)(const long *, int))dlsym(l, "sum") : 0;
		s += sum ? sum(v, 300000) : 0;
		if (l)
			dlclose(l);
	}
	printf("%ld\n", s);
	return s & 31;
}
X
CC_OPTIONS=--full=guard instrumented l.so gcc -O2 -shared -fPIC l.c
for options in '' --full=guard; do
	CC_OPTIONS=$options instrumented m gcc -O2 m.c
	rm -f l.so.both && mv l.so l.so.both && cp l.so.plain l.so && native ./m.plain && mv l.so.both l.so
	recorded ./m
	compare_runs "a library, the program $options"
	check_good
done
"$TW" cc --full=guard gcc -O1 -c m.c -o m.o && "$TW" cc gcc m.o -o m 2>link.err && fail "it is linked without its handler"
grep -q trackway_cc_guard link.err || fail "a link without --full=guard: $(cat link.err)"
one_sentence "$TW" cc --full=often gcc -c m.c
says 'check or guard'
