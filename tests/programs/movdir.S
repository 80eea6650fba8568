/* needs: movdiri movdir64b
 * Direct stores. */
#include "program.inc"
	BEGIN
	lea rsi, source[rip]
	lea rdi, target[rip]
	movdir64b rdi, [rsi]
	E R, source, 64
	E W, target, 64
	cmp byte ptr target[rip + 63], 7
	E R, target + 63, 1
	OK e
	movdiri [rdi], eax
	E W, target, 4
	movdiri [rdi + 8], rax
	E W, target + 8, 8
	END

	.data
	.balign 64
source:	.skip 64, 7
target:	.skip 64
