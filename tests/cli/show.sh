# The debugging aid: the application's instructions, the instrumented ones and the descriptor of a fragment.
. "$(dirname "$0")/../lib.sh"
asm_program little <<'END'
#include "program.inc"
	BEGIN
	mov eax, data[rip]
	E R, data, 4
	push rax
	E W, stack_top-8, 8
	END
	.data
data:	.long 7
END
start=$(nm little | awk '$3 == "_start" { sub(/^0*/, "", $1); print $1 }')
"$TW" record -q -o r.tw --show-fragment="$start" ./little >out 2>shown || fail "--show-fragment"
grep -q "$start" shown || fail "the fragment's address is not shown"
grep -q push shown || fail "the fragment's instructions are not shown"
"$TW" record -q -o r.tw --show-fragment=all ./little >out 2>all || fail "--show-fragment=all"
[ "$(wc -l <all)" -gt "$(wc -l <shown)" ] || fail "all shows no more than one"
"$TW" dump --code r.tw >code || fail "dump --code"
grep -q "$start" code || fail "dump --code does not have the fragment"
