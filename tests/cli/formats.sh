# `dep` and `call` record the same references of the same program, run after run.
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
"$TW" record -q -f dep -o dep.tw ./work >/dev/null || fail dep
"$TW" record -q -f call -o call.tw ./work >/dev/null || fail call
"$TW" record -q -f dep -o again.tw ./work >/dev/null || fail again
for f in dep call again; do
	check_good $f.tw
	"$TW" dump --refs $f.tw >$f.refs || fail "dump $f.tw"
	"$TW" dump --lackey $f.tw >$f.lackey || fail "dump --lackey $f.tw"
	"$TW" dump --blocks $f.tw >$f.blocks || fail "dump --blocks $f.tw"
done
[ "$(wc -l <dep.refs)" -gt 6000 ] || fail "only $(wc -l <dep.refs) references"
cmp dep.refs call.refs || fail "dep and call differ in references"
cmp dep.refs again.refs || fail "two runs differ in references"
cmp <(grep ^I dep.lackey | uniq) <(grep ^I call.lackey | uniq) || fail "dep and call differ in instructions"
cmp dep.blocks again.blocks || fail "two runs differ in blocks"
