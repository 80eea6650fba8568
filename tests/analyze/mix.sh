# mix: opcodes as objdump reads them from the file, times how often the dump of blocks has each instruction; references as in the dump, by size and alignment.
. "$(dirname "$0")/../lib.sh"
need_command objdump python3
cc_program small -O2 -static -nostdlib -ffreestanding -fno-stack-protector -mno-sse -fcf-protection=none <<'END'
static char table[4096];
static long __attribute__((noipa)) mixed(long n)
{
	long sum = 0;
	for (long i = 0; i < n; i++) {
		*(volatile int *)(table + i * 7 % 4000) += (int)i;
		*(volatile short *)(table + i * 13 % 4000) = (short)sum;
		sum += *(volatile long *)(table + i * 61 % 4000) ^ i;
		if (sum & 1)
			sum = sum >> 1 | i;
	}
	return sum;
}
void _start(void)
{
	long status = mixed(3000) & 0;
	__asm__ volatile("syscall" : : "a"(60), "D"(status));
	for (;;)
		;
}
END
same_as_native ./small
"$TW" analyze mix --json recording.tw >found.json || fail "analyze mix"
"$TW" dump --blocks recording.tw >blocks
"$TW" dump --refs recording.tw >refs
objdump -d -M intel --no-show-raw-insn small | sed -n 's/^ *\([0-9a-f]*\):\t\([a-z0-9 ]*[a-z0-9]\).*/\1 \2/p' >code
nm small | grep ' _start$' >start
python3 - <<'END' || fail "mix differs from objdump and the dump"
import json
from collections import Counter
found = json.load(open("found.json"))
code = [line.split(None, 1) for line in open("code")]
at = {int(a, 16): i for i, (a, _) in enumerate(code)}
load = None
opcodes = Counter()
n = 0
for line in open("blocks"):
    thread, pc, insns, end = line.split()[:4]
    pc = int(pc, 16)
    if load is None: # where the first block, the entry, is in the file
        load = pc - int(open("start").read().split()[0], 16)
    i = at[pc - load]
    for k in range(int(insns)):
        opcodes[code[i + k][1].split()[0]] += 1
        n += 1
names = {"e": "z", "ne": "nz", "a": "nbe", "ae": "nb", "g": "nle", "ge": "nl"} # objdump's conditions, Zydis's
def name(op):
    for head in ("j", "cmov", "set"):
        if op.startswith(head) and op[len(head):] in names:
            return head + names[op[len(head):]]
    return {"movabs": "mov"}.get(op, op)
expected = Counter()
for op, count in opcodes.items():
    expected[name(op)] += count
got = {row["opcode"]: row["instructions"] for row in found["opcodes"]}
assert got == dict(expected), (got, expected)
assert found["instructions"] == n == sum(row["instructions"] for row in found["classes"])
sizes = {}
reads = writes = 0
for line in open("refs"):
    thread, pc, kind, addr, size = line.split()
    addr, size = int(addr, 16), int(size)
    s = sizes.setdefault(str(size), [0, 0, 0, 0, 0])
    s[0] += kind in "RM"
    s[1] += kind in "WM"
    s[2] += addr % size != 0
    s[3] += addr // 64 != (addr + size - 1) // 64
    s[4] += addr // 4096 != (addr + size - 1) // 4096
got = {r["bytes"]: [r["reads"], r["writes"], r["misaligned"], r["across_lines"], r["across_pages"]] for r in found["sizes"]}
assert got == sizes, (got, sizes)
functions = {r["function"]: r for r in found["functions"]}
assert functions["mixed"]["calls"] == 1
assert sum(r["reads"] for r in functions.values()) == sum(s[0] for s in sizes.values())
assert sum(r["instructions"] for r in functions.values()) == n
END

# What replay counts is what it lists one by one, as it does in a window.
same_listed() { # same_listed RECORDING
	"$TW" analyze mix --from 0i -j1 "$1" >listed || fail "analyze mix --from 0i"
	for j in 1 2; do
		"$TW" analyze mix -j$j "$1" >counted || fail "analyze mix -j$j"
		cmp -s listed counted || fail "mix -j$j counts other than what is listed: $(diff listed counted | head -n 4)"
	done
}
same_listed recording.tw

# All of a larger program: totals, instructions that a signal stopped, string instructions.
recorded sh -c 'i=0; while [ $i -lt 300 ]; do i=$((i+1)); done; echo done | cat >/dev/null'
"$TW" analyze mix --json recording.tw >found.json || fail "analyze mix of sh"
"$TW" info --json recording.tw >info.json
"$TW" dump --refs recording.tw | awk '{ n[$3]++ } END { print n["R"] + n["M"], n["W"] + n["M"] }' >totals
python3 - <<'END' || fail "mix of sh has other totals"
import json
found, info = json.load(open("found.json")), json.load(open("info.json"))
reads, writes = map(int, open("totals").read().split())
assert found["instructions"] == info["instructions"]
for table in "classes", "opcodes", "functions":
    assert sum(r["instructions"] for r in found[table]) == info["instructions"], table
for table in "sizes", "functions":
    assert sum(r["reads"] for r in found[table]) == reads and sum(r["writes"] for r in found[table]) == writes, table
END
same_listed recording.tw
