#include "base/cc_put.h"
#include "sequences.inc"
	.macro	put_bytes prefix, bytes
	begin	\prefix\bytes
	leaq	\bytes(%r11), %r11
	movq	%r11, %fs:trackway_cc_slot@tpoff
	ret
	end	\prefix\bytes
	.endm

	.hidden	trackway_cc_slot, trackway_cc_verify
	put	trackway_cc_put_, TW_CC_MOST_PUT

/* At a function's entry, or where a call returns: when this returns, r11 equals the slot, and the buffer is not full. */
	.p2align 4
	begin	trackway_cc_enter
	cmpq	%r11, %fs:trackway_cc_slot@tpoff
	end_of_enter
	end	trackway_cc_enter
	.section .note.GNU-stack,"",@progbits
