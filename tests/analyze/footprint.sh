# footprint: pages, lines, working sets and what is new, as python3 counts them over the dump; windows that are cut by chunks, threads, mappings.
. "$(dirname "$0")/../lib.sh"
need_command python3
cc_program walk -O1 -pthread <<'END'
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
static char table[1 << 20];
static void *work(void *arg)
{
	char *own = malloc(300000);
	for (int i = 0; i < 20000; i++)
		own[(long)i * (long)arg % 300000]++;
	free(own);
	return NULL;
}
int main(void)
{
	pthread_t t;
	char big[20000];
	memset(big, 1, sizeof big);
	for (int i = 0; i < 100000; i++)
		table[i * 37 % sizeof table] += big[i % sizeof big];
	pthread_create(&t, NULL, work, (void *)77l);
	pthread_join(t, NULL);
	work((void *)13l);
	return 0;
}
END
same_as_native ./walk
"$TW" dump --refs recording.tw >refs
for window in 777 100000; do
	"$TW" analyze footprint --window $window --json -j4 recording.tw >found.$window.json || fail "analyze footprint"
done
python3 - <<'END' || fail "footprint differs from what python3 counts"
import json
refs = [l.split() for l in open("refs")]
def lines_of(r):
    a, s = int(r[3], 16), int(r[4])
    return range(a // 64, (a + s - 1) // 64 + 1)
all_lines = {l for r in refs for l in lines_of(r)}
for window in 777, 100000:
    found = json.load(open("found.%d.json" % window))
    assert found["pages"] == len({l // 64 for l in all_lines}) and found["lines"] == len(all_lines), (found["pages"], found["lines"])
    assert sum(m["lines"] for m in found["mappings"]) == len(all_lines)
    assert sum(w["new_lines"] for w in found["windows"]) == len(all_lines)
    assert sum(w["new_pages"] for w in found["windows"]) == found["pages"]
END
# Window by window. A reference is of the window in which its block begins.
cc_program plain -O1 -static -nostdlib -ffreestanding -fno-stack-protector -fcf-protection=none -fno-tree-loop-distribute-patterns <<'END'
static char table[1 << 16];
void _start(void)
{
	unsigned x = 1;
	for (int i = 0; i < 20000; i++) {
		x = x * 1103515245 + 12345;
		if (x & 4096)
			table[x >> 16] ^= 1;
		else
			*(volatile long *)(table + (x >> 17)) += x;
	}
	__asm__ volatile("syscall" : : "a"(60), "D"(0));
	for (;;)
		;
}
END
recorded ./plain
"$TW" dump --blocks recording.tw >blocks
"$TW" dump --lackey recording.tw >lackey
for window in 500 12345; do
	"$TW" analyze footprint --window $window --json recording.tw >found.$window.json || fail "analyze footprint"
	python3 - $window <<'END' || fail "windows of $window differ from what python3 counts"
import json, sys
window = int(sys.argv[1])
found = json.load(open("found.%d.json" % window))["windows"]
sizes = [int(l.split()[2]) for l in open("blocks")]
starts, at = [], 0
for n in sizes:
    starts += [at] * n # for each instruction, where its block began
    at += n
work, insn = {}, -1
for l in open("lackey"):
    kind, what = l.split()
    addr, size = what.split(",")
    addr, size = int(addr, 16), int(size)
    if kind == "I":
        insn += 1
        continue
    work.setdefault(starts[insn] // window, set()).update(range(addr // 64, (addr + size - 1) // 64 + 1))
seen = set()
by_index = {w["from_instruction"] // window: w for w in found}
for index in range(0, (at - 1) // window + 1):
    lines, w = work.get(index, set()), by_index[index]
    new = lines - seen
    got = (w["pages"], w["lines"], w["new_pages"], w["new_lines"])
    expected = (len({l // 64 for l in lines}), len(lines), len({l // 64 for l in lines} - {l // 64 for l in seen}), len(new))
    assert got == expected, (index, got, expected)
    seen |= lines
END
done
one_sentence "$TW" analyze footprint --window 0 recording.tw
says 'a window of no instructions'

# What replay marks is what it lists one by one, as it does in a window of all: references across lines, string instructions longer than a batch, loops that go on over the end of a period.
cc_program many -O1 <<'END'
#include <stdint.h>
#include <stdlib.h>

int main(void)
{
	static uint8_t bytes[1 << 20];
	uint32_t x = 1;
	for (int round = 0; round < 40; round++) {
		for (int i = 0; i < 3000; i++) {
			x = x * 1103515245 + 12345;
			*(volatile uint64_t *)(bytes + (x >> 8) % (sizeof bytes - 8)) = x;
		}
		uint8_t *to = bytes + round * 4096 + 13;
		uint64_t n = 20000;
		__asm__ volatile("rep stosb" : "+D"(to), "+c"(n) : "a"(1) : "memory");
		for (volatile int i = 0; i < 20000; i++)
			;
	}
	return 0;
}
END
"$TW" record -q -o many.tw -- ./many || fail "record of many"
for window in 65536 99991 10000000; do
	"$TW" analyze footprint --window $window --from 0i -j1 many.tw >listed || fail "analyze footprint --from 0i"
	for j in 1 2; do
		"$TW" analyze footprint --window $window -j$j many.tw >marked || fail "analyze footprint -j$j"
		cmp -s listed marked || fail "footprint --window $window -j$j marks other than what is listed: $(diff listed marked | head -n 4)"
	done
done
