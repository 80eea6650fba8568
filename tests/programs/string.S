/* String instructions: every size, both directions, zero counts, and repeats that stop early. */
#include "program.inc"
	BEGIN
	cld
	lea rsi, source[rip]
	lea rdi, target[rip]
	movsb
	E R, source, 1
	E W, target, 1
	movsw
	E R, source + 1, 2
	E W, target + 1, 2
	movsd
	E R, source + 3, 4
	E W, target + 3, 4
	movsq
	E R, source + 7, 8
	E W, target + 7, 8
	lea rax, source[rip + 15]
	cmp rsi, rax
	OK e
	lodsb
	E R, source + 15, 1
	cmp al, 15
	OK e
	lodsq
	E R, source + 16, 8
	stosw
	E W, target + 15, 2
	stosb
	E W, target + 17, 1
	scasd
	E R, target + 18, 4
	cmpsb
	E R, source + 24, 1
	E R, target + 22, 1

	/* repeated */
	lea rsi, source[rip]
	lea rdi, target[rip]
	mov ecx, 3
	rep movsb
	E R, source, 1
	E W, target, 1
	E R, source + 1, 1
	E W, target + 1, 1
	E R, source + 2, 1
	E W, target + 2, 1
	test rcx, rcx
	OK z
	mov ecx, 2
	rep movsw
	E R, source + 3, 2
	E W, target + 3, 2
	E R, source + 5, 2
	E W, target + 5, 2
	mov ecx, 2
	rep movsd
	E R, source + 7, 4
	E W, target + 7, 4
	E R, source + 11, 4
	E W, target + 11, 4
	mov ecx, 2
	rep movsq
	E R, source + 15, 8
	E W, target + 15, 8
	E R, source + 23, 8
	E W, target + 23, 8
	xor ecx, ecx
	rep movsq		/* nothing */
	rep stosb
	repe cmpsb
	repne scasb
	rep lodsb
	lea rdi, target[rip]
	mov ecx, 20
	mov al, 0x5a
	rep stosb
	ESTEP W, target, 1, 20, 1
	mov ecx, 5
	rep stosw
	ESTEP W, target + 20, 2, 5, 2
	mov ecx, 5
	rep stosd
	ESTEP W, target + 30, 4, 5, 4
	mov ecx, 5
	rep stosq
	ESTEP W, target + 50, 8, 5, 8
	lea rsi, source[rip]
	mov ecx, 3
	rep lodsd
	ESTEP R, source, 4, 3, 4
	cmp eax, 0x0b0a0908
	OK e

	/* backwards, with flags set that must survive */
	std
	lea rsi, source[rip + 24]
	lea rdi, target[rip + 24]
	mov ecx, 2
	rep movsq
	E R, source + 24, 8
	E W, target + 24, 8
	E R, source + 16, 8
	E W, target + 16, 8
	mov ecx, 3
	rep stosb
	E W, target + 8, 1
	E W, target + 7, 1
	E W, target + 6, 1
	lodsw
	E R, source + 8, 2
	movsb
	E R, source + 6, 1
	E W, target + 5, 1
	lea rax, source[rip + 5]
	cmp rsi, rax
	OK e
	mov rcx, -1		/* repne stops at the match */
	lea rdi, source[rip + 31]
	mov al, 28
	repne scasb
	E R, source + 31, 1
	E R, source + 30, 1
	E R, source + 29, 1
	E R, source + 28, 1
	OK e
	cmp rcx, -5
	OK e
	cld

	/* comparing: stops at a difference, at a match, at the end */
	lea rsi, source[rip]
	lea rdi, twin[rip]
	mov ecx, 10
	repe cmpsb
	E R, source, 1
	E R, twin, 1
	E R, source + 1, 1
	E R, twin + 1, 1
	E R, source + 2, 1
	E R, twin + 2, 1
	OK b
	cmp ecx, 7
	OK e
	lea rsi, source[rip]
	lea rdi, twin[rip]
	mov ecx, 10
	repne cmpsw
	E R, source, 2
	E R, twin, 2
	OK e
	lea rsi, source[rip + 4]
	lea rdi, twin[rip + 4]
	mov ecx, 2
	repe cmpsd
	E R, source + 4, 4
	E R, twin + 4, 4
	E R, source + 8, 4
	E R, twin + 8, 4
	OK e
	test ecx, ecx
	OK z
	lea rdi, source[rip]
	mov eax, 0x03020100
	mov ecx, 4
	repe scasd
	E R, source, 4
	E R, source + 4, 4
	OK ne
	cmp ecx, 2
	OK e

	/* a loop around a repeat of changing count, including none */
	mov ebx, 2
1:	lea rdi, target[rip]
	mov ecx, ebx
	rep stosq
	dec ebx
	jns 1b
	E W, target, 8
	E W, target + 8, 8
	E W, target, 8

	/* with rep, but the count overflows nothing: overlapping copy by one byte spreads the first */
	mov byte ptr target[rip], 7
	E W, target, 1
	lea rsi, target[rip]
	lea rdi, target[rip + 1]
	mov ecx, 2
	rep movsb
	E R, target, 1
	E W, target + 1, 1
	E R, target + 1, 1
	E W, target + 2, 1
	cmp byte ptr target[rip + 2], 7
	E R, target + 2, 1
	OK e
	END

	.data
	.balign 64
source:	.set i, 0
	.rept 64
	.byte i
	.set i, i + 1
	.endr
twin:	.byte 0, 1, 3, 3, 4, 5, 6, 7, 8, 9, 10, 11
	.bss
	.balign 64
target:	.skip 256
