/*
 * Entries from instrumented code into the run-time part, one for each register that can hold the buffer pointer. All
 * other registers and the flags are the program's own and keep their values. The caller has moved rsp down by 128, past
 * the red zone. For the bare entries it has not: the program has nothing below its stack pointer.
 */
#include "registers.inc"
	.text
	.macro way name, number
	.globl	trackway_cc_\name, trackway_cc_bare_\name
	.hidden	trackway_cc_\name, trackway_cc_bare_\name
	.type	trackway_cc_\name, @function
	.type	trackway_cc_bare_\name, @function
trackway_cc_\name:
	.cfi_def_cfa_offset 8
	pushq	$\number
	.cfi_def_cfa_offset 16
	jmp	checked
	.size	trackway_cc_\name, .-trackway_cc_\name
trackway_cc_bare_\name:
	.cfi_def_cfa_offset 8
	pushq	$\number + BARE
	.cfi_def_cfa_offset 16
	jmp	checked
	.size	trackway_cc_bare_\name, .-trackway_cc_bare_\name
	.endm
	.set	BARE, 16

	.cfi_startproc
	way	rax, 0
	way	rcx, 1
	way	rdx, 2
	way	rbx, 3
	way	rbp, 5
	way	rsi, 6
	way	rdi, 7
	way	r8, 8
	way	r9, 9
	way	r10, 10
	way	r11, 11
	way	r12, 12
	way	r13, 13
	way	r14, 14
	way	r15, 15
	.cfi_endproc

/* The number of the register lies between the return address and the flags. */
	.type	checked, @function
	.p2align 4
checked:
	.cfi_startproc
	.cfi_adjust_cfa_offset 8
	put_aside
	movq	136(%rsp), %rdx
	leaq	152(%rsp), %rax
	testl	$BARE, %edx
	jne	1f
	subq	$-128, %rax
1:	movq	%rax, 32(%rsp)
	andl	$BARE - 1, %edx
	movq	(%rsp,%rdx,8), %rdi
	movq	%rsp, %rsi
	movq	%rsp, %rbx
	.cfi_def_cfa_register rbx
	andq	$-16, %rsp
	cld
	call	tw_cc_checked
	movq	%rbx, %rsp
	.cfi_def_cfa_register rsp
	movq	136(%rsp), %rdx
	andl	$BARE - 1, %edx
	movq	%rax, (%rsp,%rdx,8)
	take_back
	leaq	8(%rsp), %rsp
	.cfi_adjust_cfa_offset -8
	ret
	.cfi_endproc
	.size	checked, .-checked

/* r11 may hold another thread's pointer, or none: takes it from the slot, and tests it. Nothing lies below the program's stack pointer. */
	.globl	trackway_cc_verify
	.hidden	trackway_cc_verify
	.type	trackway_cc_verify, @function
	.p2align 4
trackway_cc_verify:
	.cfi_startproc
	movq	trackway_cc_slot@gottpoff(%rip), %r11
	movq	%fs:(%r11), %r11
	testl	$0x100000, %r11d
	jne	trackway_cc_bare_r11
	ret
	.cfi_endproc
	.size	trackway_cc_verify, .-trackway_cc_verify

/* Tests whether the buffer is full, where nothing lies below the program's stack pointer. */
	.globl	trackway_cc_test
	.hidden	trackway_cc_test
	.type	trackway_cc_test, @function
	.p2align 4
trackway_cc_test:
	.cfi_startproc
	testl	$0x100000, %r11d
	jne	trackway_cc_bare_r11
	ret
	.cfi_endproc
	.size	trackway_cc_test, .-trackway_cc_test
	.section .note.GNU-stack,"",@progbits
