# paths: the grammar expands to the very sequence of blocks, whatever the workers; the hottest path is the loop that it is; JSON and graphs are whole.
. "$(dirname "$0")/../lib.sh"
cc_program busy -O1 -g -fno-inline -no-pie -pthread <<'END'
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
static volatile int table[1024];
static void *walk(void *from)
{
	for (int turn = 0; turn < 3000; turn++)
		for (int i = *(int *)from; i < 64; i++) {
			table[i] += i;
			if (i % 4 == 3)
				table[i] ^= turn;
		}
	return from;
}
static void count(int signal)
{
	table[signal]++;
}
int main(void)
{
	pthread_t other;
	int from = 8, zero = 0;
	signal(SIGUSR1, count);
	pthread_create(&other, NULL, walk, &from);
	for (int i = 0; i < 50; i++)
		raise(SIGUSR1);
	walk(&zero);
	pthread_join(other, NULL);
	return 0;
}
END
for format in dep dep-c; do
	"$TW" record -q -f $format -o $format.tw ./busy || fail "record -f $format"
	"$TW" dump --blocks $format.tw | awk '$3 > 0 { print $1, $2, $3 }' >blocks
	for jobs in 1 2 5; do
		"$TW" paths --expand -j $jobs $format.tw >expanded || fail "paths --expand -j $jobs of $format"
		cmp -s blocks expanded || fail "$format, -j $jobs: the grammar does not expand to the blocks: $(diff blocks expanded | head -n 3)"
	done
done
"$TW" paths --expand --thread 1 dep.tw >expanded || fail "--thread 1"
"$TW" dump --blocks --thread 1 dep.tw | awk '$3 > 0 { print $1, $2, $3 }' | cmp -s - expanded || fail "--thread 1: another sequence"

# Sixteen turns of a loop of four are walk()'s: most of what runs is in paths there.
"$TW" paths dep.tw >text || fail "paths"
grep -q '^ *1  .*times, ' text && grep -q 'walk.*busy\.c:' text || fail "walk() is not shown: $(head -n 12 text)"
"$TW" paths --json -n 5 dep.tw >json || fail "paths --json"
"$TW" info --json dep.tw >info
python3 - json info blocks <<'END' || fail "paths --json"
import json, sys
d, info = json.load(open(sys.argv[1])), json.load(open(sys.argv[2]))
assert d["instructions"] == info["instructions"], d["instructions"]
assert d["rules"] > 3 and d["symbols"] * 20 < d["blocks"], (d["rules"], d["symbols"], d["blocks"])
assert 0 < len(d["paths"]) <= 5
def size(terms):
    return sum(t["turns"] * (size(t["terms"]) if "terms" in t else 1) for t in terms)
def insns(terms):
    return sum(t["turns"] * (insns(t["terms"]) if "terms" in t else t["instructions"]) for t in terms)
def names(terms):
    return [n for t in terms for n in (names(t["terms"]) if "terms" in t else [t["function"]])]
for p in d["paths"]:
    assert size(p["terms"]) == p["blocks"] and insns(p["terms"]) == p["instructions"], p
    assert p["times"] >= 2 and p["share"] <= p["times"] * p["instructions"], p
assert "walk" in names(d["paths"][0]["terms"]), d["paths"][0]
assert sum(p["share"] for p in d["paths"]) <= d["instructions"]
assert d["paths"][0]["share"] * 3 > d["instructions"], d["paths"][0]
END
"$TW" paths --length 2 --json dep.tw | python3 -c '
import json, sys
count = lambda terms: sum(count(t["terms"]) if "terms" in t else 1 for t in terms)
assert all(count(p["terms"]) <= 2 for p in json.load(sys.stdin)["paths"])' || fail "--length 2 is not kept to"
"$TW" paths --dot dep.tw >graph || fail "paths --dot"
dot -Tplain graph >/dev/null || fail "dot does not read the graph"

# What it cannot do is said in one sentence.
complains() { # STATUS WORDS COMMAND...
	local wanted=$1 words=$2
	shift 2
	"$@" >out 2>err
	[ $? -eq "$wanted" ] && grep -q "$words" err || fail "$*: $(cat err)"
}
complains 2 'from 1 to' "$TW" paths -n 0 dep.tw
complains 2 'exclude' "$TW" paths --json --dot dep.tw
complains 1 'no thread 7' "$TW" paths --thread 7 dep.tw
"$TW" record -q -f none -o none.tw ./busy || fail "record -f none"
complains 1 'holds nothing about what' "$TW" paths none.tw
