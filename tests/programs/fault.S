/* String instructions, stores and pushes that fault in the middle: a handler of SIGSEGV makes the page accessible and returns, and everything
 * goes on where it was. Iterations made before the fault count once; an instruction that faults counts when it is complete. */
#include "program.inc"
	.macro PROTECT address, how
	lea rdi, \address[rip]
	mov esi, 4096
	mov edx, \how
	mov eax, SYS_mprotect
	syscall
	.endm

	BEGIN
	mov edi, 11
	lea rsi, action[rip]
	xor edx, edx
	mov r10d, 8
	mov eax, SYS_rt_sigaction
	syscall
	test eax, eax
	OK z

	lea rdi, stack[rip]
	xor esi, esi
	mov eax, SYS_sigaltstack
	syscall
	test eax, eax
	OK z

	PROTECT page, 0
	lea rdi, page[rip - 3]
	mov ecx, 5
	mov al, 7
	rep stosb
	E W, page-3, 1
	E W, page-2, 1
	E W, page-1, 1
	E M, faults, 4		/* in the handler */
	E W, page, 1
	E W, page + 1, 1
	cmp byte ptr page[rip + 1], 7
	E R, page + 1, 1
	OK e
	test ecx, ecx
	OK z

	PROTECT page, 0
	lea rsi, page[rip - 8]
	lea rdi, target[rip]
	mov ecx, 3
	rep movsq
	E R, page-8, 8
	E W, target, 8
	E M, faults, 4
	E R, page, 8
	E W, target + 8, 8
	E R, page + 8, 8
	E W, target + 16, 8

	PROTECT page, 0
	std
	lea rsi, page[rip + 4096]
	lea rdi, target[rip]
	mov ecx, 2
	repe cmpsb
	E R, page + 4096, 1
	E R, target, 1
	E M, faults, 4
	E R, page+4095, 1
	E R, target-1, 1
	cld
	OK e
	lea rsi, page[rip]
	lodsd
	E R, page, 4

	PROTECT page, 1			/* readable: a read-modify-write faults as a whole */
	mov eax, 5
	mov ebx, 6
	add page[rip], eax
	E M, faults, 4
	E M, page, 4
	cmp ebx, 6
	OK e

	PROTECT page, 0			/* many references of a block before the fault */
	mov rax, target[rip]
	E R, target, 8
	push rax
	E W, stack_top-8, 8
	mov target[rip], rax
	E W, target, 8
	inc dword ptr page[rip + 4]
	E M, faults, 4
	E M, page + 4, 4
	pop rcx
	E R, stack_top-8, 8
	cmp rax, rcx
	OK e

	PROTECT page, 0			/* a push onto the page */
	mov rbx, rsp
	lea rsp, page[rip + 4096]
	push rax
	E M, faults, 4
	E W, page + 4088, 8
	pop rax
	E R, page + 4088, 8
	mov rsp, rbx

	PROTECT page, 0			/* a push from the page: all or nothing */
	push qword ptr page[rip + 4088]
	E M, faults, 4
	E R, page + 4088, 8
	E W, stack_top-8, 8
	pop rcx
	E R, stack_top-8, 8
	cmp rax, rcx
	OK e
	cmp dword ptr faults[rip], 7
	E R, faults, 4
	OK e
	jmp past

	/* void handler(int), on the alternate stack: uses none of it, changes registers, and goes back by the system call itself. */
handler:
	lea rax, alternate[rip]
	cmp rsp, rax
	jb 1f
	inc dword ptr faults[rip]
1:	PROTECT page, 3
	mov ecx, -1
	mov rbx, -1
	std
	add rsp, 8
	mov eax, SYS_rt_sigreturn
	syscall
	ud2
past:
	END

	.section .rodata
	.balign 8
action:	.quad handler, 0x0c000000, handler, 0	/* SA_RESTORER | SA_ONSTACK */
stack:	.quad alternate, 0, 65536

	.bss
	.balign 4096
	.skip 4096
page:	.skip 4096
	.skip 4096
target:	.skip 64
faults:	.skip 4
	.balign 4096
alternate: .skip 65536
