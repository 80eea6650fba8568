# A program that writes more than the collector takes, which is stopped time and again: it waits where some of the budget would be left over, and no longer; that is charged, and so the budget is used up in short periods too.
. "$(dirname "$0")/../lib.sh"
cc_program chase <<'END'
#include <stdio.h>
#include <time.h>
static unsigned next[1 << 14];
int main(void)
{
	unsigned at = 1, odd = 0;
	for (unsigned i = 0; i < 1 << 14; i++)
		next[i] = (i * 5 + 77) & ((1 << 14) - 1);
	while (clock() < CLOCKS_PER_SEC * 3 / 2)
		for (int k = 0; k < 20000; k++) {
			at = next[at];
			if (at & 1)
				odd |= 1 + next[at ^ 6];
		}
	printf("%u\n", odd > 1);
	return 0;
}
END
./chase >native
# On a busy machine the collector may be left running for longer than it was to be, and nobody has to wait: it is tried again.
for _ in 1 2 3 4 5; do
	rm -rf waits.tw
	"$TW" record -q --spool=0 --budget=50% --period=50ms -o waits.tw ./chase >out &
	collector=$!
	while kill -STOP $collector 2>/dev/null; do
		sleep 0.02
		kill -CONT $collector 2>/dev/null
		sleep 0.005
	done
	wait $collector || fail "status $?"
	cmp -s out native || fail "it printed $(cat out)"
	"$TW" check waits.tw >said 2>&1 || fail "$(cat said)"
	read -r cost waited used_up < <("$TW" info --json waits.tw | python3 -c 'import json, sys; b = json.load(sys.stdin)["budget"]; print(round(100 * b["cost"]), b["waited_ns"] // 1000, b["used_up"])')
	[ "$cost" -gt 37 ] || fail "it used $cost % of 50, and waited $waited us"
	[ "$waited" = 0 ] || break
done
[ "$waited" -gt 0 ] || fail "it did not wait, and used $cost % of 50"
"$TW" info waits.tw | grep -q '^left out .*was waited for' || fail "info does not say that it waited"
echo "used $cost % of 50, waited $waited us, used up $used_up times"
