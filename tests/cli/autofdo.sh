# blocks --autofdo: llvm-profdata reads it, the counts are what the program does, and clang applies them.
. "$(dirname "$0")/../lib.sh"
need_command python3
PROFDATA=
for p in llvm-profdata llvm-profdata-14; do command -v $p >/dev/null && PROFDATA=$p && break; done
[ -n "$PROFDATA" ] || skip "no llvm-profdata here (tools/setup test installs llvm-14)"
cat >prog.c <<'END'
#include <stdio.h>
static inline __attribute__((always_inline)) int inlined(int n)
{
	if (n % 4 == 0)
		return n + 1;
	return n;
}
__attribute__((noinline)) static int even(int n)
{
	return n ^ 1;
}
__attribute__((noinline)) static int odd(int n)
{
	return n * 3;
}
__attribute__((noinline)) static int through(int (*f)(int), int n)
{
	return f(n);
}
__attribute__((noinline)) static int loop(int n)
{
	volatile int sum = 0;
	for (int i = 0; i < n; i++) {
		sum += inlined(i);
		sum += through(i % 3 ? odd : even, i);
	}
	return sum;
}
int main(void)
{
	printf("%d\n", loop(300) + loop(600));
	return 0;
}
END
$CC -O1 -g -fno-omit-frame-pointer -o prog prog.c || fail "prog.c"
same_as_native ./prog
"$TW" blocks --autofdo=prog.afdo recording.tw || fail "blocks --autofdo"
"$PROFDATA" merge --sample --text prog.afdo -o merged.afdo >profdata.out 2>&1 || fail "llvm-profdata: $(head -n 3 profdata.out)"
[ ! -s profdata.out ] || fail "llvm-profdata complains: $(head -n 3 profdata.out)"
# What llvm-profdata understood: totals add up, and loop, its inlined function and its calls are there with their counts.
python3 - <<'END' || fail "counts"
import re
functions, inlined, calls = {}, {}, {}
body = {}
for line in open("merged.afdo"):
    depth = len(line) - len(line.lstrip())
    m = re.match(r"(\w+):(\d+):(\d+)$", line.strip()) if not depth else None
    if m:
        name = m[1]
        functions[name] = int(m[2]), int(m[3])
        body[name] = 0
        continue
    m = re.match(r"([\d.]+): (\w+):(\d+)$", line.strip())
    if m:
        inlined[name, m[2]] = int(m[3])
        continue
    m = re.match(r"([\d.]+): (\d+)(.*)$", line.strip())
    body[name] += int(m[2])
    for f, n in re.findall(r"(\w+):(\d+)", m[3]):
        calls[name, f] = calls.get((name, f), 0) + int(n)
for name in functions:
    assert functions[name][0] == body[name], (name, functions[name], body[name])
assert {f: functions[f][1] for f in ("main", "loop", "through", "even", "odd")} == {"main": 1, "loop": 2, "through": 900, "even": 300, "odd": 600}, functions
assert calls["through", "even"] == 300 and calls["through", "odd"] == 600 and calls["loop", "through"] == 900 and calls["main", "loop"] == 2, calls
assert inlined["loop", "inlined"] >= 900, inlined
END
# clang makes use of it: entry counts are head counts (plus one, as it does)
CLANG=$(command -v clang || command -v clang-14)
if [ -n "$CLANG" ]; then
	"$CLANG" -O1 -g -fdebug-info-for-profiling -o made prog.c || fail "clang prog.c"
	recorded ./made
	"$TW" blocks --autofdo=made.afdo recording.tw || fail "blocks --autofdo of clang's program"
	"$CLANG" -O1 -g -fdebug-info-for-profiling -fprofile-sample-use=made.afdo -S -emit-llvm -o prog.ll prog.c 2>clang.err || fail "clang: $(head -n 3 clang.err)"
	[ ! -s clang.err ] || fail "clang complains: $(head -n 3 clang.err)"
	for n in 3 901 301 601; do grep -q "function_entry_count\", i64 $n}" prog.ll || fail "clang gave no function $n entries"; done
fi
strip -g prog
recorded ./prog
one_sentence "$TW" blocks --autofdo=x recording.tw
says 'compile with -g'
