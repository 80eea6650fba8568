/* Indirect calls and jumps: through registers, memory, tables and the stack; to many targets from one place. */
#include "program.inc"
#define T stack_top
	BEGIN
	lea rax, add1[rip]
	xor ecx, ecx
	call rax
	E W, T-8, 8
	E R, T-8, 8
	call qword ptr vector[rip]
	E R, vector, 8
	E W, T-8, 8
	E R, T-8, 8
	lea rbx, vector[rip]
	mov edx, 1
	call [rbx + rdx * 8]
	E R, vector + 8, 8
	E W, T-8, 8
	E R, T-8, 8
	cmp ecx, 12
	OK e
	lea rax, add10[rip]
	push rax
	E W, T-8, 8
	call [rsp]		/* addressed before rsp moves */
	E R, T-8, 8
	E W, T-16, 8
	E R, T-16, 8
	pop rax
	E R, T-8, 8
	cmp ecx, 22
	OK e
	jmp qword ptr vector[rip + 16]
	E R, vector + 16, 8
	ud2
landing: lea rax, 2f[rip]
	jmp rax
	ud2
2:	lea rax, 3f[rip]
	push rax
	E W, T-8, 8
	ret			/* a jump by return */
	E R, T-8, 8
	ud2
3:	lea rax, 4f[rip]
	push rax
	E W, T-8, 8
	jmp [rsp]
	E R, T-8, 8
	ud2
4:	pop rax
	E R, T-8, 8

	/* a jump table in a loop, four targets in turn */
	xor ebp, ebp
	xor esi, esi
5:	mov eax, esi
	and eax, 3
	lea rdx, offsets[rip]
	movsxd rax, [rdx + rax * 4]
	add rax, rdx
	jmp rax
case0:	add ebp, 1
	jmp 6f
case1:	add ebp, 2
	jmp 6f
case2:	add ebp, 3
	jmp 6f
case3:	add ebp, 4
6:	inc esi
	cmp esi, 6
	jne 5b
	ESTEP R, offsets, 4, 4, 4
	ESTEP R, offsets, 4, 2, 4
	cmp ebp, 13
	OK e

	/* call, then a return address that was changed */
	call changed
	E W, T-8, 8
	E M, T-8, 8
	E R, T-8, 8
	ud2
	cmp ecx, 22
	OK e

	/* recursion, three deep */
	mov edi, 3
	call deep
	E W, T-8, 8
	E W, T-16, 8
	E W, T-24, 8
	E R, T-24, 8
	E R, T-16, 8
	E R, T-8, 8
	jmp past

add1:	add ecx, 1
	ret
add10:	add ecx, 10
	repz ret
changed: add qword ptr [rsp], 2
	ret
deep:	dec edi
	jz 7f
	call deep
7:	ret
past:
	END

	.section .rodata
offsets: .long case0 - offsets, case1 - offsets, case2 - offsets, case3 - offsets
	.data
	.balign 64
vector:	.quad add1, add10, landing
