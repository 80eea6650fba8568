# --batch: a routine within the program gets what a recording has, in C and C++ programs, static and shared, with threads, handlers and forks; the program does what it does without.
. "$(dirname "$0")/../cc.sh"
need_command gcc g++
cat >count.c <<'X'
#include <stdio.h>
#include <stdlib.h>
#include <trackway/analyzer.h>
extern int table[64];
struct sum {
	unsigned long insns, blocks, reads, writes, in_table;
};
static void *begin(void *arg)
{
	return arg ? NULL : calloc(1, sizeof(struct sum));
}
static int batch(void *state, const struct tw_batch *b)
{
	struct sum *s = state;
	const struct tw_ref *refs = tw_batch_refs(b);
	s->insns += b->n_insns;
	s->blocks += b->n_blocks - b->n_continued;
	s->reads += b->n_reads;
	s->writes += b->n_writes;
	for (size_t k = 0; k < b->n_refs; k++)
		s->in_table += b->addr[k] == refs[k].addr && refs[k].size == 4 && refs[k].addr - (uint64_t)table < sizeof(int[64]);
	return getenv("STOP") && b->n_refs ? 7 : 0;
}
static int merge(void *state, void *later)
{
	unsigned long *to = state, *from = later;
	for (size_t k = 0; k < sizeof(struct sum) / sizeof *to; k++)
		to[k] += from[k];
	free(later);
	return 0;
}
static int end(void *state, int error)
{
	const struct sum *s = state;
	if (!error)
		fprintf(stderr, "instructions %lu\nblocks %lu\nreads %lu\nwrites %lu\ntable %lu\n", s->insns, s->blocks, s->reads, s->writes, s->in_table);
	free(state);
	return 0;
}
static const struct tw_analyzer counter = {.name = "counter", .begin = begin, .batch = batch, .merge = merge, .end = end};
TW_PLUGIN(counter);
X
cat >p.c <<'X'
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int table[64];
static char from[5000], to[5000];
static double halves;
static void on_signal(int n)
{
	(void)n;
	for (volatile int i = 0; i < 50000; i++)
		;
}
static void *work(void *a)
{
	long n = (long)a, s = 0;
	double x = n;
	for (long i = 0; i < n; i++) {
		s += table[(s ^ i) & 63]++; /* a read and a write */
		x = x / 2 + 1;
	}
	__asm__ volatile("rep movsb" : : "S"(from), "D"(to), "c"(4321L) : "memory");
	halves = x;
	return (void *)s;
}
int main(int argc, char **argv)
{
	long n = argc > 1 ? atol(argv[1]) : 100, s = 0;
	pthread_t t[2];
	signal(SIGUSR1, on_signal);
	for (long i = 0; i < 2; i++) {
		pthread_create(&t[i], NULL, work, (void *)(n + i));
		pthread_join(t[i], NULL);
	}
	raise(SIGUSR1);
	s += (long)work((void *)n);
	printf("%ld %.9f\n", s, halves);
	return 3;
}
X
counts() { sort "$1"; }
recorded_counts() { "$TW" info recording.tw | awk '/^(instructions|blocks|  reads|  writes)/ { print $1, $2 }' | sort; }
for way in '-O2' '-O0' '-O2 -static' '-O3 -march=native -fPIC'; do
	gcc $way -pthread p.c -o p.plain || fail "$way: does not compile"
	"$TW" cc --batch=count.c gcc $way -pthread p.c -o p 2>compile.err || fail "$way: --batch: $(cat compile.err)"
	[ ! -s compile.err ] || fail "$way: says $(cat compile.err)"
	for n in 100 50000; do
		native ./p.plain $n
		run recorded.out counts ./p $n
		RECORDED_STATUS=$?
		: >recorded.err
		compare_runs "$way, $n"
		grep -qx "table $((6 * n + 2))" counts || fail "$way, $n: $(cat counts): not $((6 * n + 2)) references to the table"
		recorded ./p $n
		compare_runs "$way, $n, recorded" # not the routine, but the recording
		counts counts | grep -v table | cmp -s - <(recorded_counts) || {
			counts counts | diff - <(recorded_counts)
			fail "$way, $n: the routine is not given what is recorded"
		}
	done
	TRACKWAY=off ./p >off.out 2>off.err
	[ $? = 3 ] && [ ! -s off.err ] || fail "$way: with TRACKWAY=off: $(cat off.err)"
done

# It stops: the program goes on.
STOP=1 ./p 50000 >stopped.out 2>stopped.err
[ $? = 3 ] && cmp -s native.out stopped.out || fail "the program does not go on where the routine stops"
[ "$(cat stopped.err)" = "trackway: batch routine: it stopped with result 7" ] || fail "stopped: $(cat stopped.err)"

# Each process has answers of its own, a thread that still runs is in them.
cat >f.c <<'X'
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
int table[64];
static volatile int runs;
static void *run(void *a)
{
	for (int i = 0; i < 1000; i++)
		table[i & 63] = i;
	for (runs = 1;;)
		pause();
	return a;
}
int main(void)
{
	pthread_t t;
	if (!fork()) {
		for (int i = 0; i < 20; i++)
			table[i] = i;
		exit(0);
	}
	wait(NULL);
	pthread_create(&t, NULL, run, NULL);
	while (!runs)
		;
	return 0;
}
X
"$TW" cc --batch=count.c gcc -O1 -fno-tree-vectorize -pthread f.c -o f || fail "f.c: --batch"
./f 2>counts || fail "f: status $?"
grep table counts | tr '\n' ' ' | grep -qx 'table 20 table 1000 ' || fail "f: $(cat counts)"

# In a C++ program; compiled beforehand, in a shared library.
cat >q.cc <<'X'
#include <stdexcept>
#include <vector>
extern "C" {
int table[64];
}
static int at(unsigned k)
{
	if (k >= 64)
		throw std::out_of_range("table");
	return table[k];
}
int main()
{
	std::vector<int> v;
	for (unsigned k = 0; k < 100; k++)
		try {
			v.push_back(at(k));
		} catch (const std::out_of_range &) {
		}
	return v.size() != 64;
}
X
"$TW" cc --batch=count.c g++ -O0 q.cc -o q || fail "a C++ program"
./q 2>counts || fail "a C++ program: status $?"
grep -qx 'table 64' counts || fail "a C++ program: $(cat counts)"
gcc -fPIC -c -I"$ROOT/include" count.c -o count.o || fail "count.o"
cat >lib.c <<'X'
int table[64];
void fill(int n);
void fill(int n)
{
	for (int i = 0; i < n; i++)
		table[i & 63] = i;
}
X
printf 'void fill(int n);\nint main(void)\n{\n\tfill(777);\n\treturn 0;\n}\n' >user.c
"$TW" cc --batch=count.o gcc -O1 -fPIC -shared lib.c -o libfill.so || fail "a library"
gcc user.c -o user -L. -lfill -Wl,-rpath,"$PWD" && ./user 2>counts || fail "a library: status $?"
grep -qx 'table 777' counts || fail "a library: $(cat counts)"

# A thread forks while another one ends, and a signal comes: its handler runs when the process has forked, in the parent. What the program registers first is called last before a fork.
cat >ends.c <<'X'
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
int table[64]; /* which the routine asks for */
static sem_t end;
static volatile int handled, watched;
static void handle(int signal)
{
	handled += signal == SIGUSR1;
}
static void before(void)
{
	if (!watched)
		return;
	sem_post(&end);
	usleep(200000);
	raise(SIGUSR1);
}
__attribute__((constructor(50))) static void first(void)
{
	pthread_atfork(before, NULL, NULL);
}
static void *wait_and_end(void *unused)
{
	while (sem_wait(&end))
		;
	return unused;
}
static void *go(void *unused)
{
	int status = 0;
	watched = 1;
	pid_t child = fork();
	watched = 0;
	if (!child)
		_exit(3 + raise(SIGUSR1));
	while (waitpid(child, &status, 0) < 0)
		;
	printf("%x\n", status);
	return unused;
}
int main(void)
{
	pthread_t a, b;
	signal(SIGUSR1, handle);
	sem_init(&end, 0, 0);
	pthread_create(&a, NULL, wait_and_end, NULL);
	pthread_create(&b, NULL, go, NULL);
	pthread_join(b, NULL);
	pthread_join(a, NULL);
	printf("%d\n", handled);
	return 0;
}
X
gcc -w -pthread ends.c -o ends.plain && "$TW" cc --batch=count.c gcc -w -pthread ends.c -o ends || fail "ends.c"
./ends.plain >ends.wanted
timeout 60 ./ends >ends.out 2>/dev/null && cmp ends.wanted ends.out || fail "a thread that forks while another one ends: $(cat ends.out)"

# A library that is closed takes its routine with it: the routine answers, and later forks go on without.
cat >closes.c <<'X'
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>
static volatile int own[64];
static int work(int n)
{
	for (int i = 0; i < n; i++)
		own[i & 63] = i;
	return 3;
}
int main(void)
{
	int status = 0, bad = 0;
	void *l = dlopen("./libfill.so", RTLD_NOW);
	void (*fill)(int) = l ? (void (*)(int))dlsym(l, "fill") : 0;
	if (!fill)
		return 1;
	fill(555);
	dlclose(l);
	for (int k = 0; k < 2; k++) {
		pid_t child = fork();
		if (!child)
			_exit(work(100));
		bad |= waitpid(child, &status, 0) != child || status != 3 << 8;
	}
	return bad;
}
X
for compiler in "gcc -O1" "$TW cc gcc -O1"; do
	$compiler closes.c -o closes && ./closes 2>counts || fail "a library that is closed, $compiler: status $?"
	grep -qx 'table 555' counts || fail "a library that is closed, $compiler: $(cat counts)"
done

# What cannot be used is said.
one_sentence "$TW" cc --batch=nothing.c gcc p.c -o p
says 'nothing.c: No such file'
echo 'wrong' >wrong.c
! "$TW" cc --batch=wrong.c gcc p.c -o never 2>/dev/null && [ ! -e never ] || fail "a routine that does not compile"
sed 's/\.name = "counter"/.name = "counter", .needs = TW_NEEDS_NAMES/' count.c >needs.c
"$TW" cc --batch=needs.c gcc -pthread p.c -o p || fail "needs.c"
./p >needs.out 2>needs.err
[ $? = 3 ] && [ "$(cat needs.err)" = "trackway: batch routine: it needs names, which there are in recordings only" ] || fail "needs: $(cat needs.err)"
