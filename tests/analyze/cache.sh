# cache: misses as python3 counts them over the dump, with lists that it searches; the numbers of Cachegrind from the same references; reuse distances; threads that take lines
# from each other.
. "$(dirname "$0")/../lib.sh"
need_command python3
cc_program work -O1 -g -static <<'END'
#include <string.h>
static char big[1 << 18];
double m[60][60], r[60][60];
static void __attribute__((noinline)) turn(void)
{
	for (int i = 0; i < 60; i++)
		for (int k = 0; k < 60; k++)
			r[k][i] += m[i][k];
}
int main(void)
{
	unsigned x = 1;
	long sum = 0;
	for (int i = 0; i < 20000; i++) {
		x = x * 1103515245 + 12345;
		sum += big[(x >> 8) % sizeof big]++;
	}
	turn();
	memset(big, 1, 10000);
	memcpy(big + 10003, big + 1, 5001);
	*(volatile long *)(big + 61) = 3;
	for (int i = 0; i < 300; i++)
		*(volatile long *)(big + 60 + i * 64) += 1; /* of two lines */
	return sum == 3;
}
END
same_as_native ./work
"$TW" dump --refs recording.tw >refs
"$TW" analyze cache --l1 4k:4 --l2 48k:12 --l3 256k:16 --reuse exact --json recording.tw >found.json || fail "analyze cache"
python3 - <<'END' || fail "cache differs from what python3 counts"
import json
from collections import Counter
found = json.load(open("found.json"))
shapes = [(4096, 4), (48 * 1024, 12), (256 * 1024, 16)]
levels = [(size // 64 // ways, ways, {}) for size, ways in shapes]
def miss(level, line): # whether a level has no such line, which it has from then on
    sets, ways, table = levels[level]
    lines = table.setdefault(line % sets, [])
    hit = line in lines
    if hit:
        lines.remove(line)
    lines.insert(0, line)
    del lines[ways:]
    return not hit
misses = [[0, 0] for _ in shapes]
reads = writes = 0
stack, reuse = [], Counter()
for row in open("refs"):
    _, pc, kind, addr, size = row.split()
    addr, size = int(addr, 16), int(size)
    reads += kind in "RM"
    writes += kind in "WM"
    deepest = 0
    for line in range(addr // 64, (addr + size - 1) // 64 + 1):
        level = 0
        while level < 3 and miss(level, line):
            level += 1
        deepest = max(deepest, level)
        if line in stack:
            distance = stack.index(line)
            stack.remove(line)
            reuse[str(1 << distance.bit_length() - 1 if distance else 0)] += 1
        else:
            reuse["first access"] += 1
        stack.insert(0, line)
    for level in range(deepest):
        misses[level][kind == "W"] += 1
assert (found["reads"], found["writes"]) == (reads, writes)
assert [[l["read_misses"], l["write_misses"]] for l in found["levels"]] == misses, (found["levels"], misses)
assert {r["distance"]: r["accesses"] for r in found["reuse"]} == dict(reuse), (found["reuse"], reuse)
for table in "functions", "lines":
    assert sum(r["references"] for r in found[table]) == sum(1 for _ in open("refs"))
for table in "functions", "lines", "objects":
    assert sum(r["l1_misses"] for r in found[table]) == sum(misses[0]), table
    assert sum(r["last_misses"] for r in found[table]) == sum(misses[2]), table
functions = {r["function"]: r for r in found["functions"]}
assert functions["turn"]["l1_misses"] > 60, functions["turn"]
objects = {r["object"]: r for r in found["objects"]}
assert objects["big"]["l1_misses"] > objects["m"]["l1_misses"] > 0
END
"$TW" analyze cache --reuse sampled --sample 8 --json recording.tw >sampled.json || fail "--reuse sampled"
python3 - <<'END' || fail "the sample is further off than four of its errors"
import json
def shares(name):
    return {r["distance"]: r for r in json.load(open(name))["reuse"]}
exact, sampled = shares("found.json"), shares("sampled.json")
for distance in set(exact) & set(sampled):
    assert abs(exact[distance]["up_to_here"] - sampled[distance]["up_to_here"]) <= 4 * sampled[distance]["error"] + 1e-9, distance
END

# Cachegrind, from the references that Lackey sees.
if command -v valgrind >/dev/null; then
	valgrind --tool=lackey --trace-mem=yes --log-file=lackey ./work || fail "lackey"
	valgrind --tool=cachegrind --cache-sim=yes --I1=8192,4,64 --D1=16384,4,64 --LL=131072,8,64 --cachegrind-out-file=out --log-file=log ./work || fail "cachegrind"
	"$TW" import lackey -q -o lackey.tw lackey || fail "import lackey"
	"$TW" analyze cache --cachegrind --l1i 8k:4 --l1 16k:4 --l2 128k:8 --json lackey.tw >found.json || fail "analyze cache --cachegrind"
	python3 - <<'END' || fail "differs from Cachegrind"
import json, re
found = json.load(open("found.json"))
theirs = {}
for name, numbers in re.findall(r"== (\S+ +\S+): +([0-9,]+.*)", open("log").read()):
    theirs[" ".join(name.split())] = [int(n.replace(",", "")) for n in re.findall(r"[0-9][0-9,]*", numbers)]
code, (first, last) = found["code"], found["levels"]
assert [found["fetches"], code[0]["fetch_misses"], code[1]["fetch_misses"]] == [theirs[n][0] for n in ("I refs", "I1 misses", "LLi misses")], (code, theirs)
assert [found["reads"], found["writes"]] == theirs["D refs"][1:3], (found["reads"], found["writes"], theirs)
assert [first["read_misses"], first["write_misses"]] == theirs["D1 misses"][1:3], (first, theirs)
assert [last["read_misses"], last["write_misses"]] == theirs["LLd misses"][1:3], (last, theirs)
END
else
	untested "Cachegrind: there is no valgrind"
fi

# Two threads that write the same line in turn, each when the other has told it to: a line that only one of them has is never taken.
cc_program turns -O1 -pthread <<'END'
#include <pthread.h>
#include <unistd.h>
static int to[2][2];
static struct { _Alignas(64) volatile long n; } both, own[2];
static void *work(void *arg)
{
	long me = (long)arg;
	char c = 0;
	for (int i = 0; i < 50; i++) {
		if (read(to[me][0], &c, 1) != 1)
			return NULL;
		both.n++;
		own[me].n++;
		if (write(to[!me][1], &c, 1) != 1)
			return NULL;
	}
	return NULL;
}
int main(void)
{
	pthread_t t[2];
	if (pipe(to[0]) || pipe(to[1]))
		return 1;
	for (long i = 0; i < 2; i++)
		pthread_create(&t[i], NULL, work, (void *)i);
	if (write(to[0][1], "", 1) != 1)
		return 1;
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	return both.n != 100;
}
END
recorded ./turns
"$TW" analyze cache --json recording.tw >found.json || fail "analyze cache of threads"
python3 - <<'END' || fail "not what two threads in turn make of it"
import json
found = json.load(open("found.json"))
objects = {r["object"]: r for r in found["objects"]}
assert 98 <= objects["both"]["coherence"] <= 100, objects["both"]
assert objects.get("own", {"coherence": 0})["coherence"] == 0, objects["own"]
assert found["coherence_misses"] >= 98 and found["invalidations"] >= 98
END
"$TW" analyze cache --cores 1 --json recording.tw | grep -q '"coherence_misses": *0' || fail "one core has nobody to take lines from it"

# Variables of a program that a process executes are those of its own file, though another had the same addresses before.
cat >exec.c <<'END'
#include <unistd.h>
static volatile char NAME[64 << 10];
int main(int argc, char **argv)
{
	for (unsigned i = 0; i < sizeof NAME; i++)
		NAME[i] = (char)argc;
	if (argc > 1)
		execv(argv[1], argv + 1);
	return 0;
}
END
for name in first second; do
	gcc -O1 -g -no-pie -DNAME=$name -o $name exec.c || fail "gcc"
done
"$TW" record -q -o exec.tw ./first ./second || fail "record ./first"
"$TW" analyze cache --json --l1 4k:4 exec.tw >found.json || fail "analyze cache of two programs"
python3 - <<'END' || fail "variables of two programs are mixed up"
import json
objects = {r["object"]: r for r in json.load(open("found.json"))["objects"]}
for name in ("first", "second"):
    assert objects[name]["module"].endswith(name) and 1024 <= objects[name]["l1_misses"] < 2048, (name, objects.get(name))
END

one_sentence "$TW" analyze cache --l1 33k:7 recording.tw
says 'make no cache'
one_sentence "$TW" analyze cache --l1 big recording.tw
says "wants a size and ways"
one_sentence "$TW" analyze cache --policy plru --l1 48k:12 recording.tw
says "power of two"
one_sentence "$TW" analyze cache --line 48 recording.tw
says "power of two"
if [ -e /sys/devices/system/cpu/cpu0/cache/index0/size ]; then
	"$TW" analyze cache --like this recording.tw >out || fail "--like this"
else
	one_sentence "$TW" analyze cache --like this recording.tw
	says "does not tell this machine"
fi
exit 0
