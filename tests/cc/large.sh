# A program with more blocks than one upper half of their numbers has room for: its files come to several groups, and call each other to and fro.
# timeout: 400
. "$(dirname "$0")/../cc.sh"
need_command gcc setarch python3
# Many blocks for little text: N(X) is n times X, and SKIP a block, with another that is passed over.
cat >blocks.h <<'X'
#define TEN(x)    x x x x x x x x x x
#define SKIP      "test %1, %1\n\tjnz 1f\n\tinc %0\n1:\n\t"
#define BLOCKS(x) __asm__ volatile(x : "+r"(s) : "r"(x_or_1))
X
# make_file NAME OTHER: 34,000 blocks, few of which run; each round calls the other file, and comes back in the middle of a block's neighbours
make_file() {
	{
		printf '#include "blocks.h"\nextern volatile int sink;\nint %s(int, int);\n' "$2"
		for ((f = 0; f < 200; f++)); do
			printf 'static __attribute__((noinline)) int part%d(int x, int n)\n{\n\tint s = x, x_or_1 = x | 1;\n' $f
			for ((k = 0; k < 14; k++)); do printf '\tif (x == %d) sink = s += %d;\n' $((f + k * 200)) $k; done
			printf '\tBLOCKS(TEN(SKIP SKIP SKIP SKIP SKIP SKIP SKIP));\n'
			printf '\tif (n > 0) s += %s(x + 7, n - 1);\n\treturn s + sink;\n}\n' "$2"
		done
		printf 'int %s(int x, int n)\n{\n\tswitch (x %% 200) {\n' "$1"
		for ((f = 0; f < 200; f++)); do printf '\tcase %d: return part%d(x, n);\n' $f $f; done
		printf '\t}\n\treturn 0;\n}\n'
	} >"$1.c"
}
make_file one two
make_file two one
cat >main.c <<'X'
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
volatile int sink;
jmp_buf out;
int one(int, int), two(int, int);
static int compare(const void *a, const void *b)
{
	return two(*(const int *)a, 0) - one(*(const int *)b, 0);
}
int main(void)
{
	int a[6] = {5, 3, 900, 1, 77, 4}, s = 0;
	for (int i = 0; i < 220; i++)
		s += one(i, 4) ^ two(i * 3, 3);
	qsort(a, 6, sizeof *a, compare);
	if (!setjmp(out) && one(3, 1))
		longjmp(out, 1);
	printf("%d %d\n", s, a[2]);
	return 0;
}
X
compile() { "$TW" cc "${@:2}" gcc -O0 -fPIC -c "$1" || fail "$*: does not compile"; }
compile one.c --large
compile main.c --large
compile two.c
one_sentence "$TW" cc gcc one.o two.o main.o -no-pie -o p
says 'more than 65520 instrumented blocks; compile all of it with trackway cc --large'
[ ! -e p ] || fail "a program that cannot be recorded is left"
compile two.c --large
"$TW" cc gcc one.o two.o main.o -no-pie -o p || fail "--large"
gcc -O0 -no-pie one.c two.c main.c -o p.plain || fail "gcc"
runs_as_plain p
same_as_engine p
"$TW" report --csv own.tw >report.csv
for f in one two main compare part3 part17; do grep -q ",$f,p" report.csv || fail "$f is not in the report"; done

# A file that has more by itself: the functions that come last are left alone.
sed 's/part/other/g; /^#include/d' two.c | cat one.c - main.c >whole.c
gcc -O0 whole.c -o whole.plain || fail "gcc"
"$TW" cc gcc -O0 whole.c -o whole 2>said || fail "a file with more: $(cat said)"
grep -q '^trackway cc: whole.c: [0-9]* functions are not instrumented: it has more than 65520 blocks' said || fail "a file with more: $(cat said)"
runs_as_plain whole
[ "$(info_value blocks)" -gt 1000 ] || fail "the rest of the file is not recorded"
