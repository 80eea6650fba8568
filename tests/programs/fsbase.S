/* needs: fsgsbase
 * wrfsbase and rdfsbase. */
#include "program.inc"
	BEGIN
	lea rsi, one[rip]
	wrfsbase rsi
	mov rax, fs:[0]
	E R, one, 8
	cmp rax, 1
	OK e
	rdfsbase rax
	cmp rax, rsi
	OK e
	lea rsi, two[rip]
	wrfsbase rsi
	add rax, fs:[8]
	E R, two + 8, 8
	rdfsbase rcx
	cmp rcx, rsi
	OK e
	END

	.data
	.balign 64
one:	.quad 1, 2
two:	.quad 3, 4
