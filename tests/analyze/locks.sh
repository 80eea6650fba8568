# locks: how often locks were taken, refused and waited for is what the program itself counts; hold times; two orders that contradict each other, over a third lock too, and orders that
# do not.
. "$(dirname "$0")/../lib.sh"
need_command python3
cc_program locking -pthread <<'END_OF_C'
#include <pthread.h>
#include <semaphore.h>
#include <unistd.h>
pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER, c = PTHREAD_MUTEX_INITIALIZER, d = PTHREAD_MUTEX_INITIALIZER;
pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER;
static sem_t held;
static void *waiter(void *arg)
{
	sem_wait(&held);
	if (pthread_mutex_trylock(&a) == 0)
		return NULL;
	pthread_mutex_lock(&a);
	pthread_mutex_unlock(&a);
	return arg;
}
static void both(pthread_mutex_t *x, pthread_mutex_t *y)
{
	pthread_mutex_lock(x);
	pthread_mutex_lock(y);
	pthread_mutex_unlock(y);
	pthread_mutex_unlock(x);
}
int main(void)
{
	pthread_t t;
	sem_init(&held, 0, 0);
	pthread_mutex_lock(&a);
	pthread_create(&t, NULL, waiter, &t);
	sem_post(&held);
	usleep(100000);
	pthread_mutex_unlock(&a);
	pthread_join(t, NULL);
	for (int i = 0; i < 10; i++) {
		pthread_rwlock_rdlock(&rw);
		pthread_rwlock_rdlock(&rw);
		pthread_rwlock_unlock(&rw);
		pthread_rwlock_unlock(&rw);
	}
	both(&a, &b);
	both(&b, &c);
	both(&c, &a);
	both(&a, &d);
	both(&a, &d);
	return 0;
}
END_OF_C
run out err "$TW" record -q --calls -o locking.tw ./locking || fail "locking: $(cat err)"
"$TW" analyze locks --json locking.tw >found.json || fail "analyze locks"
cat >compare.py <<'END_OF_PYTHON'
import json
found = json.load(open("found.json"))
locks = {l["lock"]: l for l in found["locks"]}
assert [locks[x]["taken"] for x in "abcd"] == [6, 2, 2, 2], locks
assert locks["a"]["refused"] == 1 and locks["a"]["longest_hold"] >= 100000000, locks["a"]
assert locks["a"]["waited"] <= 1 and all(locks[x]["waited"] == 0 for x in ("b", "c", "d", "rw")), locks
assert locks["a"]["wait_ns"] == locks["a"]["longest_wait"] and locks["rw"]["taken"] == 10, locks
longest = {(l["what"], l["lock"]): l for l in found["longest"]}
held = longest["held", "a"]
assert held["ns"] == locks["a"]["longest_hold"] and held["thread"] == 0 and held["path"].startswith("main locking.c:"), held
assert all("both locking.c:" in longest["held", x]["path"] for x in ("b", "c", "d")), longest
assert ("waited", "a") in longest if locks["a"]["waited"] else ("waited", "a") not in longest, longest
if locks["a"]["waited"]:
    waited = longest["waited", "a"]
    assert waited["ns"] == locks["a"]["wait_ns"] and waited["thread"] == 1 and waited["path"].startswith("waiter locking.c:"), waited
orders = sorted(o["orders"].split(":")[0] for o in found["inversions"])
assert orders == ["a, then b", "b, then c", "c, then a"], orders
assert all("both locking.c:" in o["orders"] for o in found["inversions"])
END_OF_PYTHON
python3 compare.py || fail "locks differs from what the program does"

# Calls that give up, at once or after a time, take nothing; those that come through do.
cc_program tries -pthread -D_GNU_SOURCE <<'END_OF_C'
#include <pthread.h>
#include <threads.h>
#include <time.h>
pthread_mutex_t tried = PTHREAD_MUTEX_INITIALIZER, timed = PTHREAD_MUTEX_INITIALIZER, clocked = PTHREAD_MUTEX_INITIALIZER;
pthread_rwlock_t rw_tried = PTHREAD_RWLOCK_INITIALIZER, rw_timed = PTHREAD_RWLOCK_INITIALIZER, rw_clocked = PTHREAD_RWLOCK_INITIALIZER;
pthread_spinlock_t spin;
mtx_t c11_tried, c11_timed;
static void *tries(void *arg)
{
	struct timespec t, m;
	int n = 0;
	clock_gettime(CLOCK_REALTIME, &t);
	clock_gettime(CLOCK_MONOTONIC, &m);
	n += !pthread_mutex_trylock(&tried);
	n += !pthread_mutex_timedlock(&timed, &t);
	n += !pthread_mutex_clocklock(&clocked, CLOCK_MONOTONIC, &m);
	n += !pthread_rwlock_tryrdlock(&rw_tried);
	n += !pthread_rwlock_trywrlock(&rw_tried);
	n += !pthread_rwlock_timedrdlock(&rw_timed, &t);
	n += !pthread_rwlock_timedwrlock(&rw_timed, &t);
	n += !pthread_rwlock_clockrdlock(&rw_clocked, CLOCK_MONOTONIC, &m);
	n += !pthread_rwlock_clockwrlock(&rw_clocked, CLOCK_MONOTONIC, &m);
	n += !pthread_spin_trylock(&spin);
	n += mtx_trylock(&c11_tried) == thrd_success;
	n += mtx_timedlock(&c11_timed, &t) == thrd_success;
	*(int *)arg = n;
	return NULL;
}
int main(void)
{
	pthread_t t;
	int in_vain, taken;
	pthread_spin_init(&spin, 0);
	mtx_init(&c11_tried, mtx_plain);
	mtx_init(&c11_timed, mtx_timed);
	pthread_mutex_lock(&tried), pthread_mutex_lock(&timed), pthread_mutex_lock(&clocked);
	pthread_rwlock_wrlock(&rw_tried), pthread_rwlock_wrlock(&rw_timed), pthread_rwlock_wrlock(&rw_clocked);
	pthread_spin_lock(&spin), mtx_lock(&c11_tried), mtx_lock(&c11_timed);
	pthread_create(&t, NULL, tries, &in_vain);
	pthread_join(t, NULL);
	pthread_mutex_unlock(&tried), pthread_mutex_unlock(&timed), pthread_mutex_unlock(&clocked);
	pthread_rwlock_unlock(&rw_tried), pthread_rwlock_unlock(&rw_timed), pthread_rwlock_unlock(&rw_clocked);
	pthread_spin_unlock(&spin), mtx_unlock(&c11_tried), mtx_unlock(&c11_timed);
	tries(&taken); /* of each rwlock only the first: it is held for reading then */
	return in_vain != 0 || taken != 9;
}
END_OF_C
run out err "$TW" record -q --calls -o tries.tw ./tries || fail "tries: $(cat err)"
"$TW" analyze locks --json tries.tw | python3 -c '
import json, sys
locks = {l["lock"]: (l["taken"], l["refused"]) for l in json.load(sys.stdin)["locks"]}
for name in "tried", "timed", "clocked", "spin", "c11_tried", "c11_timed":
    assert locks[name] == (2, 1), (name, locks)
for name in "rw_tried", "rw_timed", "rw_clocked":
    assert locks[name] == (2, 3), (name, locks)' || fail "what was refused counts as taken"
