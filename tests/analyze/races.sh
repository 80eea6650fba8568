# races: of 154 small programs with a race each is found, on the variable that is raced on; of 235 without one none is told. They are in tests/races: pthreads, C11, atomics with each order,
# lock-free structures, OpenMP, C++, processes that share memory; all of them with TW_FULL=1, else twenty. Which variable it is the programs themselves say. A race comes with both accesses, paths, locks; suppressions, --range, --hybrid; on-line as from the recording.
# timeout: 600
. "$(dirname "$0")/../lib.sh"
need_command python3
$CC -O1 -g -Wall -pthread -o threads "$ROOT/tests/races/threads.c" || fail "threads.c does not compile"
cat >judge.py <<'END_OF_PYTHON'
import json, re, sys
program, name, wanted = sys.argv[1:]
found = json.load(open("found.json"))
objects = {re.split(r"[.[+]", r["what"])[0] for r in found["races"] if r["part"] == "object"}
if wanted == "-":
    assert not objects, (name, found["races"])
else:
    assert wanted in objects or (wanted == "*" and objects), (name, wanted, objects)
    accesses = [r for r in found["races"] if r["part"].split()[-1] in ("read", "write")]
    assert len(accesses) == 2 * found["found"] and all(r["what"] for r in accesses), accesses
    assert "task" in name or program == "tasks" or all(a["thread"] != b["thread"] for a, b in zip(accesses[::2], accesses[1::2])), accesses
END_OF_PYTHON

# judge PROGRAM NAME...: these of the functions of a program that is built; all with TW_FULL=1
judge() {
	local program=$1 name object
	shift
	while read -r name object; do
		[ "${TW_FULL:-0}" = 1 ] || [[ " $* " = *" $name "* ]] || continue
		run out err "$TW" record -q --calls --order --names=later -o r.tw "./$program" "$name" || fail "$name, recorded: $(cat err)"
		"$TW" analyze races --json r.tw >found.json 2>err || fail "$name: $(cat err)"
		python3 judge.py "$program" "$name" "$object" || fail "$name"
		rm -rf r.tw r.tw.old
	done < <("./$program" --list)
}

# all_of PROGRAM FLAGS NAME...: builds it from tests/races; not where there is nothing to judge
all_of() {
	local program=$1 flags=$2
	shift 2
	[ "${TW_FULL:-0}" = 1 ] || [ $# -gt 0 ] || return 0
	$CC -O1 -g -Wall $flags -o "$program" "$ROOT/tests/races/$program.c" || fail "$program.c does not compile"
	judge "$program" "$@"
}
all_of threads -pthread lent_thread_local one_side_locks kernel_reads condition
all_of lockfree -pthread too_early questions three_in_a_row
all_of orders -pthread headless_sequence hazard_pointer
all_of processes -pthread fork_counter fork_mutex cloned_writers cloned_counter
all_of kernel -pthread
all_of patterns -pthread
if $CC -O1 -g -Wall -fopenmp -o openmp "$ROOT/tests/races/openmp.c" 2>err && ldd openmp | grep -q libgomp; then
	judge openmp omp_nowait omp_depend omp_task_included omp_taskloop_alone omp_reduced_by_exchange omp_reduced_in_function omp_atomic_in_two_lines
	all_of loops -fopenmp
	all_of tasks -fopenmp long_chain same_code_half_awaited groups fulfilled
	all_of sharing -fopenmp
else
	untested "races in OpenMP: $CC has no libgomp"
fi
if command -v g++ >/dev/null && g++ -O1 -g -std=c++17 -pthread -o cxx "$ROOT/tests/races/cxx.cc" 2>err; then
	judge cxx cxx_relaxed cxx_future
else
	untested "races in C++: there is no g++"
fi
if [ "${TW_FULL:-0}" != 1 ]; then
	untested "races in C++20, patterns of locks, loops: with TW_FULL=1"
elif command -v g++ >/dev/null && g++ -O1 -g -std=c++20 -pthread -o cxx20 "$ROOT/tests/races/cxx20.cc" 2>err; then
	judge cxx20
else
	untested "races in C++20: there is no g++ that has it"
fi

# What is told of one, and how it is left out.
run out err "$TW" record -q --calls --order -o r.tw ./threads different_locks
"$TW" analyze races --json r.tw >found.json || fail "analyze races"
cat >told.py <<'END_OF_PYTHON'
import json
races = json.load(open("found.json"))["races"]
assert {r["what"] for r in races if r["part"] == "holding"} == {"m1", "m2"}, races
assert {r["what"] for r in races if r["part"] == "object"} == {"other_lock"}, races
paths = [r["what"] for r in races if r["part"] in ("read", "write")]
assert len(paths) >= 2 and all("threads.c:" in p for p in paths), paths
assert {p.split()[0] for p in paths} == {"by_m1", "by_m2"}, paths
END_OF_PYTHON
python3 told.py || fail "what is told of a race"
number() { python3 -c 'import json; print(json.load(open("found.json"))["found"])'; }
for rule in 'function:by_m?' 'object:other_*' 'file:threads.c' 'module:threads'; do
	printf '# these are known\n%s\n' "$rule" >rules
	"$TW" analyze races --suppressions rules --json r.tw >found.json || fail "--suppressions"
	[ "$(number)" = 0 ] || fail "$rule does not suppress"
done
echo nonsense >rules
one_sentence "$TW" analyze races --suppressions rules r.tw
says 'function:, file:, module: or object:'
"$TW" analyze races --range half --json r.tw >found.json || fail "--range"
[ "$(number)" = 0 ] || fail "--range half has a race on another variable"
"$TW" analyze races --range other_lock --json r.tw >found.json || fail "--range"
[ "$(number)" -gt 0 ] || fail "--range other_lock does not have its race"

# What the C library copies for a stream is the stream's; where it copies from, and what sprintf writes, is the program's. Its functions that copy have names only in its debug symbols.
cc_program copied -pthread <<'END_OF_C'
#include <pthread.h>
#include <stdio.h>
char text[] = "a line that is long enough to be copied at once\n", formatted[128];
static void *print(void *a)
{
	fwrite(text, 1, sizeof text - 1, stdout);
	fflush(stdout);
	snprintf(formatted, sizeof formatted, "%s: %s", "of both threads", "another that is as long as that one");
	if (a)
		text[2] = 'L';
	return a;
}
int main(void)
{
	pthread_t a, b;
	pthread_create(&a, NULL, print, NULL);
	pthread_create(&b, NULL, print, &b);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	return 0;
}
END_OF_C
run out err "$TW" record -q --calls -o copied.tw ./copied || fail "copied: $(cat err)"
"$TW" analyze races --json copied.tw >found.json || fail "copied"
cat >copied.py <<'END_OF_PYTHON'
import json, re
found = {re.split(r"[.[+]", r["what"])[0] for r in json.load(open("found.json"))["races"] if r["part"] == "object"}
print(*sorted(found))
END_OF_PYTHON
if "$TW" report --json copied.tw 2>err | grep -qE '"__mem[a-z]*_(sse|ssse|avx|evex|erms)'; then
	[ "$(python3 copied.py)" = "formatted text" ] || fail "races in what is copied: $(python3 copied.py)"
else
	untested "races in what the C library copies: its functions have no names"
	[ -z "$(python3 copied.py)" ] || fail "races in what is copied: $(python3 copied.py)"
fi

# An order that hid the race: both threads lock something else around it.
cc_program hidden -pthread <<'END_OF_C'
#include <pthread.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, done = PTHREAD_MUTEX_INITIALIZER;
int unprotected, turn;
static void *first(void *a)
{
	unprotected++;
	pthread_mutex_lock(&lock);
	pthread_mutex_unlock(&lock);
	__atomic_store_n(&turn, 1, __ATOMIC_RELAXED);
	return a;
}
static void *second(void *a)
{
	while (!__atomic_load_n(&turn, __ATOMIC_RELAXED))
		;
	pthread_mutex_lock(&lock);
	pthread_mutex_unlock(&lock);
	unprotected++;
	return a;
}
int main(void)
{
	pthread_t a, b;
	pthread_create(&a, NULL, first, NULL);
	pthread_create(&b, NULL, second, NULL);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	return pthread_mutex_lock(&done);
}
END_OF_C
run out err "$TW" record -q --with=races,json,output=live.json --calls -o h.tw ./hidden || fail "record --with=races: $(cat err)"
"$TW" analyze races --json h.tw >found.json || fail "analyze races"
cmp found.json live.json || fail "on-line another answer"
[ "$(number)" = 0 ] || fail "the order of locks does not count"
"$TW" analyze races --hybrid --json h.tw >found.json || fail "--hybrid"
[ "$(number)" -gt 0 ] || fail "--hybrid does not find what the order of locks hid"

# A lock of its own, by option.
cc_program own -pthread <<'END_OF_C'
#include <pthread.h>
#include <semaphore.h>
static sem_t s;
int value;
void __attribute__((noipa)) my_lock(sem_t *x) { char c; __asm__ volatile("1: lock btsl $0, %0; jc 1b" : "+m"(*(int *)x), "=@ccc"(c) : : "memory"); }
void __attribute__((noipa)) my_unlock(sem_t *x) { __asm__ volatile("movl $0, %0" : "=m"(*(int *)x) : : "memory"); }
static void *run(void *a)
{
	my_lock(&s);
	value++;
	my_unlock(&s);
	return a;
}
int main(void)
{
	pthread_t a, b;
	pthread_create(&a, NULL, run, NULL);
	pthread_create(&b, NULL, run, NULL);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	return value != 2;
}
END_OF_C
run out err "$TW" record -q --calls=my_lock,my_unlock -o own.tw ./own || fail "own"
"$TW" analyze races --hybrid --lock my_lock --unlock my_unlock --json own.tw >found.json || fail "--lock"
[ "$(number)" = 0 ] || fail "a lock by option is none"
one_sentence "$TW" analyze races --lock another own.tw
says 'record with --calls=another'
one_sentence "$TW" analyze races "$(run out err "$TW" record -q -o without.tw ./own; echo without.tw)"
says 'record with --calls'

# Without time stamps a race that atomic instructions may have ordered in another way than they are looked at is only possible, and says so: here by a variable that is read before what it may hand over;
# one that is written behind the last atomic store, and one that only threads without atomic variables race on, are races. Who reads the variable may tell by a lock what that handed over; not who is told before.
cc_program possible -O1 -g -pthread <<'END_OF_C'
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>
_Atomic int flag;
int handed, later, plain, seen, before, behind;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static void touch_lock(void)
{
	pthread_mutex_lock(&m);
	pthread_mutex_unlock(&m);
}
static void *gives(void *arg)
{
	usleep(200000);
	handed = before = behind = 1;
	atomic_store(&flag, 1);
	later = 1;
	return arg;
}
static void *takes(void *arg)
{
	seen = atomic_load(&flag);
	seen += handed;
	seen += later;
	touch_lock();
	return arg;
}
static void *is_told(void *arg)
{
	usleep(100000);
	volatile int seen_before = before;
	touch_lock();
	volatile int seen_behind = behind;
	return seen_before + seen_behind > 2 ? NULL : arg;
}
static void *writes(void *arg)
{
	plain = 1;
	return arg;
}
int main(void)
{
	pthread_t t[5];
	void *(*run[])(void *) = {gives, takes, writes, writes, is_told};
	for (int i = 0; i < 5; i++)
		pthread_create(&t[i], NULL, run[i], NULL);
	for (int i = 0; i < 5; i++)
		pthread_join(t[i], NULL);
	return 0;
}
END_OF_C
run out err "$TW" record -q --calls -o possible.tw ./possible || fail "record ./possible: $(cat err)"
"$TW" analyze races --json possible.tw >found.json && "$TW" analyze races possible.tw >found && "$TW" analyze races --csv possible.tw >found.csv || fail "analyze races without --order"
python3 -c '
import json
found = json.load(open("found.json"))
objects = {r["race"]: r["what"] for r in found["races"] if r["part"] == "object"}
possible = [objects[r["race"]] for r in found["races"] if r["part"] == "possible"]
assert sorted(objects.values()) == ["before", "behind", "handed", "later", "plain"], objects
assert sorted(possible) == ["behind", "handed"] and found["possible"] == 2 and found["found"] == 5, found' || fail "which races are only possible"
grep -q ' possible ' found && [ "$(grep -c ',possible,' found.csv)" = 2 ] || fail "possible, in text and CSV"
run out err "$TW" record -q --calls --order -o stamped.tw ./possible || fail "record --order ./possible: $(cat err)"
"$TW" analyze races --json stamped.tw | python3 -c '
import json, re, sys
found = json.load(sys.stdin)
assert found["possible"] == 0 and found["found"] == 5, found' || fail "with time stamps no race is only possible"
