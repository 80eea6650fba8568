# Windows: what an analyzer sees through --thread, --from, --to, --function, --module and --range is what the dump has of it.
. "$(dirname "$0")/../lib.sh"
need_command python3 nm
cc_program parts -O1 -pthread <<'END'
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
long table[512], other[512];
__attribute__((noipa)) void fill(long n)
{
	for (long i = 0; i < n; i++)
		table[i % 512] += i;
}
__attribute__((noipa)) long sum(void)
{
	long s = 0;
	for (int i = 0; i < 512; i++)
		s += table[i] + other[i];
	memset(other, 1, sizeof other);
	return s;
}
static void *work(void *arg)
{
	fill((long)arg);
	return (void *)sum();
}
int main(void)
{
	pthread_t t;
	pthread_create(&t, NULL, work, (void *)5000l);
	pthread_join(t, NULL);
	fill(3000);
	return sum() == 0;
}
END
same_as_native ./parts
"$TW" dump --refs recording.tw >refs
"$TW" dump --blocks recording.tw >blocks
"$TW" dump --order recording.tw >order
nm -S parts >symbols
seen() { # seen OPTION...: instructions, reads and writes that mix sees, by -j1 and by several jobs
	"$TW" analyze mix --json -j1 "$@" recording.tw >one.json || fail "analyze mix $*"
	"$TW" analyze mix --json -j3 "$@" recording.tw | cmp -s - one.json || fail "analyze mix $*: three jobs give another answer"
	python3 -c '
import json
d = json.load(open("one.json"))
print(d["instructions"], sum(s["reads"] for s in d["sizes"]), sum(s["writes"] for s in d["sizes"]))'
}
{
	seen --thread 1
	seen --from 1000i
	seen --to 5ki
	seen --from 2001i --to 30ki --thread 0
	seen --function fill
	seen --function 'parts!sum'
	seen --module parts
	seen --range table
	seen --range parts!table+8
	seen --range table --function sum --thread 1
	seen --from 0s --to 1000s
	seen --from 1000s
} >found
python3 - "$TW" <<'END' || fail "a window shows something else than the dump"
import subprocess, sys
symbols = {}
for line in open("symbols"):
    f = line.split()
    if len(f) == 4:
        symbols[f[3]] = (int(f[0], 16), int(f[1], 16))
refs = [(int(t), int(pc, 16), k, int(a, 16), int(s)) for t, pc, k, a, s in (l.split() for l in open("refs"))]
blocks = [(int(f[0]), int(f[1], 16), int(f[2])) for f in (l.split() for l in open("blocks"))]
raw = subprocess.check_output([sys.argv[1], "dump", "--raw", "recording.tw"], text=True)
maps = [l.split() for l in raw.splitlines() if l.strip().startswith("event map") and l.endswith("/parts") and l.split()[5][-1] == "5"][0] # the code: r-x
segments = [l.split() for l in subprocess.check_output(["readelf", "-lW", "parts"], text=True).splitlines() if l.strip().startswith("LOAD")]
offset = int(maps[4], 16)
vaddr = [int(s[2], 16) - int(s[1], 16) for s in segments if int(s[1], 16) <= offset < int(s[1], 16) + int(s[4], 16)][0] + offset
load, length = int(maps[2], 16) - vaddr, int(maps[3], 16)
text = range(int(maps[2], 16), int(maps[2], 16) + length)
def code(name):
    a, n = symbols[name]
    return range(load + a, load + a + n)
def memory(name, bytes=None):
    a, n = symbols[name]
    return load + a, load + a + (bytes or n)
# Each reference with the position of its block, where no string instruction is in the way: by thread, blocks and references go together.
at, position = {}, []
for t, pc, n in blocks:
    position.append(at.get(t, 0))
    at[t] = at.get(t, 0) + n
insns = [(t, pc, n, p) for (t, pc, n), p in zip(blocks, position)]
def count(thread=None, pcs=None, mem=None, start=0, end=1 << 62, refs_too=True):
    n = sum(b[2] for b in insns if (thread is None or b[0] == thread) and (pcs is None or b[1] in pcs) and start <= b[3] < end)
    chosen = [r for r in refs if (thread is None or r[0] == thread) and (pcs is None or r[1] in pcs)
              and (mem is None or (r[3] < mem[1] and r[3] + r[4] > mem[0]))]
    return n, sum(r[2] in "RM" for r in chosen), sum(r[2] in "WM" for r in chosen)
found = [tuple(map(int, l.split())) for l in open("found")]
expected = [
    count(thread=1),
    count(start=1000)[:1], count(end=5000)[:1], count(thread=0, start=2001, end=30000)[:1],
    count(pcs=code("fill")), count(pcs=code("sum")), count(pcs=text),
    count(mem=memory("table")), count(mem=memory("table", 8)),
    count(pcs=code("sum"), mem=memory("table"), thread=1),
    count(), (0, 0, 0),
]
for i, (f, e) in enumerate(zip(found, expected)):
    assert f[:len(e)] == e, (i, f, e)
assert len(found) == len(expected)
END
recorded true
one_sentence "$TW" analyze mix --output out --function no_such recording.tw
says "'no_such' does not occur in what was analyzed"
one_sentence "$TW" analyze mix --json --csv recording.tw
says "exclude each other"
one_sentence "$TW" analyze cct --svg --json recording.tw
says "--svg and --json exclude each other"
one_sentence "$TW" record --with cct,csv,folded -o none.tw -- ./program
says "--csv and --folded exclude each other"
one_sentence "$TW" analyze mix --thread 7 recording.tw
says "no such thread"

# What is absent is said beside a whole answer.
"$TW" analyze mix --function no_such --json recording.tw >absent.json 2>err && fail "--function no_such succeeds"
python3 -m json.tool absent.json >/dev/null || fail "--function no_such: half an answer"
# A window that begins behind the end is empty, and that is said.
for command in report "analyze mix"; do
	# shellcheck disable=SC2086 # two words
	"$TW" $command --from 1000s recording.tw >/dev/null 2>err || fail "$command --from 1000s: $(cat err)"
	grep -q 'nothing ran after --from: the recording ends after' err || fail "$command --from 1000s says: $(cat err)"
	# shellcheck disable=SC2086
	"$TW" $command --from 9999Gi --thread 0 recording.tw >/dev/null 2>err || fail "$command --from 9999Gi: $(cat err)"
	grep -q 'nothing ran after --from: the thread ran [0-9]* instructions' err || fail "$command --from 9999Gi says: $(cat err)"
done
