# What a process executes with execve is another program: its memory, branches, locks and cache lines are not those of the one before, though the process's number and the addresses are the same.
# footprint, deps, branches, locks, cache, races; two programs of one source, at fixed addresses.
. "$(dirname "$0")/../lib.sh"
need_command python3
cat >program.c <<'END'
#include <pthread.h>
#include <sched.h>
#include <unistd.h>
int VARIABLE;
static volatile char table[256 << 10];
static pthread_mutex_t LOCK = PTHREAD_MUTEX_INITIALIZER;
static volatile int running;
static void *detached(void *a)
{
	VARIABLE = 1;
	__atomic_store_n(&running, 1, __ATOMIC_RELAXED);
	for (;;)
		pause();
	return a;
}
static void __attribute__((noipa)) FUNCTION(int n)
{
	for (int i = 0; i < n; i++)
		pthread_mutex_lock(&LOCK), pthread_mutex_unlock(&LOCK);
	for (unsigned i = 0; i < sizeof table; i += 64)
		table[i]++;
}
int main(int argc, char **argv)
{
	pthread_t t;
	FUNCTION(argc > 1 ? 3 : 5);
	if (argc < 2)
		return __atomic_load_n(&running, __ATOMIC_RELAXED) + VARIABLE;
	if (pthread_create(&t, NULL, detached, NULL))
		return 1;
	while (!__atomic_load_n(&running, __ATOMIC_RELAXED))
		sched_yield();
	execv(argv[1], argv + 1);
	return 1;
}
END
for name in first second; do
	"$CC" -O1 -g -no-pie -fno-pie -pthread -DFUNCTION=${name}_function -DLOCK=${name}_lock -DVARIABLE=${name}_variable -o $name program.c || fail "program.c"
done
[ "$(nm first | sort | sed 's/first/second/')" = "$(nm second | sort)" ] || fail "the two have not the same addresses"
run out err "$TW" record -q --calls --order --with=footprint,json,output=footprint.live --with=branches,json,output=branches.live -o two.tw ./first ./second ||
	fail "record: $(cat err)"
run out err "$TW" record -q --calls -o one.tw ./second || fail "record: $(cat err)"
for name in footprint branches locks deps cache races; do
	options=()
	[ $name = cache ] && options=(--l1 1m:16 --l2 4m:16)
	"$TW" analyze $name --json "${options[@]}" two.tw >$name.json 2>err || fail "analyze $name: $(cat err)"
	"$TW" analyze $name --json "${options[@]}" one.tw >$name.one 2>err || fail "analyze $name: $(cat err)"
done
cmp footprint.json footprint.live || fail "footprint: another answer on-line"
cmp branches.json branches.live || fail "branches: another answer on-line"
cat >judge.py <<'END'
import json
def of(name, kind="json"):
    return json.load(open(name + "." + kind))
def by(key, rows):
    return {r[key]: r for r in rows}
two, one = of("footprint"), of("footprint", "one")
mappings = by("mapping", two["mappings"])
assert mappings["first"]["lines"] > 4096 and mappings["second"]["lines"] > 4096, mappings
assert two["lines"] > 1.8 * one["lines"] and two["pages"] > 1.8 * one["pages"], two
loops = {name: sorted(b["executions"] for b in of("branches")["branches"] if b["place"].startswith(name + "_function ")) for name in ("first", "second")}
assert loops == {"first": [1, 3, 4096], "second": [1, 5, 4096]}, loops
locks = by("lock", of("locks")["locks"])
assert (locks["first_lock"]["taken"], locks["second_lock"]["taken"]) == (3, 5), locks
last = [r["last_misses"] for r in of("cache")["objects"] if r["object"] == "table"]
assert len(last) == 2 and min(last) >= 4096, last
assert of("races")["found"] == 0, of("races")["races"]
stores = [d for d in of("deps")["dependences"] if "first_" in d["store"] and "second_" in d["load"]]
assert not stores, stores
END
python3 judge.py || fail "two programs are mixed up"

# A thread that ends, and is heard of, before the one that the program began with has filled a buffer.
cc_program third -O1 -g -no-pie -fno-pie -pthread <<'END'
#include <pthread.h>
#include <unistd.h>
static volatile char table[256 << 10];
static void *touch(void *a)
{
	for (unsigned i = 0; i < sizeof table; i += 64)
		table[i]++;
	return a;
}
int main(void)
{
	pthread_t t;
	if (pthread_create(&t, NULL, touch, NULL) || pthread_join(t, NULL))
		return 1;
	usleep(200000);
	return touch(NULL) != NULL;
}
END
run out err "$TW" record -q --with=footprint,json,output=footprint.live -o third.tw sh -c 'exec ./third' || fail "record: $(cat err)"
"$TW" analyze footprint --json third.tw >footprint.json || fail "analyze footprint"
cmp footprint.json footprint.live || fail "footprint: another answer on-line where a thread ends early"

# Also of many that execute another at once, where all run on one processor, and the second of a process has ended before anybody looks at the first.
need_command taskset
one=$(taskset -pc $$ | sed 's/.*: //; s/[-,].*//')
cat >many.sh <<'END'
for i in 1 2 3 4 5 6; do
	(exec true) &
	(exec false) &
done
wait
END
for round in 1 2; do # the first translates: the others are too fast to be looked at in between
	rm -rf many.tw
	taskset -c "$one" "$TW" record -q --with=footprint,json,output=footprint.live --with=branches,json,output=branches.live -o many.tw bash ./many.sh || fail "record many.sh"
	for name in footprint branches; do
		"$TW" analyze $name --json many.tw | cmp - $name.live || fail "$name of many programs: another answer on-line"
	done
done
