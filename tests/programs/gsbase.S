/* Accesses relative to a base of %gs that is not 0: operands of ModRM, mov with an absolute address, xlat, jumps and calls. */
#include "program.inc"
	BEGIN
	mov edi, 0x1001		/* ARCH_SET_GS */
	lea rsi, here[rip]
	mov eax, SYS_arch_prctl
	syscall
	mov rax, gs:[8]
	E R, here + 8, 8
	cmp rax, 12
	OK e
	mov rbx, 2
	mov r9, 3
	mov rax, gs:[rbx * 8 + 8]
	E R, here + 24, 8
	add gs:[r9 + rbx * 4 - 3], eax
	E M, here + 8, 4
	cmp qword ptr here[rip + 8], 26
	E R, here + 8, 8
	OK e
	.byte 0x65, 0x48, 0xa1	/* mov rax, gs:[8] */
	.quad 8
	E R, here + 8, 8
	cmp rax, 26
	OK e
	.byte 0x65, 0xa1	/* mov eax, gs:[16] */
	.quad 16
	E R, here + 16, 4
	cmp rax, 13
	OK e
	mov rax, -1
	.byte 0x66, 0x65, 0xa1	/* mov ax, gs:[0] */
	.quad 0
	E R, here, 2
	cmp rax, -0x10000 + 11
	OK e
	.byte 0x65, 0xa0	/* mov al, gs:[24] */
	.quad 24
	E R, here + 24, 1
	cmp al, 14
	OK e
	mov rax, 0x1122334455667788
	.byte 0x65, 0x48, 0xa3	/* mov gs:[32], rax */
	.quad 32
	E W, here + 32, 8
	.byte 0x65, 0xa2	/* mov gs:[33], al */
	.quad 33
	E W, here + 33, 1
	mov rcx, 0x1122334455668888
	cmp here[rip + 32], rcx
	E R, here + 32, 8
	OK e
	.byte 0x65, 0x67, 0x48, 0xa1	/* mov rax, gs:[8], an address of 32 bits */
	.long 8
	E R, here + 8, 8
	cmp rax, 26
	OK e
	xor ebx, ebx
	mov eax, 0xff10
	xlat byte ptr gs:[rbx]
	E R, here + 16, 1
	cmp eax, 0xff0d
	OK e
	lea rbx, [rbx + 8]
	mov al, 0x88
	xlat byte ptr gs:[rbx]
	E R, here + 0x90, 1
	cmp al, 99
	OK e
	lea rax, 1f[rip]
	mov gs:[40], rax
	E W, here + 40, 8
	jmp gs:[40]
	E R, here + 40, 8
	ud2
1:	/* an offset beyond 32 bits */
	mov edi, 0x1001
	lea rsi, here[rip]
	mov rax, 0x100000000
	lea rsi, [rsi + rax]
	mov eax, SYS_arch_prctl
	syscall
	.byte 0x65, 0x48, 0xa1	/* mov rax, gs:[-0x100000000] */
	.quad -0x100000000
	E R, here, 8
	cmp rax, 11
	OK e
	END

	.data
	.balign 64
here:	.quad 11, 12, 13, 14, 15, 16, 17, 18
	.skip 0x50
	.byte 99
	.skip 15
