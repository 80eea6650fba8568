/*
 * Where instrumented code calls the run-time part from, one way in for each register that can hold the buffer pointer. All other registers are the program's own,
 * and keep their values; so do the flags. The caller has moved rsp down by 128, past the red zone.
 */
#include "registers.inc"
	.text
	.macro way name, number
	.globl	trackway_cc_\name
	.hidden	trackway_cc_\name
	.type	trackway_cc_\name, @function
	.p2align 4
trackway_cc_\name:
	put_aside
	movq	8*\number(%rsp), %rdi
	movq	%rsp, %rsi
	movl	$\number, %edx
	movq	%rsp, %rbx
	andq	$-16, %rsp
	cld
	call	tw_cc_checked
	movq	%rbx, %rsp
	movq	%rax, 8*\number(%rsp)
	take_back
	ret
	.size	trackway_cc_\name, .-trackway_cc_\name
	.endm

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

/*
 * The same for r11 where nothing of the program's stands below its stack: the caller has not moved rsp. trackway_cc_verify takes the pointer from the slot first, whatever r11 has.
 */
	.globl	trackway_cc_verify, trackway_cc_bare
	.hidden	trackway_cc_verify, trackway_cc_bare
	.type	trackway_cc_verify, @function
	.type	trackway_cc_bare, @function
	.p2align 4
trackway_cc_verify:
	movq	trackway_cc_slot@gottpoff(%rip), %r11
	movq	%fs:(%r11), %r11
	testl	$0x100000, %r11d
	jne	trackway_cc_bare
	ret
	.size	trackway_cc_verify, .-trackway_cc_verify
	.p2align 4
trackway_cc_bare:
	leaq	-120(%rsp), %rsp
	pushq	120(%rsp)
	put_aside
	movq	88(%rsp), %rdi
	movq	%rsp, %rsi
	movl	$11, %edx
	movq	%rsp, %rbx
	andq	$-16, %rsp
	cld
	call	tw_cc_checked
	movq	%rbx, %rsp
	movq	%rax, 88(%rsp)
	take_back
	ret	$128
	.size	trackway_cc_bare, .-trackway_cc_bare

/* Where a second version is entered at the place in rax, and the switch has changed since. Its caller has rax on the stack, past the red zone. */
	.globl	trackway_cc_entered
	.hidden	trackway_cc_entered
	.type	trackway_cc_entered, @function
	.p2align 4
trackway_cc_entered:
	put_aside
	movq	0(%rsp), %rdi
	movq	%rsp, %rbx
	andq	$-16, %rsp
	cld
	call	tw_cc_entered
	movq	%rbx, %rsp
	take_back
	ret
	.size	trackway_cc_entered, .-trackway_cc_entered
	.section .note.GNU-stack,"",@progbits
