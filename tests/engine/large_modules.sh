# A program with a large library whose constructors run much code: what was translated before the program's entry is kept with the rest, so that the second run makes next to nothing; and as natively.
. "$(dirname "$0")/../lib.sh"
need_command python3

MANY=3000
{
	printf '__asm__(".section .text.fill, \\"ax\\"; .fill 40 << 20, 1, 0x90; .text");\n'
	seq $MANY | sed 's/.*/static __attribute__((noinline)) int f&(int k) { __asm__ volatile("" : "+r"(k)); return k > & ? k - 1 : k + 2; }/'
	printf 'int sum;\nstatic __attribute__((constructor)) void begin(void)\n{\n'
	seq $MANY | sed 's/.*/\tsum += f&(sum \& 4095);/'
	printf '}\n'
} | cc_program liblarge.so -O1 -shared -fPIC
cc_program prog -O1 -L. -Wl,-rpath,'$ORIGIN' -llarge <<'END'
#include <stdio.h>
extern int sum;
int main(void)
{
	printf("%d\n", sum);
	return 3;
}
END
sleep 4.2 # so old that they have an identity

# fragments DIR: how many were made
fragments() { "$TW" info --json "$1" | python3 -c 'import json, sys; print(json.load(sys.stdin)["engine"]["fragments"])'; }

./prog >native
for i in 1 2 3; do
	"$TW" record -q -f none -o $i.tw -- ./prog >out
	[ $? = 3 ] || fail "run $i: status"
	cmp -s out native || fail "run $i: $(cat out)"
done
first=$(fragments 1.tw) second=$(fragments 2.tw)
[ "$first" -gt $MANY ] || fail "the first run made $first fragments"
[ "$second" -lt $((first / 4)) ] || fail "the first run made $first fragments, the second $second"
whole ./prog
