# Where it takes longer to set a timer than until it comes, as on a machine whose processors another shares out: the timer that ends recording does not come in its own handler again and again, until the
# thread's signal stack is full.
. "$(dirname "$0")/../lib.sh"
need_command strace
strace -o probe true 2>/dev/null || skip "strace cannot trace here"
cc_program spin <<'END'
#include <stdio.h>
int main(void)
{
	static int a[1000];
	unsigned sum = 0;
	for (unsigned turn = 0; turn < 100; turn++) {
		for (unsigned i = 0; i < 1000; i++)
			a[i] = (int)((i + turn) * 2654435761u >> 8);
		for (int i = 1; i < 1000; i++) {
			int v = a[i], k = i;
			for (; k && a[k - 1] > v; k--)
				a[k] = a[k - 1];
			a[k] = v;
		}
		sum = sum * 31 + (unsigned)a[turn];
	}
	printf("%u\n", sum);
	return 0;
}
END
./spin >native
for us in 150 300 1000; do
	strace -f -qq -e trace=timer_settime -e "inject=timer_settime:delay_exit=$us" -o /dev/null "$TW" record -q --budget=10% --period=20ms -o late.tw ./spin >out 2>err ||
		fail "set $us us late: status $?, $(cat err)"
	cmp -s out native || fail "set $us us late: $(cat out)"
done
