# What replay knows at the end of one block it knows in the next one, where that is first come by so.
# Who comes by with less knowledge, or by way of a pointer, has the same references as natively.
. "$(dirname "$0")/../lib.sh"

# 300 blocks in a row, each with a reference by rbx and a branch that is not taken; then 300 that jump from one to the next; each runs once.
{
	echo '.intel_syntax noprefix; .global _start; _start: lea rbx, data[rip]; mov rdi, 1'
	for k in $(seq 300); do
		echo "mov rax, [rbx + 8 * ($k % 50)]; test rdi, rdi; jz end"
	done
	for k in $(seq 300); do
		echo "jmp to_$k; .byte 0x0f, 0x0b; to_$k: mov rcx, [rbx + 8 * ($k % 50)]"
	done
	echo 'end: xor edi, edi; mov eax, 60; syscall; .bss; data: .skip 512'
} | asm_program row
whole "$PWD/row"
"$TW" info --json recording.tw >info.json || fail "info --json"
python3 - <<'E2' || fail "blocks in a row are recorded as if nothing were known of them"
import json, sys
info = json.load(open("info.json"))
values = info["streams"]["m"]["raw_bytes"] // 8
print(info["refs"], "references:", values, "values")
sys.exit(info["refs"] < 600 or values > 40)
E2

# One block come by in turn by a branch behind which rbx is known, by one behind which it is not, and by an indirect jump; another address in rbx each time. A
# function called from several places, one of which knows more; a loop of calls that comes back to its own start; a call into the middle of a block.
asm_program ways <<'E2'
.intel_syntax noprefix
.global _start
_start:
	xor ebp, ebp
again:
	lea rbx, data[rip]
	lea rbx, [rbx + 8 * rbp]
	mov rax, [rbx]
	test bpl, 1
	jz one
	add rax, [rbx + 64]
	call get
	test bpl, 2
	jz one
	mov rbx, [rsp - 8]
	call get
	lea rax, one[rip]
	test bpl, 4
	jz one
	jmp rax
one:	mov rcx, [rbx]
	add rcx, [rbx + 8]
	call deeper
	call two
	mov rdx, [rbx]
	inc ebp
	cmp ebp, 40
	jne again
	mov eax, 60
	xor edi, edi
	syscall
get:	lea rbx, data[rip + 256]
	mov rsi, [rbx + 8]
	ret
deeper:	push rbx
	mov rbx, [rsp]
	jmp 1f
two:	mov rcx, [rbx + 16]
	ret
1:	call two
	pop rbx
	test bpl, 3
	jne 2f
	call 3f
3:	pop rax
	mov rax, [rbx]
2:	ret
.bss
data:	.skip 1024
E2
whole "$PWD/ways"
for options in "--hot=0" "--hot=1" "-f dep-c" "-f dep06" "--order"; do
	read -ra RECORD_OPTIONS <<<"$options"
	whole "$PWD/ways"
done
