#include "registers.inc"
	.text
/* Known code reaches unknown code (known.c). rax has the turning's number; the program's rax is on the stack, past the red zone. */
	.globl	trackway_cc_turned
	.hidden	trackway_cc_turned
	.type	trackway_cc_turned, @function
	.p2align 4
trackway_cc_turned:
	.cfi_startproc
	put_aside
	movq	%rsp, %rdi
	movq	%rsp, %rbx
	.cfi_def_cfa_register rbx
	andq	$-16, %rsp
	cld
	call	tw_cc_turned
	movq	%rbx, %rsp
	.cfi_def_cfa_register rsp
	take_back
	ret
	.cfi_endproc
	.size	trackway_cc_turned, .-trackway_cc_turned

/* A second version is entered at the place in rax, and the switch has changed since. The program's rax is on the stack, past the red zone. */
	.globl	trackway_cc_entered
	.hidden	trackway_cc_entered
	.type	trackway_cc_entered, @function
	.p2align 4
trackway_cc_entered:
	.cfi_startproc
	put_aside
	movq	0(%rsp), %rdi
	movq	%rsp, %rbx
	.cfi_def_cfa_register rbx
	andq	$-16, %rsp
	cld
	call	tw_cc_entered
	movq	%rbx, %rsp
	.cfi_def_cfa_register rsp
	take_back
	ret
	.cfi_endproc
	.size	trackway_cc_entered, .-trackway_cc_entered
	.section .note.GNU-stack,"",@progbits
