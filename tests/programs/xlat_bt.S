/* xlat, and bit strings addressed by a register, before and behind their operand. */
#include "program.inc"
	BEGIN
	lea rbx, table[rip]
	mov eax, 0xffffff05	/* only al counts */
	xlatb
	E R, table + 5, 1
	cmp al, 6
	OK e
	mov al, 0xff
	xlatb
	E R, table + 255, 1
	cmp al, 0
	OK e
	lea rdi, bits[rip]
	mov eax, 3
	bt [rdi], eax
	E R, bits, 4
	OK nc
	mov eax, 37
	bts [rdi], eax
	E M, bits + 4, 4
	OK nc
	mov rax, 200
	bts [rdi], rax
	E M, bits + 24, 8
	mov rax, 200
	btr [rdi], rax
	E M, bits + 24, 8
	OK c
	mov ax, 18
	btc [rdi], ax
	E M, bits + 2, 2
	mov eax, -1
	bts [rdi], eax
	E M, bits-4, 4
	mov rax, -65
	bts [rdi], rax
	E M, bits-16, 8
	mov rax, 0xffff0000fff0	/* 16 bits: -16 */
	bt [rdi], ax
	E R, bits-2, 2
	OK nc
	mov rax, 0x12345678ffffffe0	/* 32 bits: -32 */
	btc [rdi], eax
	E M, bits-4, 4
	mov rcx, 1
	mov eax, 64
	lock bts [rdi + rcx * 8 - 8], eax
	E M, bits + 8, 4
	bt dword ptr [rdi], 35		/* an immediate wraps within its operand */
	E R, bits, 4
	bts qword ptr [rdi], 63
	E M, bits, 8
	mov edi, 64
	bt bits[rdi], edi		/* the bit offset in the register that is the base, too */
	E R, bits+72, 4
	END

	.data
	.balign 64
table:	.set i, 1
	.rept 256
	.byte i & 255
	.set i, i + 1
	.endr
	.bss
	.balign 64
	.skip 64
bits:	.skip 64
