# The program has ended, and much of what it did waits in the spool: lanes that have nothing to do take from those that have. What is recorded then is what is recorded without a
# spool; and of a recorder that is killed meanwhile nothing is in disorder.
. "$(dirname "$0")/../lib.sh"
need_fixed_addresses

# Each reference is somewhere else.
cc_program work <<'END'
#include <stdio.h>
static unsigned table[1 << 16];
int main(void)
{
	unsigned x = 1;
	for (int i = 0; i < 3000000; i++) {
		x = x * 1664525 + table[x >> 16] + 1013904223;
		table[x >> 16] += x ^ (unsigned)i;
	}
	printf("%u\n", x);
	return 0;
}
END

# in_order DIR WHAT: its references are the first of those of whole.tw, or all
in_order() {
	cmp <("$TW" dump "$1" 2>/dev/null) whole.dump >differ 2>&1 || grep -q '^cmp: EOF on /' differ || fail "$2: other references: $(cat differ)"
}

setarch -R "$TW" record -q --spool=0 -o r.tw -- ./work >native.out || fail "it cannot be recorded without a spool"
"$TW" dump r.tw >whole.dump
[ "$(wc -l <whole.dump)" -gt 4000000 ] || fail "only $(wc -l <whole.dump) references"

for _ in 1 2; do
	rm -rf r.tw
	setarch -R "$TW" record -q --spool=300M -o r.tw -- ./work >out || fail "it cannot be recorded with a spool"
	cmp -s out native.out || fail "the output changed"
	cmp -s <("$TW" dump r.tw) whole.dump || fail "with a spool there are other references"
done

for delay in 0 0.03 0.1; do
	rm -rf r.tw out
	setarch -R "$TW" record -q --spool=300M -o r.tw -- ./work >out 2>err </dev/null &
	for _ in $(seq 600); do [ -s out ] && break; sleep 0.01; done
	sleep $delay
	kill -KILL $! 2>/dev/null
	wait $! 2>/dev/null
	cmp -s out native.out || fail "the program did not go on to its end"
	run check.out check.err "$TW" check r.tw
	[ $? -lt 128 ] || fail "killed after $delay s: check died"
	grep -qi 'damage\|mismatch\|missing\|cannot' check.out check.err && fail "killed after $delay s: $(cat check.out check.err)"
	[ ! -e r.tw/spool ] || fail "killed after $delay s: the spool is still there"
	in_order r.tw "killed after $delay s"
done
