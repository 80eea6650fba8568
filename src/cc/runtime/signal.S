	.text
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
	.section .note.GNU-stack,"",@progbits
