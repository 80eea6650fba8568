# A program at a fixed address, with data at addresses of 32 bits, dynamically and statically linked.
. "$(dirname "$0")/../lib.sh"
cc_program fixed -no-pie -fno-pie <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static int table[1000];
static int by_value(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
int main(int argc, char **argv)
{
	unsigned x = 1;
	for (int i = 0; i < 1000; i++)
		table[i] = (x = x * 1103515245 + 12345) >> 16;
	qsort(table, 1000, sizeof *table, by_value);
	char *s = malloc(1000);
	memset(s, 'x', 999);
	s[999] = 0;
	printf("%d %d %zu %d %s %p\n", table[0], table[999], strlen(s), argc, argv[0], (void *)table);
	return 7;
}
END
whole ./fixed
$CC -O1 -static -no-pie -o fixed fixed.c || fail "cannot link statically"
whole ./fixed
$CC -O1 -static-pie -fPIE -o fixed fixed.c && sed -i 's/ %p//; s/, (void \*)table//' fixed.c && $CC -O1 -static-pie -fPIE -o fixed fixed.c || fail "cannot link as static PIE"
whole ./fixed
