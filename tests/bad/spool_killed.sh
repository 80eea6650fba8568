# The recorder is killed while much waits in its spool: the command that reads the recording next has it encoded. Nothing of it is missing, and the program goes on to its end.
. "$(dirname "$0")/../lib.sh"

# It writes until it is told to stop, and counts.
cc_program work <<'END'
#include <stdio.h>
#include <unistd.h>
static unsigned table[1 << 14];
static __attribute__((noinline)) unsigned turn(unsigned x)
{
	for (int i = 0; i < 3000; i++) {
		x = x * 1664525 + table[x >> 18] + 1013904223;
		table[x >> 18] += x ^ (unsigned)i;
	}
	return x;
}
int main(void)
{
	unsigned x = 1, n = 0;
	while (access("stop", F_OK))
		for (int i = 0; i < 50; i++, n++)
			x = turn(x);
	printf("%u %u\n", n, x);
	return 3;
}
END

# killed WHOM: records, and kills the recorder, or the recorder and the program, when there is a spool of some megabytes. What had been encoded by then is in before.tw.
killed() {
	rm -rf r.tw before.tw stop
	"$TW" record -q --spool=300M -o r.tw -- ./work >out 2>err </dev/null &
	local collector=$! program
	for _ in $(seq 300); do [ "$(stat -c %s r.tw/spool 2>/dev/null || echo 0)" -gt 20000000 ] && break; sleep 0.1; done
	kill -STOP $collector
	program=$(pgrep -P $collector | head -1)
	[ $1 = both ] && kill -KILL "$program"
	kill -KILL $collector
	wait $collector 2>/dev/null
	: >stop
	[ -e r.tw/spool ] || fail "$1: there is no spool: $(cat err)"
	cp -r r.tw before.tw
	rm before.tw/spool
	[ $1 = both ] && return
	for _ in $(seq 600); do [ -s out ] && break; sleep 0.1; done
	[ -s out ] || fail "the program did not go on to its end"
}

# instructions DIR: that are in a recording
instructions() { "$TW" info "$1" 2>/dev/null | awk '$1 == "instructions" { print $2 }'; }

for whom in recorder both; do
	killed $whom
	run check.out check.err "$TW" check r.tw
	[ $? -lt 128 ] || fail "$whom: check died"
	grep 'are lost' check.err && fail "$whom: something is lost"
	[ ! -e r.tw/spool ] || fail "$whom: the spool is still there: $(cat check.err)"
	grep -q 'incomplete' check.out check.err || fail "$whom: check does not say that the recording is incomplete"
	grep -qi 'damage\|mismatch\|missing\|cannot' check.out check.err && fail "$whom: $(cat check.out check.err)"
	before=$(instructions before.tw)
	after=$(instructions r.tw)
	if grep -q 'that it had not encoded have been added to the recording' check.err; then
		[ "$after" -gt "${before:-0}" ] || fail "$whom: $after instructions, $before before: $(cat check.err)"
	else # the recorder may have encoded all there was
		[ "$after" = "$before" ] || fail "$whom: $after instructions, $before before"
	fi
	# it is as good as any other: read again, and made way for
	run again.out again.err "$TW" check r.tw
	cmp -s check.out again.out || fail "$whom: read again it is another: $(cat again.out)"
	"$TW" record -q -o r.tw -- true && "$TW" record -q -o r.tw -- true || fail "$whom: it does not make way for the next"
done
