# All formats record the same of the same program, as far as they hold it, and say what they do not hold.
. "$(dirname "$0")/../lib.sh"
asm_program work <<'END'
#include "program.inc"
	BEGIN
	mov ebp, 3000
	lea rbx, table[rip]
	xor eax, eax
1:	imul eax, eax, 1103515245
	add eax, 12345
	mov ecx, eax
	shr ecx, 22
	inc dword ptr [rbx + rcx * 4]
	test cl, 1
	jz 2f
	push rcx
	call even
	pop rcx
2:	lea rdi, [rbx + 4096]
	and ecx, 7
	rep stosb
	dec ebp
	jnz 1b
	jmp 3f
even:	mov rdx, [rbx + rcx * 4]
	ret
3:
	END
	.bss
table:	.skip 8192
END
for f in dep call mem_addr bb_pc+mem_addr dep06 dep-c bb_pc dep06-c cf_bit; do
	"$TW" record -q -f $f -o $f.tw ./work >/dev/null || fail "record -f $f"
done
"$TW" record -q -f dep -o again.tw ./work >/dev/null || fail again
for f in dep call again mem_addr bb_pc+mem_addr dep06; do
	check_good $f.tw
	"$TW" dump --refs $f.tw >$f.refs || fail "dump $f.tw"
	"$TW" dump --lackey $f.tw >$f.lackey || fail "dump --lackey $f.tw"
done
for f in dep again call mem_addr bb_pc+mem_addr dep06 dep-c bb_pc dep06-c cf_bit; do
	check_good $f.tw
	"$TW" dump --blocks $f.tw >$f.blocks || fail "dump --blocks $f.tw"
done
[ "$(wc -l <dep.refs)" -gt 6000 ] || fail "only $(wc -l <dep.refs) references"
cmp dep.refs again.refs || fail "two runs differ in references"
for f in call mem_addr bb_pc+mem_addr dep06; do
	cmp dep.refs $f.refs || fail "dep and $f differ in references"
	cmp <(grep ^I dep.lackey | uniq) <(grep ^I $f.lackey | uniq) || fail "dep and $f differ in instructions"
done
cmp dep.blocks again.blocks || fail "two runs differ in blocks"
# What ran, without where fragments end and how many references they made.
ran() { "$TW" dump --lackey "$1" | grep ^I; }
[ "$(ran dep-c.tw | wc -l)" -gt 6000 ] || fail "only $(ran dep-c.tw | wc -l) instructions"
for f in dep-c bb_pc mem_addr dep06 dep06-c cf_bit; do
	cmp <(ran dep.tw | uniq) <(ran $f.tw | uniq) || fail "dep and $f differ in instructions"
done
for f in dep-c bb_pc dep06-c cf_bit; do
	one_sentence "$TW" dump --refs $f.tw
	says "format $f holds no memory references"
	"$TW" report $f.tw >report.out || fail "report of $f"
	grep -q "a recording of format $f holds none" report.out || fail "report of $f does not say what is missing"
	one_sentence "$TW" record --verify -f $f ./work
	says "nothing to compare in format"
done
# Sizes: as many values as references, and none.
values() { "$TW" info "$1" | awk '/^values/ { print $3 / 8 }'; }
[ "$(values dep-c.tw)" = 0 ] || fail "dep-c has values"
[ "$(values dep.tw)" -lt "$(values mem_addr.tw)" ] || fail "dep has as many values as mem_addr"
for f in dep06 dep06-c cf_bit; do
	one_sentence "$TW" record --order -f $f ./work
	says "order cannot be had in format"
done
one_sentence "$TW" record -f nonsense ./work
says 'dep, dep-c, call, none, bb_pc, mem_addr, bb_pc\+mem_addr, dep06, dep06-c and cf_bit'
