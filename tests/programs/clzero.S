/* needs: clzero
 * clzero writes the line that holds rax. */
#include "program.inc"
	BEGIN
	lea rax, line[rip + 13]
	clzero
	E W, line, 64
	mov rax, line[rip + 56]
	E R, line + 56, 8
	test rax, rax
	OK z
	END

	.data
	.balign 64
line:	.skip 64, 7
