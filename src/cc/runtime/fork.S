/*
 * syscall(), as in the C library, but processes that it creates have their own streams (fork.c), and filters of system
 * calls are examined (limits.c). Everything else is as if the C library's were called: it has no frame.
 */
#include <asm/unistd.h>

	.set	CLONE_VM, 0x100
	.set	STACK_OF_CLONE3, 40 /* in struct clone_args, whose first member is its flags */
	.set	LEAST_OF_CLONE3, 64
	.text
	.weak	syscall
	.type	syscall, @function
	.p2align 4
syscall:
	.cfi_startproc
	cmpq	$__NR_fork, %rdi
	je	tw_cc_copying_syscall
	cmpq	$__NR_clone, %rdi
	je	2f
	cmpq	$__NR_clone3, %rdi
	je	3f
	cmpq	$__NR_seccomp, %rdi
	je	tw_cc_limiting_syscall
1:	movq	%rdi, %rax
	movq	%rsi, %rdi
	movq	%rdx, %rsi
	movq	%rcx, %rdx
	movq	%r8, %r10
	movq	%r9, %r8
	movq	8(%rsp), %r9
	syscall
	cmpq	$-4095, %rax
	jae	4f
	ret
2:	testq	$CLONE_VM, %rsi /* a clone that shares its parent's memory, or has its own stack */
	jnz	1b
	testq	%rdx, %rdx
	jnz	1b
	jmp	tw_cc_copying_syscall
3:	testq	%rsi, %rsi
	je	1b
	cmpq	$LEAST_OF_CLONE3, %rdx
	jb	1b
	testq	$CLONE_VM, (%rsi)
	jnz	1b
	cmpq	$0, STACK_OF_CLONE3(%rsi)
	jne	1b
	jmp	tw_cc_copying_syscall
4:	movq	%rax, %rdi
	subq	$8, %rsp
	.cfi_def_cfa_offset 16
	call	tw_cc_answer
	cltq
	addq	$8, %rsp
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size	syscall, .-syscall
	.section .note.GNU-stack,"",@progbits
