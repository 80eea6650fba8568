/*
 * Where a signal handler returns to. Unwinders recognize it by its bytes, or by the information here, as in the C
 * library: where struct ucontext, on the stack, holds the interrupted code's registers. They look for a return address
 * one byte before it.
 */
	.macro	found_at register, offset
	.cfi_escape 0x10, \register, 3, 0x77, 0x80 | (\offset & 0x7f), \offset >> 7 /* DW_CFA_expression: DW_OP_breg7 */
	.endm
	.text
	.globl	tw_cc_restore
	.hidden	tw_cc_restore
	.type	tw_cc_restore, @function
	.p2align 4
	.cfi_startproc
	.cfi_signal_frame
	.cfi_escape 0x0f, 4, 0x77, 0xa0, 1, 6 /* DW_CFA_def_cfa_expression: rsp, as it was */
	found_at 0, 144
	found_at 1, 136
	found_at 2, 152
	found_at 3, 128
	found_at 4, 112
	found_at 5, 104
	found_at 6, 120
	found_at 7, 160
	found_at 8, 40
	found_at 9, 48
	found_at 10, 56
	found_at 11, 64
	found_at 12, 72
	found_at 13, 80
	found_at 14, 88
	found_at 15, 96
	found_at 16, 168
	nop
tw_cc_restore:
	movq	$15, %rax
	syscall
	.cfi_endproc
	.size	tw_cc_restore, .-tw_cc_restore
	.section .note.GNU-stack,"",@progbits
