#include "registers.inc"
	.text
/* Where code that is known comes to what is not (known.c): which turning in rax, which its caller has on the stack, past the red zone. */
	.globl	trackway_cc_turned
	.hidden	trackway_cc_turned
	.type	trackway_cc_turned, @function
	.p2align 4
trackway_cc_turned:
	put_aside
	movq	%rsp, %rdi
	movq	%rsp, %rbx
	andq	$-16, %rsp
	cld
	call	tw_cc_turned
	movq	%rbx, %rsp
	take_back
	ret
	.size	trackway_cc_turned, .-trackway_cc_turned
	.section .note.GNU-stack,"",@progbits
