/* Flags and registers survive whatever is inserted: every combination of the status flags goes through references, jumps, calls, indirect
 * branches and returns, and comes out unchanged; so do all registers and the red zone. No printed trace: it is long, and the oracle has it. */
#include "program.inc"
	.text
	.globl _start
_start:
	lea rsp, stack_top[rip]
	xor r14d, r14d		/* combination 0..127 */
next:
	/* spread 7 bits over CF PF AF ZF SF DF OF */
	mov eax, r14d
	xor r13d, r13d
	mov ecx, 7
	lea rsi, bits[rip]
	cld
1:	lodsd
	mov edx, r14d
	sub ecx, 1
	shr edx, cl
	and edx, 1
	imul edx, eax
	or r13d, edx
	test ecx, ecx
	jnz 1b
	or r13d, 2
	/* registers with known values */
	mov rax, 0x1111111111111111
	mov rbx, 0x2222222222222222
	lea rcx, data[rip]
	mov rdx, 0x3333333333333333
	lea rsi, data[rip + 64]
	lea rdi, data[rip + 128]
	mov rbp, 0x4444444444444444
	mov r8, 0x5555555555555555
	lea r9, data[rip + 256]
	mov r10, 0x6666666666666666
	mov r11, 0x7777777777777777
	mov r12, 8
	mov r15, -0x123456789abcdef
	mov [rsp - 8], r15
	mov [rsp - 64], r8
	mov [rsp - 128], rbp
	lea rsp, [rsp - 256]
	push r13
	popfq
	lea rsp, [rsp + 256]
	/* nothing from here to pushfq changes a flag */
	mov [rcx], rax
	mov rax, [rcx]
	mov [rcx + r12 * 8], rbx
	mov [rsi], rdx
	mov r10b, [r9 + r12]
	mov [r9 + r12], r10b
	mov r10, 0x6666666666666666
	movups xmm0, [rdi]
	movups [rdi + 16], xmm0
	jmp 2f
2:	lea r8, leaf[rip]
	lea rsp, [rsp - 256]
	call leaf
	call r8
	call pointer[rip]
	push offset 3f
	ret
	ud2
3:	lea r8, 4f[rip]
	jmp r8
	ud2
4:	jc 5f
	mov [rcx + 8], rax
5:	jz 6f
	mov [rcx + 16], rax
6:	js 7f
	mov [rcx + 24], rax
7:	jo 8f
	mov [rcx + 32], rax
8:	jp 9f
	mov rdx, [rsi]
9:	xchg [rcx + 40], r15
	xchg r15, [rcx + 40]
	cmovc r11, r11
	setc [rcx + 48]
	not qword ptr [rcx + 56]
	movsb
	lodsb
	stosb
	pushfq
	pop r8
	lea rsp, [rsp + 256]
	and r8d, 0xcd5
	and r13d, 0xcd5
	cmp r8d, r13d
	OK e
	mov r8, 0x5555555555555555
	cmp [rsp - 8], r15
	OK e
	cmp [rsp - 64], r8
	OK e
	cmp [rsp - 128], rbp
	OK e
	mov rax, 0x4444444444444444
	cmp rbp, rax
	OK e
	mov rax, 0x2222222222222222
	cmp rbx, rax
	OK e
	mov rax, 0x3333333333333333
	cmp rdx, rax
	OK e
	mov rax, 0x6666666666666666
	cmp r10, rax
	OK e
	mov rax, 0x7777777777777777
	cmp r11, rax
	OK e
	cmp r12, 8
	OK e
	lea rax, data[rip + 256]
	cmp r9, rax
	OK e
	mov rax, -0x123456789abcdef
	cmp r15, rax
	OK e
	inc r14d
	cmp r14d, 128
	jne next
	/* lahf and sahf, and a flag that lives through a loop's back edge */
	mov ah, 0xd7
	sahf
	lahf
	cmp ah, 0xd7
	OK e
	mov ecx, 100
	xor ebx, ebx
	stc
1:	adc rbx, rbx
	lea rcx, [rcx - 1]
	mov data[rip], rbx
	jrcxz 2f
	jmp 1b
2:	mov rdx, 1
	cmp rbx, 1		/* one bit, shifted out at 64, carried in again at 65... */
	mov r8, data[rip]
	cmp r8, rbx
	OK e
	xor edi, edi
	jmp exit
leaf:	mov r10, 0x6666666666666666
	mov [rcx + 16], r10
	ret

	.section .rodata
bits:	.long 0x1, 0x4, 0x10, 0x40, 0x80, 0x400, 0x800
	.data
pointer: .quad leaf
	.bss
	.balign 64
	.skip 64
data:	.skip 1024
	.section .expected
expected_end:
