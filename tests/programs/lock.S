/* Read-modify-write instructions, locked and not: one modification each. Plain reads, writes and conditional moves for contrast. */
#include "program.inc"
	BEGIN
	lea rdi, data[rip]
	mov ecx, 3
	lock add [rdi], ecx
	E M, data, 4
	lock inc byte ptr [rdi + 4]
	E M, data + 4, 1
	lock dec qword ptr [rdi + 8]
	E M, data + 8, 8
	lock or word ptr [rdi], 0x100
	E M, data, 2
	lock bts dword ptr [rdi], 3
	E M, data, 4
	OK nc
	lock neg dword ptr [rdi]
	E M, data, 4
	lock not dword ptr [rdi]
	E M, data, 4
	lock and byte ptr [rdi], 0xf
	E M, data, 1
	lock xor [rdi], rcx
	E M, data, 8
	lock sub [rdi], cx
	E M, data, 2
	lock adc [rdi], ecx
	E M, data, 4
	lock sbb [rdi], ecx
	E M, data, 4
	add [rdi], ecx
	E M, data, 4
	inc dword ptr [rdi]
	E M, data, 4
	shl dword ptr [rdi], 2
	E M, data, 4
	shr word ptr [rdi], cl
	E M, data, 2
	rcl byte ptr [rdi], 1
	E M, data, 1
	shld [rdi], ecx, 5
	E M, data, 4
	rol qword ptr [rdi], cl
	E M, data, 8
	cmp [rdi], ecx
	E R, data, 4
	test [rdi], cl
	E R, data, 1
	add rcx, [rdi]
	E R, data, 8
	xor eax, eax
	cmovz ecx, [rdi]
	E R, data, 4
	cmovnz rcx, [rdi + 8]	/* not taken, read all the same */
	E R, data + 8, 8
	setz [rdi]
	E W, data, 1
	mov [rdi], cx
	E W, data, 2
	mov dword ptr [rdi], 9
	E W, data, 4
	movzx eax, byte ptr [rdi]
	E R, data, 1
	movsx rax, word ptr [rdi]
	E R, data, 2
	movsxd rax, dword ptr [rdi]
	E R, data, 4
	movbe rax, [rdi]
	E R, data, 8
	movbe [rdi], eax
	E W, data, 4
	imul eax, [rdi], 7
	E R, data, 4
	mul qword ptr [rdi]
	E R, data, 8
	mov qword ptr [rdi], 3
	E W, data, 8
	xor edx, edx
	div dword ptr [rdi]
	E R, data, 4
	popcnt rax, [rdi]
	E R, data, 8
	bsf eax, [rdi]
	E R, data, 4
	crc32 eax, byte ptr [rdi]
	E R, data, 1
	andn eax, ecx, [rdi]
	E R, data, 4
	mulx rax, rdx, [rdi]
	E R, data, 8
	shlx eax, [rdi], ecx
	E R, data, 4
	adcx eax, [rdi]
	E R, data, 4
	mov ax, cs
	mov [rdi], cs
	E W, data, 2
	verr word ptr [rdi]
	E R, data, 2
	END

	.data
	.balign 64
data:	.quad 0, 0
