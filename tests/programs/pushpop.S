/* The stack: push and pop of everything, through rsp too; flags; near calls and returns. */
#include "program.inc"
#define T stack_top
	BEGIN
	push rax
	E W, T-8, 8
	push 5
	E W, T-16, 8
	push 0x12345678
	E W, T-24, 8
	push qword ptr data[rip]
	E R, data, 8
	E W, T-32, 8
	push qword ptr [rsp + 8]	/* addressed before rsp moves */
	E R, T-24, 8
	E W, T-40, 8
	cmp qword ptr [rsp], 0x12345678
	E R, T-40, 8
	OK e
	push rsp
	E W, T-48, 8
	pop rax
	E R, T-48, 8
	cmp rax, rsp
	OK e
	pop qword ptr data[rip + 8]
	E R, T-40, 8
	E W, data + 8, 8
	pop qword ptr [rsp + 8]		/* addressed after rsp moves */
	E R, T-32, 8
	E W, T-16, 8
	cmp qword ptr [rsp + 8], 42
	E R, T-16, 8
	OK e
	pop qword ptr [rsp]
	E R, T-24, 8
	E W, T-16, 8
	pop rcx
	E R, T-16, 8
	cmp rcx, 0x12345678
	OK e
	pushw 7
	E W, T-10, 2
	push word ptr data[rip]
	E R, data, 2
	E W, T-12, 2
	pop ax
	E R, T-12, 2
	pop word ptr [rsp + 2]
	E R, T-10, 2
	E W, T-6, 2
	pop rax
	E R, T-8, 8
	push fs
	E W, T-8, 8
	pop rax
	E R, T-8, 8
	stc
	pushfq
	E W, T-8, 8
	clc
	popfq
	E R, T-8, 8
	OK c
	pushf
	E W, T-8, 8
	pop rax
	E R, T-8, 8
	bt eax, 0
	OK c
	pushfw
	E W, T-2, 2
	popfw
	E R, T-2, 2
	call 1f
	E W, T-8, 8
1:	pop rax
	E R, T-8, 8
	lea rcx, 1b[rip]
	cmp rax, rcx
	OK e
	push 1
	E W, T-8, 8
	push 2
	E W, T-16, 8
	call twice
	E W, T-24, 8
	E R, T-16, 4		/* in the callee */
	E R, T-24, 8		/* ret 16 */
	cmp eax, 4
	OK e
	lea rax, stack_top[rip]
	cmp rsp, rax
	OK e
	mov rbx, rsp
	mov qword ptr [rsp], 0x77
	E W, T, 8
	pop rsp			/* takes the value, not the increment */
	E R, T, 8
	cmp rsp, 0x77
	OK e
	mov rsp, rbx
	mov [rsp - 128], rax	/* the red zone is ours */
	E W, T-128, 8
	mov [rsp - 8], rax
	E W, T-8, 8
	jmp 2f
2:	cmp [rsp - 128], rax
	E R, T-128, 8
	OK e
	cmp [rsp - 8], rax
	E R, T-8, 8
	OK e
	jmp past
twice:	mov eax, [rsp + 8]
	add eax, eax
	ret 16
past:
	END

	.data
	.balign 64
data:	.quad 42, 0
