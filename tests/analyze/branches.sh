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
"$TW" analyze branches --json recording.tw >found.json || fail "analyze branches"
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
