/*
 * A system call that creates a process, made by the program's own instruction. Instrumented code comes here instead,
 * with the thread's pointer in the slot. All registers and flags are the program's, except those that a system call
 * overwrites: where to continue afterwards (rcx), and the instruction's address (r11). The child may have another stack.
 */
#include "registers.inc"
	.set	RSP, 32
	.set	RSP_BEFORE, 264
	.macro	tell function
	leaq	-128(%rsp), %rsp
	put_aside
	leaq	RSP_BEFORE(%rsp), %rax
	movq	%rax, RSP(%rsp)
	movq	%rsp, %rdi
	movq	%rsp, %rbx
	andq	$-16, %rsp
	cld
	call	\function
	movq	%rbx, %rsp
	.endm

	.text
	.globl	trackway_cc_copying
	.hidden	trackway_cc_copying
	.type	trackway_cc_copying, @function
	.p2align 4
trackway_cc_copying:
	.cfi_startproc
	.cfi_undefined rip
	tell	tw_cc_copying_begin
	testb	%al, %al
	je	1f
	take_back
	leaq	128(%rsp), %rsp
	syscall
	tell	tw_cc_copying_end
	take_back
	leaq	128(%rsp), %rsp
	jmp	*%rcx
1:	take_back
	leaq	128(%rsp), %rsp
	jmp	*%r11
	.cfi_endproc
	.size	trackway_cc_copying, .-trackway_cc_copying
	.section .note.GNU-stack,"",@progbits
