# branches: outcomes as the dump of blocks and objdump tell them, and what predictors say that are written here once more, without any thought of speed.
. "$(dirname "$0")/../lib.sh"
need_command objdump python3 nm
cc_program small -O1 -static -nostdlib -ffreestanding -fno-stack-protector -fcf-protection=none -no-pie -fno-if-conversion <<'END'
static volatile unsigned sink;
static void add(void) { sink += 1; }
static void sub(void) { sink -= 3; }
static void mul(void) { sink *= 5; }
static void (*const table[])(void) = {add, sub, mul, add};
static void __attribute__((noipa)) work(unsigned n)
{
	unsigned x = 12345;
	for (unsigned i = 0; i < n; i++) {
		x = x * 1103515245 + 12345;
		if (x >> 16 & 1) /* like a coin */
			sink++;
		if (i % 7 == 3) /* every seventh time */
			sink += 2;
		if (x >> 20 & 7) /* mostly */
			sink += 3;
		if ((i % 7 == 3) == (i % 3 == 0))
			sink += 5;
		table[x >> 24 & 3]();
	}
}
void _start(void)
{
	work(6000);
	__asm__ volatile("syscall" : : "a"(60), "D"(0));
	for (;;)
		;
}
END
recorded ./small
"$TW" analyze branches --predictors --json recording.tw >found.json || fail "analyze branches --predictors"
"$TW" analyze branches --json recording.tw >plain.json || fail "analyze branches"
"$TW" dump --blocks recording.tw >blocks
nm small | grep ' _start$' >start
objdump -d --no-show-raw-insn small | sed -n 's/^ *\([0-9a-f]*\):\t\([a-z]*\) *\([0-9a-f]*\).*/\1 \2 \3/p' >code
cat >predict.py <<'END'
import json
from collections import Counter
code = [l.split() for l in open("code")]
at = {int(c[0], 16): i for i, c in enumerate(code)}
blocks = [l.split() for l in open("blocks")]
load = int(blocks[0][1], 16) - int(open("start").read().split()[0], 16)
outcomes, targets = [], Counter()
for (t, pc, insns, end), after in zip((b[:4] for b in blocks), blocks[1:]):
    last = at[int(pc, 16) - load] + int(insns) - 1
    where, to = int(code[last][0], 16) + load, int(after[1], 16)
    if end == "cond":
        outcomes.append((where, to == int(code[last][2], 16) + load))
    elif end in ("ijump", "icall"):
        targets[where, to] += 1

def table_of_counters(index):
    counters = {}
    wrong = Counter()
    history = []
    for pc, taken in outcomes:
        i = index(pc, history) % 4096
        c = counters.get(i, 1)
        wrong[pc] += (c >= 2) != taken
        counters[i] = min(c + 1, 3) if taken else max(c - 1, 0)
        history.insert(0, taken)
        del history[300:]
    return wrong

def fold(history, length, bits):
    v = 0
    for i, bit in enumerate(history[:length]):
        v ^= bit << i % bits
    return v

def tage():
    lengths, tag_bits = (5, 15, 44, 130), (8, 8, 9, 9)
    base, tables = {}, [{}, {}, {}, {}]
    wrong, history, use_alternative = Counter(), [], 8
    for pc, taken in outcomes:
        places, tags = [], []
        for length, bits in zip(lengths, tag_bits):
            places.append((pc ^ pc >> 10 ^ fold(history, length, 10)) % 1024)
            tags.append((pc ^ fold(history, length, bits) ^ fold(history, length, bits - 1) << 1) % 2 ** bits)
        entries = [t.setdefault(p, [0, 0, 0]) for t, p in zip(tables, places)] # counter, useful, tag
        says = [base.get(pc % 4096, 1) >= 2]
        provider = None
        for i, e in enumerate(entries):
            if e[2] == tags[i]:
                provider = i
                says.append(e[0] >= 0)
        said, alternative = says[-1], says[-2] if len(says) > 1 else says[-1]
        new = provider is not None and entries[provider][1] == 0 and entries[provider][0] in (0, -1)
        final = alternative if new and use_alternative >= 8 else said
        if final != taken:
            wrong[pc] += 1
            longer = range(0 if provider is None else provider + 1, 4)
            free = [i for i in longer if entries[i][1] == 0]
            if free:
                entries[free[0]][:] = [0 if taken else -1, 0, tags[free[0]]]
            else:
                for i in longer:
                    entries[i][1] -= 1
        if provider is None:
            c = base.get(pc % 4096, 1)
            base[pc % 4096] = min(c + 1, 3) if taken else max(c - 1, 0)
        else:
            e = entries[provider]
            if new and said != alternative:
                use_alternative = min(use_alternative + 1, 15) if alternative == taken else max(use_alternative - 1, 0)
            if said != alternative:
                e[1] = min(e[1] + 1, 3) if said == taken else max(e[1] - 1, 0)
            e[0] = min(e[0] + 1, 3) if taken else max(e[0] - 1, -4)
        history.insert(0, taken)
        del history[130:]
    return wrong

bimodal = table_of_counters(lambda pc, history: pc)
gshare = table_of_counters(lambda pc, history: pc ^ sum(bit << i for i, bit in enumerate(history[:12])))
tage = tage()
found = json.load(open("found.json"))
n, taken = Counter(pc for pc, _ in outcomes), Counter(pc for pc, t in outcomes if t)
got = {r["address"]: (r["executions"], r["taken"], r["bimodal"], r["gshare"], r["tage"]) for r in found["branches"]}
expected = {pc: (n[pc], taken[pc], bimodal[pc], gshare[pc], tage[pc]) for pc in n}
assert got == expected, [(hex(pc), got.get(pc), expected.get(pc)) for pc in expected if got.get(pc) != expected.get(pc)]
assert {(r["address"], r["target"]): r["executions"] for r in found["targets"]} == dict(targets)
assert found["conditional"] == len(outcomes) and found["taken"] == sum(taken.values())
assert found["tage_wrong"] == sum(tage.values()) < sum(gshare.values()) and len(n) >= 5 and len(targets) >= 3
assert any("work small.c:" in r["place"] for r in found["branches"])
END
python3 predict.py || fail "branches differs from what python3 works out"
python3 - <<'END' || fail "without predictors it counts other outcomes"
import json
found, plain = json.load(open("found.json")), json.load(open("plain.json"))
same = "executions", "taken", "address", "place"
assert sorted([r[k] for k in same] for r in found["branches"]) == sorted([r[k] for k in same] for r in plain["branches"])
assert "tage" not in plain["branches"][0] and "tage_wrong" not in plain
assert [r["executions"] for r in plain["branches"]] == sorted((r["executions"] for r in plain["branches"]), reverse=True)
assert found["targets"] == plain["targets"] and all(found[k] == plain[k] for k in ("conditional", "taken", "indirect"))
END
[ -z "${TW_RECORD_OPTIONS:-}" ] || exit 0

# Many programs' worth of code, threads, forks and signals: outcomes are those of the dump, and the same block by block (--predictors) and by stretches; on-line, where no references
# are recorded, too.
cc_program busy -O1 -pthread <<'END'
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static volatile long sink;
static long add(long x) { return x + 1; }
static long sub(long x) { return x - 3; }
static long (*const table[])(long) = {add, sub, add, labs};
static void handler(int number) { sink += number; }
static void *work(void *arg)
{
	unsigned x = (unsigned)(long)arg;
	for (int i = 0; i < 50000; i++) {
		x = x * 1103515245 + 12345;
		if (x >> 16 & 1)
			sink++;
		sink = table[x >> 24 & 3](sink);
		if (i % 10000 == 0)
			raise(SIGUSR1);
	}
	return NULL;
}
static int compare(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}
int main(void)
{
	pthread_t t;
	int few[64];
	signal(SIGUSR1, handler);
	for (int i = 0; i < 64; i++)
		few[i] = i * 37 % 64;
	qsort(few, 64, sizeof *few, compare);
	pthread_create(&t, NULL, work, (void *)1l);
	work((void *)2l);
	pthread_join(t, NULL);
	if (!fork()) {
		work((void *)3l);
		_exit(0);
	}
	wait(NULL);
	return 0;
}
END
native ./busy
RECORD_OPTIONS=(--with branches,json,output=live.json --with branches,predictors,json,output=predicted.json)
recorded ./busy
compare_runs "record --with branches"
RECORD_OPTIONS=()
"$TW" analyze branches --json recording.tw >plain.json || fail "analyze branches"
"$TW" analyze branches --json --predictors -j2 recording.tw | cmp - predicted.json || fail "--predictors: another answer while it ran"
cmp live.json plain.json || fail "another answer while it ran"
"$TW" dump --blocks recording.tw >blocks
cat >outcomes.py <<'END'
import json, sys
from collections import Counter
plain, predicted = json.load(open("plain.json")), json.load(open("predicted.json"))
same = "executions", "taken", "address", "place"
assert sorted([r[k] for k in same] for r in predicted["branches"]) == sorted([r[k] for k in same] for r in plain["branches"])
assert predicted["targets"] == plain["targets"] and len(plain["branches"]) > 500
count, to, before = 0, Counter(), {}
for l in open("blocks"):
    thread, pc, insns, end = l.split()[:4]
    if before.get(thread) in ("ijump", "icall"):
        to[pc] += 1
    count += end == "cond"
    before[thread] = end
# what a signal's handler or the end of a thread comes behind is few
assert abs(plain["conditional"] - count) <= 50 and count > 100000, (plain["conditional"], count)
assert abs(plain["indirect"] - sum(to.values())) <= 50 and plain["indirect"] > 100000
END
python3 outcomes.py || fail "other outcomes than the dump of blocks has"
"$TW" record -q --with branches,json,output=alone.json -- ./busy || fail "record --with branches"
python3 - <<'END' || fail "where nothing is stored it counts other outcomes"
import json
of = lambda name: sorted((r["executions"], r["taken"]) for r in json.load(open(name))["branches"] if " busy.c" in r["place"] or r["place"].startswith("work"))
assert of("alone.json") == of("plain.json") != []
END
"$TW" record -q --with branches,json,output=alone.json --with mix,json,output=mix.json -- ./busy || fail "record --with branches and mix"
grep -q '"reads": [1-9]' mix.json || fail "references were left out though mix wants them"
"$TW" analyze branches --json --module busy recording.tw >module.json || fail "analyze branches --module"
python3 - <<'END' || fail "in a window by module a callback is taken for what was called, or outcomes within it are missing"
import json
from collections import Counter
whole, module = json.load(open("plain.json")), json.load(open("module.json"))
def sums(rows):
    n = Counter()
    for r in rows:
        if r["from"].startswith("work") and "abs" not in r["to"]:
            n[r["address"], r["target"]] += r["executions"]
    return n
assert sums(module["targets"]) == sums(whole["targets"]) and len(sums(whole["targets"])) == 2
assert not [r for r in module["targets"] if r["from"].startswith("work") and "abs" in r["to"]]
assert not [r for r in module["targets"] if r["to"].startswith("compare")]
END
