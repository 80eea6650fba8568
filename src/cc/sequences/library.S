#include "base/cc_put.h"
#include "sequences.inc"
	.macro	put_bytes prefix, bytes
	begin	\prefix\bytes
	leaq	\bytes(%r11), %r11
	jmp	put_pic
	end	\prefix\bytes
	.endm

	.hidden	trackway_cc_slot, trackway_cc_verify
	.type	put_pic, @function
put_pic:
	.cfi_startproc
	pushq	%rax
	.cfi_adjust_cfa_offset 8
	movq	trackway_cc_slot@gottpoff(%rip), %rax
	movq	%r11, %fs:(%rax)
	popq	%rax
	.cfi_adjust_cfa_offset -8
	ret
	end	put_pic
	put	trackway_cc_put_pic_, TW_CC_MOST_PUT

	.p2align 4
	begin	trackway_cc_enter_pic
	pushq	%rax
	.cfi_adjust_cfa_offset 8
	movq	trackway_cc_slot@gottpoff(%rip), %rax
	cmpq	%r11, %fs:(%rax)
	popq	%rax
	.cfi_adjust_cfa_offset -8
	jne	1f
	testl	$0x100000, %r11d
	jne	1f
	ret
1:	jmp	trackway_cc_verify
	end	trackway_cc_enter_pic
	.section .note.GNU-stack,"",@progbits
