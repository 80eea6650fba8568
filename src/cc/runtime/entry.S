/*
 * Where instrumented code calls the run-time part from, one way in for each register that can hold the buffer pointer. All other registers are the program's own,
 * and keep their values; so do the flags. The caller has moved rsp down by 128, past the red zone.
 */
	.text
	.macro put_aside
	pushfq
	leaq	-128(%rsp), %rsp
	movq	%rax, 0(%rsp)
	movq	%rcx, 8(%rsp)
	movq	%rdx, 16(%rsp)
	movq	%rbx, 24(%rsp)
	leaq	272(%rsp), %rax
	movq	%rax, 32(%rsp)
	movq	%rbp, 40(%rsp)
	movq	%rsi, 48(%rsp)
	movq	%rdi, 56(%rsp)
	movq	%r8, 64(%rsp)
	movq	%r9, 72(%rsp)
	movq	%r10, 80(%rsp)
	movq	%r11, 88(%rsp)
	movq	%r12, 96(%rsp)
	movq	%r13, 104(%rsp)
	movq	%r14, 112(%rsp)
	movq	%r15, 120(%rsp)
	.endm

	.macro take_back
	movq	0(%rsp), %rax
	movq	8(%rsp), %rcx
	movq	16(%rsp), %rdx
	movq	24(%rsp), %rbx
	movq	40(%rsp), %rbp
	movq	48(%rsp), %rsi
	movq	56(%rsp), %rdi
	movq	64(%rsp), %r8
	movq	72(%rsp), %r9
	movq	80(%rsp), %r10
	movq	88(%rsp), %r11
	movq	96(%rsp), %r12
	movq	104(%rsp), %r13
	movq	112(%rsp), %r14
	movq	120(%rsp), %r15
	leaq	128(%rsp), %rsp
	popfq
	.endm

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

/* Where a function is entered at which recording starts or stops (places.c): which of it in rax, which its caller has on the stack, past the red zone. */
	.globl	trackway_cc_place
	.hidden	trackway_cc_place
	.type	trackway_cc_place, @function
	.p2align 4
trackway_cc_place:
	put_aside
	movq	0(%rsp), %rdi
	movq	%rsp, %rbx
	andq	$-16, %rsp
	cld
	call	tw_cc_at_place
	movq	%rbx, %rsp
	take_back
	ret
	.size	trackway_cc_place, .-trackway_cc_place

/* Where a signal handler returns to. Unwinders know it by its bytes. */
	.globl	tw_cc_restore
	.hidden	tw_cc_restore
	.type	tw_cc_restore, @function
	.p2align 4
	nop
tw_cc_restore:
	movq	$15, %rax
	syscall
	.size	tw_cc_restore, .-tw_cc_restore
/*
 * tw_cc_apart(fn, arg, stack, n): calls fn(arg) on the stack that ends at `stack`, with the vector registers put aside: in n bytes by xsave, or in 512 by fxsave if n is 0.
 */
	.globl	tw_cc_apart
	.hidden	tw_cc_apart
	.type	tw_cc_apart, @function
	.p2align 4
tw_cc_apart:
	pushq	%rbp
	pushq	%rbx
	movq	%rsp, %rbp
	movq	%rdi, %r8
	movq	%rsi, %r9
	movq	%rcx, %rbx
	leaq	-576(%rdx), %rsp
	andq	$-64, %rsp
	subq	%rcx, %rsp
	xorl	%eax, %eax
	movl	$72, %ecx
	movq	%rsp, %rdi
	rep stosq
	testq	%rbx, %rbx
	jz	1f
	movl	$-1, %eax
	movl	%eax, %edx
	xsave64	(%rsp)
	jmp	2f
1:	fxsave64 (%rsp)
2:	fninit
	movl	$0x1f80, -8(%rbp)
	ldmxcsr	-8(%rbp)
	movq	%r9, %rdi
	call	*%r8
	testq	%rbx, %rbx
	jz	3f
	movl	$-1, %eax
	movl	%eax, %edx
	xrstor64 (%rsp)
	jmp	4f
3:	fxrstor64 (%rsp)
4:	movq	%rbp, %rsp
	popq	%rbx
	popq	%rbp
	ret
	.size	tw_cc_apart, .-tw_cc_apart
	.section .note.GNU-stack,"",@progbits
