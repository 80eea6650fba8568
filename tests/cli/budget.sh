# Why less was used than a budget allows: the summary, info and --json say that it was never used up, or how often it was. A native run tells what the program prints.
. "$(dirname "$0")/../lib.sh"
cc_program loop <<'END'
#include <stdio.h>
#include <stdlib.h>
static int by_value(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
int main(void)
{
	static int a[1000];
	unsigned sum = 0;
	for (unsigned turn = 0; turn < 300; turn++) {
		for (unsigned i = 0; i < 1000; i++)
			a[i] = (int)((i + turn) * 2654435761u >> 8);
		qsort(a, 1000, sizeof *a, by_value);
		sum = sum * 31 + (unsigned)a[turn];
	}
	printf("%u\n", sum);
	return 0;
}
END
./loop >native
end_of() { "$TW" info --json "$1" | python3 -c 'import json, sys; b = json.load(sys.stdin)["budget"]; print(b["switch"], b["used_up"], b["caught_up"])'; }
record() { "$TW" record "$@" ./loop >out 2>err && cmp -s out native || fail "record $*: $(cat out err)"; }

# The first period has as much as the program could use in an hour.
record -o never.tw --budget=1000% --period=1000s
read -r switch used_up _ < <(end_of never.tw)
[ "$switch" = asynchronous ] || fail "switch: $switch"
[ "$used_up" = 0 ] || fail "a budget that is larger than the run was used up $used_up times"
grep -q '^trackway: the budget was never used up' err || fail "the summary does not say that it was never used up: $(cat err)"
"$TW" info never.tw | grep -q '^left out  *the budget was never used up' || fail "info does not say it"

# A program that is over before the first period is.
read -r opened periods < <("$TW" info --json never.tw | python3 -c 'import json, sys; b = json.load(sys.stdin)["budget"]; print(b["opened"], b["overshoots"]["periods"])')
[ "$opened $periods" = "1 0" ] || fail "recording began $opened times, and $periods periods ended"
"$TW" info never.tw | grep -q '^recorded .*, begun once;' || fail "info: $("$TW" info never.tw | grep '^recorded')"
grep -q 'in less than a period' err || fail "the summary speaks of periods: $(cat err)"

# And here less than it takes to translate the loader: 0.1 ms in all.
record -o spent.tw --budget=100us --period=1000s
read -r _ used_up _ < <(end_of spent.tw)
[ "$used_up" -gt 0 ] || fail "a budget of next to nothing was not used up"
grep -q 'never used up' err && fail "the summary says that it was never used up"
"$TW" info spent.tw | grep -q "^left out  *the budget was used up" || fail "info: $("$TW" info spent.tw | grep '^left')"

# Where nothing is recorded nothing is said, nor without a budget.
record -o whole.tw
"$TW" info whole.tw | grep -q '^left out\|^switch' && fail "info speaks of a budget that was not asked for"
record --learn=learned --budget=10%
grep -q 'used up' err && fail "where nothing is recorded it is said that the budget was used up, or not: $(cat err)"
exit 0
