/* f3 41 90 is xchg r8, rax and not pause: in a block that uses r11, and reads memory through what it exchanged. */
#include "program.inc"
	BEGIN
	lea	rax, data[rip]
	lea	r8, data[rip + 16]
	jmp	1f
1:	mov	r11, [rax]
	E R, data, 8
	.byte	0xf3, 0x41, 0x90
	add	r11, [rax]
	E R, data+16, 8
	add	r11, [r8]
	E R, data, 8
	pause
	mov	r11, [rax]
	E R, data+16, 8
	END
	.data
	.balign 64
data:	.skip	64
