# Debug lines, symbols, sizes and unwind tables are as in the plain build: addr2line, nm, gdb.
. "$(dirname "$0")/../cc.sh"
need_command gcc gdb addr2line objdump nm
cat >p.c <<'X1'
#include <stdio.h>
#include <stdlib.h>
struct node {
	struct node *next;
	int v;
};
static int table[64];
__attribute__((noinline)) int inner(int x)
{
	table[x & 63] += x;
	if (x == 7)
		puts("seven");
	return table[(x + 1) & 63];
}
__attribute__((noinline)) static int middle(struct node *n)
{
	int s = 0;
	for (; n; n = n->next)
		s += inner(n->v);
	return s;
}
__attribute__((noinline)) int outer(int k)
{
	struct node *head = NULL;
	for (int i = 0; i < k; i++) {
		struct node *n = malloc(sizeof *n);
		n->v = i;
		n->next = head;
		head = n;
	}
	int s = middle(head);
	return s * 2;
}
int main(void)
{
	printf("%d\n", outer(10));
	return 0;
}
X1
# range PROGRAM FUNCTION: options of objdump for its code, as its symbol has it
range() {
	nm -S "$1" | awk -v f="$2" '$3 ~ /^[tT]$/ && $4 == f { print $1, $2 }' | {
		read -r at size
		printf -- '--start-address=0x%x --stop-address=0x%x' $((16#$at)) $((16#$at + 16#$size))
	}
}
# lines PROGRAM: of each function, which lines its instructions are of
lines() {
	for f in inner middle outer main; do
		objdump -d --no-show-raw-insn $(range "$1" $f) "$1" | sed -n 's/^ *\([0-9a-f]*\):	.*/\1/p' | addr2line -e "$1" | sed 's/.*://; s/ .*//' | sort -un |
			sed "s/^/$f /"
	done
}
returns() { # PROGRAM: how many return instructions each function has
	for f in inner middle outer main; do
		echo "$f $(objdump -d --no-show-raw-insn $(range "$1" $f) "$1" | grep -cE '	(repz )?ret')"
	done
}
for flags in "-O2 -g" "-O0 -g"; do
	look_at='^#[0-9]|^x = '
	case $flags in *-O0*) look_at+='|^[0-9]+	' ;; esac # optimized, lines have several places each
	instrumented p gcc $flags p.c
	lines p.plain >plain.lines && lines p >own.lines && [ -s own.lines ] || fail "no lines"
	cmp plain.lines own.lines || {
		diff plain.lines own.lines
		fail "$flags: lines are not those of the plain build"
	}
	returns p.plain >plain.returns && returns p >own.returns && cmp plain.returns own.returns || fail "$flags: sizes of symbols leave code out"
	# The debugger stops where it is told to, goes up, finishes, and steps from line to line as in the plain build.
	for p in p.plain p; do
		gdb -q -batch -nx -ex 'set debuginfod enabled off' -ex 'break p.c:12' -ex run -ex 'backtrace' -ex 'info args' -ex 'delete' -ex 'tbreak puts' -ex continue \
			-ex 'backtrace' -ex 'up' -ex 'info line' -ex 'finish' -ex 'next' -ex 'next' -ex 'next' "./$p" </dev/null 2>/dev/null >$p.all
		grep -qE 'not permitted|Could not trace' $p.all && skip "no debugger can be used here"
		grep -E "$look_at" $p.all | sed -E 's/[a-z]+@entry=//g; s/0x[0-9a-f]+ in //; s/=0x[0-9a-f]+/=P/g; s/ from .*//' >$p.gdb
	done
	grep -q '^#3 .*main' p.gdb || fail "$flags: the debugger does not find the callers: $(cat p.all)"
	cmp p.plain.gdb p.gdb || {
		diff p.plain.gdb p.gdb
		fail "$flags: the debugger sees something else"
	}
done
