#include "registers.inc"
	.text
/* Entry of a function where recording starts or stops (places.c). rax says which; the program's rax is on the stack, past the red zone. */
	.globl	trackway_cc_place
	.hidden	trackway_cc_place
	.type	trackway_cc_place, @function
	.p2align 4
trackway_cc_place:
	.cfi_startproc
	put_aside
	movq	0(%rsp), %rdi
	movq	%rsp, %rbx
	.cfi_def_cfa_register rbx
	andq	$-16, %rsp
	cld
	call	tw_cc_at_place
	movq	%rbx, %rsp
	.cfi_def_cfa_register rsp
	take_back
	ret
	.cfi_endproc
	.size	trackway_cc_place, .-trackway_cc_place
	.section .note.GNU-stack,"",@progbits
