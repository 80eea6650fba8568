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
orders = sorted(o["orders"].split(":")[0] for o in found["inversions"])
assert orders == ["a, then b", "b, then c", "c, then a"], orders
assert all("both locking.c:" in o["orders"] for o in found["inversions"])
END_OF_PYTHON
python3 compare.py || fail "locks differs from what the program does"
