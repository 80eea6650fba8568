# A superblock that a loop leaves by the same side exit most of the time, since it goes another way than when the superblock was made, is made anew.
. "$(dirname "$0")/../lib.sh"
cat >program.c <<'END'
#include <stdio.h>
struct node { struct node *next; long kind; } ring[16];

/* Follows the ring n - 1 times; nodes of kind 0 go back right away. */
static __attribute__((noinline)) long walk(const struct node *p, long n)
{
	long sum = 0;
	__asm__ volatile("0: mov (%1), %1\n dec %2\n jz 1f\n cmpq $0, 8(%1)\n je 0b\n add 8(%1), %0\n jmp 0b\n 1:" : "+r"(sum), "+r"(p), "+r"(n) : : "memory", "cc");
	return sum;
}

static void paint(long kind)
{
	for (int k = 0; k < 16; k++)
		ring[k] = (struct node){&ring[(k + 5) % 16], kind};
}

int main(void)
{
	long sum = 0;
	for (int k = 0; k < 4; k++) {
		paint(k % 2 == 0);
		sum += walk(ring, k % 2 ? 2000000 : 200000);
	}
	printf("%ld\n", sum);
	return 0;
}
END
$CC -O1 -static -o program program.c || fail "the program does not compile"
for options in "" "--hot=4" "--versions=1"; do
	# shellcheck disable=SC2086 # options
	timeout 60 "$TW" record -q -f dep $options -o r.tw ./program >out || fail "$options: exit status $?: $(cat out)"
	[ "$(cat out)" = 399998 ] || fail "$options: $(cat out)"
	"$TW" check r.tw >check.out 2>&1 || fail "$options: $(cat check.out)"
	"$TW" info --json r.tw | tr -d '\n' >info
	tags=$(grep -o '"c": *{ *"raw_bytes": *[0-9]*' info | grep -o '[0-9]*$')
	blocks=$(grep -o '"blocks": *[0-9]*' info | head -n 1 | grep -o '[0-9]*$')
	# one record a turn would be one tag for two blocks, several turns in one are one for 16; the way is seen to be another after a while only
	awk -v t="$((tags / 2))" -v b="$blocks" 'BEGIN { exit !(b > 8000000 && t < b / 4) }' || fail "$options: $((tags / 2)) tags for $blocks blocks"
done
timeout 60 "$TW" record -f dep --verify -o v.tw ./program >out 2>verify.out || fail "--verify: exit status $?"
clean_verify verify.out || fail "--verify: $(cat verify.out)"
