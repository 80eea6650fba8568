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
	on_slot	movq
	ret
	end	put_pic
	put	trackway_cc_put_pic_, TW_CC_MOST_PUT

	.p2align 4
	begin	trackway_cc_enter_pic
	on_slot	cmpq
	end_of_enter
	end	trackway_cc_enter_pic
	.section .note.GNU-stack,"",@progbits
