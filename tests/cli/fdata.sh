# blocks --fdata: llvm-bolt takes it without a warning, and it says what BOLT's own instrumentation counts.
. "$(dirname "$0")/../lib.sh"
need_command python3
BOLT=
for b in llvm-bolt llvm-bolt-16 llvm-bolt-15; do command -v $b >/dev/null && BOLT=$b && break; done
[ -n "$BOLT" ] || skip "no llvm-bolt here (tools/setup test installs bolt-16)"
cc_program prog -O2 -g0 -fno-reorder-blocks-and-partition -Wl,--emit-relocs <<'END'
#include <stdio.h>
#include <stdlib.h>
static int table[64];
static __attribute__((noinline)) int classify(int n)
{
	switch (n % 7) {
	case 0: return 1;
	case 1: return table[n % 64] + 3;
	case 2: return n * 5;
	case 3: table[1]++; return 7;
	case 4: return n ^ 3;
	case 5: return n - table[2];
	default: return 0;
	}
}
static __attribute__((noinline)) int weigh(int n)
{
	int sum = 0;
	for (int i = 0; i < n; i++) {
		if (i % 3 == 0)
			sum += classify(i);
		else if (i % 5 == 1)
			sum -= 2;
	}
	return sum;
}
static int by_value(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
__attribute__((noinline)) int never(int n) { return n + 1; }
static char buffer[100];
static __attribute__((noipa)) void clear(char *p, unsigned long n)
{
	__asm__ volatile("rep stosb" : "+D"(p), "+c"(n) : "a"(0) : "memory"); /* repeats, but ends no block */
}
int main(int argc, char **argv)
{
	int total = 0;
	for (int i = 0; i < 64; i++)
		table[i] = (i * 37) % 64;
	qsort(table, 64, sizeof table[0], by_value);
	clear(buffer, sizeof buffer);
	for (int i = 0; i < 100; i++)
		total += weigh(i);
	if (argc > 5)
		total += never(argc);
	printf("%d\n", total);
	return 0;
}
END
same_as_native ./prog
"$TW" blocks --fdata=prog.fdata recording.tw || fail "blocks --fdata"
grep -q '^1 weigh/1 [0-9a-f]* 1 classify/1 0 0 1683$' prog.fdata || fail "weigh did not call classify 1683 times"
"$BOLT" prog -data=prog.fdata -o prog.bolt -reorder-blocks=ext-tsp -reorder-functions=hfsort >bolt.out 2>&1 || {
	tail -n 3 bolt.out
	fail "llvm-bolt -data"
}
! grep -E 'BOLT-(WARNING|ERROR)' bolt.out || fail "llvm-bolt warns"
grep -q 'functions in the binary .* have non-empty execution profile' bolt.out || fail "llvm-bolt found no profile: $(tail -n 3 bolt.out)"
! grep -E 'stale|invalid' bolt.out || fail "llvm-bolt finds it invalid"
./prog.bolt >bolt.ran && cmp -s bolt.ran native.out || fail "the program that llvm-bolt made does not do what it did"
# BOLT's own counts of the same run. Debian's llvm-bolt looks for its runtime library below /usr/lib only.
library=$(cd /usr/lib && ls llvm-*/lib/libbolt_rt_instr.a 2>/dev/null | tail -n 1)
"$BOLT" prog -instrument ${library:+--runtime-instrumentation-lib=$library} -instrumentation-file="$PWD/theirs.fdata" -o prog.inst >inst.out 2>&1 &&
	./prog.inst >/dev/null && [ -s theirs.fdata ] || skip "as far as can be tested: this llvm-bolt cannot instrument"
python3 - <<'END' || fail "not what BOLT counts"
own = ("main", "weigh/1", "classify/1", "clear/1", "by_value/1", "[unknown]")
def read(path):
    found = {}
    for line in open(path):
        _, a, x, _, b, y, _, n = line.split()
        if a in own and b in own or a in own and b.endswith("@PLT"):
            found[a, x, b, y] = int(n)
    return found
ours, theirs = read("prog.fdata"), read("theirs.fdata")
assert ours == theirs, {k: (ours.get(k), theirs.get(k)) for k in ours.keys() | theirs.keys() if ours.get(k) != theirs.get(k)}
assert len(ours) > 25, len(ours)
END
# a program without symbols
strip prog
recorded ./prog
one_sentence "$TW" blocks --fdata=x recording.tw
says 'symbol table'
one_sentence "$TW" blocks --fdata=x --module=libnothing.so recording.tw
says 'libnothing'
