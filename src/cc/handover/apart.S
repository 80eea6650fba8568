	.text
/*
 * tw_cc_apart(fn, arg, stack, n): calls fn(arg) on the stack that ends at `stack`. The vector registers are saved: in n
 * bytes by xsave, or in 512 by fxsave if n is 0.
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
