# Where a loop works addresses out from a number that it loads, and from others that stay, the number is recorded, once, and what stays is recorded before the loop.
. "$(dirname "$0")/../cc.sh"
need_command gcc
cat >walk.c <<'X'
extern unsigned short before[];
extern unsigned char text[];
/* as a search of matches goes through a chain */
unsigned walk(const unsigned char *from, unsigned at, int length, unsigned mask, unsigned turns, unsigned char wanted)
{
	unsigned found = 0;
	do {
		if (from[at + length] == wanted)
			found++;
		at = before[at & mask];
	} while (--turns);
	return found;
}
X
cat >main.c <<'X'
#include <stdio.h>
unsigned short before[1 << 12];
unsigned char text[1 << 17];
unsigned walk(const unsigned char *, unsigned, int, unsigned, unsigned, unsigned char);
int main(void)
{
	enum { TURNS = 40000, MASK = (1 << 12) - 1, LENGTH = 7 };
	unsigned at = 5;
	unsigned long sum = 0;
	for (unsigned i = 0; i <= MASK; i++)
		before[i] = (unsigned short)(i * 40503 + 12345);
	const unsigned found = walk(text, at, LENGTH, MASK, TURNS, 0);
	for (int i = 0; i < TURNS; i++) {
		sum += (unsigned long)&text[at + LENGTH] + (unsigned long)&before[at & MASK];
		at = before[at & MASK];
	}
	printf("%lu\n", sum);
	return found != TURNS;
}
X
gcc -O2 -no-pie -c main.c || fail "main.c"
for options in "-O2 -no-pie" "-O1 -no-pie" "-O2 -no-pie -fno-ivopts"; do
	# shellcheck disable=SC2086
	"$TW" cc gcc $options -o walk walk.c main.o || fail "$options: it is not built"
	rm -rf walk.tw
	"$TW" record -q -o walk.tw ./walk >native || fail "$options: status $?"
	"$TW" dump walk.tw | python3 -c 'import sys; print(sum(int(line.split()[3], 16) for line in sys.stdin if line.split()[4] in "12" and line.split()[2] == "R"))' >recorded
	cmp native recorded || fail "$options: addresses: $(cat recorded) in the place of $(cat native)"
	# three blocks a turn, as compilers lay it out, one value and something
	"$TW" info --json walk.tw | python3 -c 'import json, sys; exit(json.load(sys.stdin)["written_bytes"] > 40000 * 15)' || fail "$options: it writes $("$TW" info walk.tw | grep 'bytes written')"
done
