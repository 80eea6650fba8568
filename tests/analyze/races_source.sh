# races: what tells that an access is atomic, where its instruction does not: a header that declares the variable, a macro, the name of a function; and what is told where the source is not known.
. "$(dirname "$0")/../lib.sh"
need_command python3
number() { python3 -c 'import json; print(json.load(open("found.json"))["found"])'; }

# found PROGRAM...: races of a program, into found.json
found() {
	rm -rf r.tw
	run out err "$TW" record -q --calls --order -o r.tw "$@" || fail "$*: $(cat err)"
	"$TW" analyze races --json r.tw >found.json 2>err || fail "analyze races: $(cat err)"
}

mkdir include source
cat >include/queue.h <<'END_OF_C'
#include <stdatomic.h>
struct place {
	long value;
	_Atomic unsigned stamp;
};
#define IS_FULL(p) (__atomic_load_n(&(p)->full, __ATOMIC_ACQUIRE))
#define FILL(p) __atomic_store_n(&(p)->full, 1, __ATOMIC_RELEASE)
struct box {
	long value;
	int full;
};
static inline int own_atomic_read(const volatile int *v)
{
	return *v;
}
static inline void own_atomic_set(volatile int *v, int to)
{
	*v = to;
}
END_OF_C
cat >source/queue.c <<'END_OF_C'
#include "queue.h"
#include <pthread.h>
#include <sched.h>
struct place places[4];
struct box box;
int named, bare;
long behind_name, behind_bare;
static void *put(void *a)
{
	for (unsigned i = 0; i < 40; i++) {
		struct place *p = &places[i % 4];
		while (p->stamp != 2 * (i / 4))
			sched_yield();
		p->value = i;
		atomic_store_explicit(&p->stamp, 2 * (i / 4) + 1, memory_order_release);
	}
	box.value = 7;
	FILL(&box);
	behind_name = 8;
	own_atomic_set(&named, 1);
#ifdef RACE
	behind_bare = 9;
	bare = 1;
#endif
	return a;
}
int main(void)
{
	pthread_t t;
	long sum = 0;
	pthread_create(&t, NULL, put, NULL);
	for (unsigned i = 0; i < 40; i++) {
		struct place *p = &places[i % 4];
		while (p->stamp != 2 * (i / 4) + 1)
			sched_yield();
		sum += p->value;
		atomic_store_explicit(&p->stamp, 2 * (i / 4) + 2, memory_order_release);
	}
	while (!IS_FULL(&box))
		sched_yield();
	sum += box.value;
	while (!own_atomic_read(&named))
		sched_yield();
	sum += behind_name;
#ifdef RACE
	for (unsigned i = 0; i < 100 && !*(volatile int *)&bare; i++)
		sched_yield();
	sum += behind_bare;
#endif
	pthread_join(t, NULL);
	return sum < 795;
}
END_OF_C
$CC -O1 -g -pthread -Iinclude -o right source/queue.c || fail "queue.c does not compile"
$CC -O1 -g -pthread -Iinclude -DRACE -o racy source/queue.c || fail "queue.c does not compile"
found ./right
[ "$(number)" = 0 ] || fail "what a header, a macro or a name says is atomic races: $(cat found.json)"
found ./racy
cat >objects.py <<'END_OF_PYTHON'
import json
print(*sorted({r["what"].split("+")[0] for r in json.load(open("found.json"))["races"] if r["part"] == "object"}))
END_OF_PYTHON
[ "$(python3 objects.py)" = "bare behind_bare" ] || fail "raced on are $(python3 objects.py), not bare and behind_bare"

# Without lines nothing tells: a load counts as atomic where locked instructions write what it reads, also later; what is told besides says that it may be atomic. What reads and writes at once is not atomic.
cc_program counted -g0 -pthread <<'END_OF_C'
#include <pthread.h>
#include <unistd.h>
int count, seen, bare;
static void *run(void *a)
{
	for (int i = 0; i < 10; i++) {
		seen += __atomic_load_n(&count, __ATOMIC_RELAXED) + i;
		__atomic_fetch_add(&count, 1, __ATOMIC_SEQ_CST);
	}
	__asm__ volatile("incl %0" : "+m"(bare));
	return a;
}
int main(void)
{
	pthread_t t;
	int sum = __atomic_load_n(&count, __ATOMIC_RELAXED);
	pthread_create(&t, NULL, run, NULL);
	while (__atomic_load_n(&count, __ATOMIC_RELAXED) < 10) /* else what main adds last could come before all of the thread's, and order it */
		usleep(100);
	__asm__ volatile("incl %0" : "+m"(bare));
	__atomic_fetch_add(&count, 1, __ATOMIC_SEQ_CST);
	pthread_join(t, NULL);
	return sum < 0 || bare != 2;
}
END_OF_C
found ./counted
[ "$(python3 objects.py)" = bare ] || fail "without lines raced on are $(python3 objects.py), not bare"
python3 -c 'import json; assert any(r["part"] == "unknown" and "-g" in r["what"] for r in json.load(open("found.json"))["races"])' || fail "not said that the source is not known"
